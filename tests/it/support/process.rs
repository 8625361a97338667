//! The program as an operator runs it: started, asked, told to stop, killed.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use memtide::config::Database;
use memtide::id::EventId;

use super::db::env;
use super::wire::Wire;

/// How long a server may take to be ready; a debug build on a busy machine is slow.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a process finds in its environment.
#[derive(Clone)]
pub struct Settings(BTreeMap<&'static str, String>);

/// What a command that came to its end has said.
#[derive(Debug)]
pub struct Ended {
    /// The exit code; none after a signal.
    pub code: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
    /// How long it took.
    pub took: Duration,
}

/// A running server. It is killed when it is dropped.
pub struct Server {
    /// Where it serves, as `http://127.0.0.1:port`.
    pub url: String,
    child: Child,
    log: PathBuf,
}

impl Settings {
    /// What a server on this database needs: a free port, and no embedder.
    pub fn of(database: &Database) -> Self {
        let settings = Self(BTreeMap::new())
            .with("DATABASE_URL", database.url.expose())
            .with("REDIS_URL", env("REDIS_URL"))
            .with("MEMTIDE_REDIS_PREFIX", format!("{}:", EventId::new()))
            .with("MEMTIDE_SECRET", "a secret for tests, of 32 bytes or more")
            .with("MEMTIDE_EMBEDDER", "off")
            .with("MEMTIDE_TENANT_REQUESTS_PER_SECOND", 0)
            .with("MEMTIDE_TENANT_MAX_IN_FLIGHT", 0)
            .with("MEMTIDE_PORT", free_port())
            .with("MEMTIDE_LOG", "warn")
            .with("MEMTIDE_LOG_FORMAT", "text");
        match &database.admin_url {
            Some(url) => settings.with("DATABASE_ADMIN_URL", url.expose()),
            None => settings,
        }
    }

    /// The same with one variable set.
    #[expect(clippy::needless_pass_by_value, reason = "texts and numbers are written as they are")]
    pub fn with(&self, name: &'static str, value: impl ToString) -> Self {
        let mut settings = self.clone();
        settings.0.insert(name, value.to_string());
        settings
    }

    /// The same with one variable absent.
    pub fn without(&self, name: &str) -> Self {
        let mut settings = self.clone();
        settings.0.remove(name);
        settings
    }

    /// Runs a command to its end, without keeping the test's other tasks waiting.
    pub async fn run(&self, arguments: &[&str]) -> Ended {
        let mut command = self.command(arguments);
        let start = Instant::now();
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            took: start.elapsed(),
        }
    }

    /// Starts a server and waits until it is ready.
    pub async fn serve(&self) -> Server {
        let mut server = self.start("serve");
        server.ready().await;
        server
    }

    /// Starts a server with `serve` or `dev`.
    pub fn start(&self, command: &str) -> Server {
        let log = std::env::temp_dir().join(format!("memtide-test-{}.log", EventId::new()));
        let output = File::create(&log).unwrap();
        let mut command = self.command(&[command]);
        let child = command.stdout(output.try_clone().unwrap()).stderr(output).spawn().unwrap();
        Server { url: format!("http://127.0.0.1:{}", self.0["MEMTIDE_PORT"]), child, log }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_memtide"));
        command.args(arguments).env_clear().envs(&self.0).stdin(Stdio::null());
        command
    }
}

impl Server {
    /// A caller of this server without a token.
    pub fn wire(&self) -> Wire {
        Wire::new(&self.url)
    }

    /// Waits until `/readyz` answers 200.
    pub async fn ready(&mut self) {
        let start = Instant::now();
        while !matches!(self.wire().get("/readyz").await, Ok(reply) if reply.status == 200) {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none() && start.elapsed() < PATIENCE, "{ended:?}\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Ends it the hard way (SIGKILL).
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to end (SIGTERM).
    pub fn terminate(&self) {
        signal("TERM", &[self.child.id()]);
    }

    /// Waits until it has ended by itself.
    pub async fn ended(&mut self, within: Duration) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(start.elapsed() < within, "still running after {within:?}\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// What it has said so far.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already, and then there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("{}", self.log());
        }
        let _ = fs::remove_file(&self.log);
    }
}

/// Sends a signal to processes; those that are gone do not matter.
pub fn signal(name: &str, processes: &[u32]) {
    let processes = processes.iter().map(ToString::to_string);
    let mut kill = Command::new("kill");
    kill.arg(format!("-{name}")).args(processes).stderr(Stdio::null()).status().unwrap();
}

/// A port that nobody listens at now.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

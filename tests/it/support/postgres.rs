//! A Postgres of a test's own, for tests that kill it.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use memtide::config::{Database, Secret};
use memtide::id::EventId;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, PgConnection};

use super::db::{env, find_env};
use super::process::{free_port, signal};

const PASSWORD: &str = "pw-of-the-superuser";

/// A Postgres server with an empty database `memtide`. It goes when it is dropped.
pub struct TestPostgres {
    /// Where it listens.
    pub port: u16,
    binaries: PathBuf,
    folder: PathBuf,
    postmaster: Child,
}

impl TestPostgres {
    /// Starts one, unless `make test` says that this stack has no programs for it.
    pub async fn start() -> Option<Self> {
        if find_env("MEMTIDE_TEST_SKIP_PG").is_some_and(|skip| skip == "1") {
            eprintln!("skipped: this stack has no programs of Postgres");
            return None;
        }
        let binaries = env("MEMTIDE_TEST_PG_BIN");
        let binaries = PathBuf::from(binaries);
        let folder = std::env::temp_dir().join(format!("memtide-test-{}", EventId::new()));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("password"), PASSWORD).unwrap();
        if is_root() {
            assert!(Command::new("chown").args(["-R", "nobody"]).arg(&folder).status().unwrap().success());
        }
        let mut initdb = as_postgres(&binaries.join("initdb"), &folder);
        initdb.args(["-U", "postgres", "-A", "scram-sha-256", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]);
        // A password is checked at every connection, and a debug build is slow at that.
        initdb.args(["-c", "scram_iterations=1", "--pwfile"]).arg(folder.join("password"));
        let made = initdb.arg("-D").arg(folder.join("data")).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let port = free_port();
        let postmaster = launch(&binaries, &folder, port);
        let mut postgres = Self { port, binaries, folder, postmaster };
        postgres.answers().await;
        let mut connection = postgres.connect("postgres").await.unwrap();
        sqlx::raw_sql("CREATE DATABASE memtide").execute(&mut connection).await.unwrap();
        Some(postgres)
    }

    /// How a service reaches database `memtide`.
    pub fn config(&self) -> Database {
        self.config_of("memtide")
    }

    /// How a service reaches another database.
    pub fn config_of(&self, database: &str) -> Database {
        let url = format!("postgres://memtide_app:pw-of-the-app@127.0.0.1:{}/{database}", self.port);
        Database { url: Secret::new(url), admin_url: Some(Secret::new(self.admin_url(database))), pool: 8 }
    }

    /// A superuser's connection.
    pub async fn superuser(&self) -> PgConnection {
        self.connect("memtide").await.unwrap()
    }

    /// Kills the postmaster and all its children at once (SIGKILL), as a power cut would.
    pub fn kill(&mut self) {
        let mut processes = children(self.postmaster.id());
        processes.push(self.postmaster.id());
        signal("KILL", &processes);
        self.postmaster.wait().unwrap();
    }

    /// Stops it at once, ending all connections (SIGINT).
    pub fn stop(&mut self) {
        signal("INT", &[self.postmaster.id()]);
        self.postmaster.wait().unwrap();
    }

    /// Starts it again, and waits until it answers.
    pub async fn restart(&mut self) {
        self.postmaster = launch(&self.binaries, &self.folder, self.port);
        self.answers().await;
    }

    async fn answers(&mut self) {
        let start = Instant::now();
        while self.connect("postgres").await.is_err() {
            // The children of a killed one may hold on for a moment, and then the new one gives up.
            if self.postmaster.try_wait().unwrap().is_some() {
                self.postmaster = launch(&self.binaries, &self.folder, self.port);
            }
            let log = || fs::read_to_string(self.folder.join("log")).unwrap();
            assert!(start.elapsed() < Duration::from_secs(30), "Postgres does not answer\n{}", log());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn connect(&self, database: &str) -> sqlx::Result<PgConnection> {
        self.admin_url(database).parse::<PgConnectOptions>().unwrap().connect().await
    }

    fn admin_url(&self, database: &str) -> String {
        format!("postgres://postgres:{PASSWORD}@127.0.0.1:{}/{database}", self.port)
    }
}

impl Drop for TestPostgres {
    fn drop(&mut self) {
        if self.postmaster.try_wait().unwrap().is_none() {
            self.kill();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn launch(binaries: &Path, folder: &Path, port: u16) -> Child {
    let log = File::options().create(true).append(true).open(folder.join("log")).unwrap();
    let mut postgres = as_postgres(&binaries.join("postgres"), folder);
    postgres.arg("-D").arg(folder.join("data")).arg("-p").arg(port.to_string());
    for setting in [
        "listen_addresses=127.0.0.1",
        "unix_socket_directories=",
        "shared_buffers=32MB",
        // One call instead of one for each file, before it recovers.
        "recovery_init_sync_method=syncfs",
    ] {
        postgres.args(["-c", setting]);
    }
    postgres.stderr(log).spawn().unwrap()
}

/// Postgres refuses to run as root.
fn as_postgres(program: &Path, folder: &Path) -> Command {
    let mut command = if is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=nobody", "--regid=65534", "--clear-groups"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    command.current_dir(folder);
    command
}

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// The processes that a process has started and that still run.
fn children(parent: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap();
    let numbers = processes.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    let is_child = |process: &u32| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        // After the name, which may hold anything, come the state and the parent.
        let fields = stat.rsplit_once(')').map(|(_, fields)| fields.split_whitespace().nth(1));
        fields.flatten() == Some(&parent.to_string())
    };
    numbers.filter(is_child).collect()
}

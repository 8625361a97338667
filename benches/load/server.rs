//! The server under measurement: this very build, on a database of its own.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use reqwest::Url;

use crate::client::Stack;

/// What cargo built together with this bench, in the same profile.
const PROGRAM: &str = env!("CARGO_BIN_EXE_memtide");

/// What its keys in Redis begin with.
pub const REDIS_PREFIX: &str = "bench:";

/// Longer than any start takes, the migrations included.
const START_TIMEOUT: Duration = Duration::from_mins(1);

/// A running server; it ends when this is dropped.
pub struct Server {
    process: Process,
    /// The way in.
    pub stack: Stack,
}

struct Process(Child);

impl Server {
    /// Starts the server in a folder, where it leaves its log and `.dev/env`, and waits until it lets a client in.
    pub async fn start(folder: &Path, app_url: &Url, admin_url: &Url, model_dir: &Path) -> Result<Self> {
        let (log, env_file) = (folder.join("server.log"), folder.join(".dev/env"));
        fs::create_dir_all(folder.join(".dev"))?;
        fs::remove_file(&env_file).ok();
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let child = Command::new(PROGRAM)
            .arg("dev")
            .current_dir(folder)
            .env("DATABASE_URL", app_url.as_str())
            .env("DATABASE_ADMIN_URL", admin_url.as_str())
            .env("MEMTIDE_MODEL_DIR", fs::canonicalize(model_dir).context("MEMTIDE_MODEL_DIR")?)
            .env("MEMTIDE_PORT", port.to_string())
            .env("MEMTIDE_DEV_DIR", ".dev")
            .env("MEMTIDE_REDIS_PREFIX", REDIS_PREFIX)
            .env_remove("MEMTIDE_PUBLIC_URL")
            .env_remove("MEMTIDE_METRICS_ADDR")
            .env_remove("MEMTIDE_ACCESS_TOKEN")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log)?)
            .spawn()?;
        let mut process = Process(child);
        let started = Instant::now();
        loop {
            match enter(&env_file).await {
                Ok(stack) => return Ok(Self { process, stack }),
                Err(error) if started.elapsed() > START_TIMEOUT => return Err(error),
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
            ensure!(process.0.try_wait()?.is_none(), "the server ended: see {}", log.display());
        }
    }

    /// The number of the process.
    pub fn pid(&self) -> u32 {
        self.process.0.id()
    }
}

/// The file is written before the server listens, so that both are tried.
async fn enter(env_file: &Path) -> Result<Stack> {
    let stack = Stack::read(env_file)?;
    stack.enter("default").await?;
    Ok(stack)
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().and_then(|()| self.0.wait()).ok();
    }
}

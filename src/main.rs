//! The `memtide` command.

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use memtide::cli::{self, Command};
use memtide::config::Config;
use memtide::telemetry;

/// A memory backend for AI agents: durable memory that is searched by meaning and by words.
#[derive(Parser)]
#[command(version, about, after_help = "Settings come from the environment; .env.example lists them.")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

// Musl's and glibc's allocators give memory back late when many threads make and drop vectors.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match start(arguments.command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("memtide: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn start(command: Command) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(async {
        match command {
            Command::Mcp => cli::bridge().await.map(|()| ExitCode::SUCCESS),
            Command::Operate(command) => {
                let config = Config::from_env()?;
                let _traces = telemetry::start(&config.telemetry)?;
                command.run(config).await
            }
        }
    });
    // A name that is still being looked up must not hold up the end.
    runtime.shutdown_timeout(Duration::from_millis(100));
    result
}

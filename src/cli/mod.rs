//! The command line: one file for each command.

mod admin;
mod dev;
mod doctor;
mod mcp;
mod migrate;
mod serve;
mod stack;

use std::process::ExitCode;

use crate::config::{Bridge, Config};

/// What the program can be told to do.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// On a deployment
    #[command(flatten)]
    Operate(Operate),
    /// Speak MCP on standard input and output, for clients without HTTP (needs `MEMTIDE_URL` and `MEMTIDE_MCP_TOKEN`)
    Mcp,
}

/// What is done with a deployment, and needs all of its settings.
#[derive(Debug, clap::Subcommand)]
pub enum Operate {
    /// Serve the API
    Serve,
    /// Make roles and extension, and bring the schema up to date (needs `DATABASE_ADMIN_URL`)
    Migrate,
    /// Serve a local stack: migrate, make tenant `demo`, print how to use it, serve
    Dev,
    /// Run the deployment: tenants, keys, tokens
    #[command(subcommand)]
    Admin(admin::Admin),
    /// Check database, Redis, model and clocks, and say what to do
    Doctor(doctor::Doctor),
}

impl Operate {
    /// Runs the command to its end.
    pub async fn run(self, config: Config) -> anyhow::Result<ExitCode> {
        match self {
            Self::Serve => serve::run(config).await?,
            Self::Migrate => migrate::run(&config).await?,
            Self::Dev => dev::run(config).await?,
            Self::Admin(admin) => admin.run(config).await?,
            Self::Doctor(doctor) => return doctor.run(config).await,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Passes MCP on to the server that the environment names.
pub async fn bridge() -> anyhow::Result<()> {
    mcp::run(Bridge::from_env()?).await
}

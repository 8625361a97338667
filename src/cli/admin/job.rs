//! `memtide admin job`.

use super::{page_after, print, print_page};
use crate::app::App;
use crate::auth::OperatorPermit;
use crate::id::JobId;
use crate::job::JobStatus;
use crate::job::admin::{self, JobQuery};

/// What is to be done with jobs.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// List the jobs of all tenants, newest first
    List {
        /// Only those that are queued, running, done or failed
        #[arg(long)]
        status: Option<JobStatus>,
    },
    /// Try a job again that was given up
    Retry {
        /// Id of the job
        job: JobId,
    },
}

impl Command {
    pub(super) async fn run(self, app: &App, permit: &OperatorPermit) -> anyhow::Result<()> {
        match self {
            Self::List { status } => {
                let mut cursor = None;
                loop {
                    let request = page_after(cursor);
                    let query = JobQuery { status, limit: request.limit, cursor: request.cursor };
                    cursor = print_page(&admin::list(app, permit, query).await?)?;
                    if cursor.is_none() {
                        return Ok(());
                    }
                }
            }
            Self::Retry { job } => print(&admin::retry(app, permit, job).await?),
        }
    }
}

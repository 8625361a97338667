//! Jobs that nobody will ask for any more.

use chrono::TimeDelta;

use super::{JobStatus, purge_store as store};
use crate::app::App;
use crate::auth::OperatorPermit;
use crate::error::Result;
use crate::source;

/// How long a job that was done can be looked at.
const DONE_FOR: TimeDelta = TimeDelta::days(7);

/// How long a job that failed can be looked at, and tried again.
const FAILED_FOR: TimeDelta = TimeDelta::days(30);

/// How many jobs one round drops, so that no transaction is long.
const ROUND: i64 = 1_000;

/// Drops jobs that were kept long enough, and the texts that nothing was made of. Gives how many jobs.
pub async fn purge(app: &App) -> Result<u64> {
    let now = app.clock.now();
    let mut dropped = 0;
    for (status, kept_for) in [(JobStatus::Done, DONE_FOR), (JobStatus::Failed, FAILED_FOR)] {
        loop {
            let mut tx = app.db.begin_operator(&OperatorPermit::service()).await?;
            let (rows, sources) = store::purge(&mut tx, status, now - kept_for, ROUND).await?;
            source::drop_unused(&mut tx, &sources).await?;
            tx.commit().await?;
            dropped += rows;
            if rows == 0 || app.is_stopping() {
                break;
            }
        }
    }
    Ok(dropped)
}

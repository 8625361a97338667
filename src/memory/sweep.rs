//! Records whose time is over, and tombstones that can no longer be taken back.

use chrono::{DateTime, Utc};

use super::forget::RECOVERABLE_FOR;
use super::retire::{self, End};
use super::write::Changes;
use super::{Record, Status, store};
use crate::app::App;
use crate::auth::{OperatorPermit, Permit};
use crate::error::Result;
use crate::id::MemoryId;
use crate::source;

/// How many records one round takes, so that no transaction is long.
const ROUND: i64 = 500;

/// Marks records whose time is over, and takes them out of search. Gives how many.
///
/// A tenant whose records cannot be marked now is left for the next time, and the others get their turn.
pub async fn expire(app: &App) -> Result<u64> {
    let operator = OperatorPermit::service();
    let now = app.clock.now();
    let (mut expired, mut left) = (0, Vec::new());
    while !app.is_stopping() {
        let mut tx = app.db.begin_operator(&operator).await?;
        let due = store::due(&mut tx, now, &left, ROUND).await?;
        tx.commit().await?;
        if due.is_empty() {
            break;
        }
        for (tenant, namespace, ids) in due {
            match expire_some(app, &operator.within(tenant, namespace), &ids, now).await {
                Ok(0) => left.push(tenant),
                Ok(count) => expired += count,
                Err(error) => {
                    tracing::warn!(tenant.id = %tenant, %error, "the records of a tenant cannot expire now");
                    left.push(tenant);
                }
            }
        }
    }
    Ok(expired)
}

async fn expire_some(app: &App, permit: &Permit, ids: &[MemoryId], now: DateTime<Utc>) -> Result<u64> {
    let mut tx = app.db.begin(permit).await?;
    let mut changes = Changes::new(permit, now);
    // Some may have been changed since.
    let is_over =
        |record: &Record| record.status == Status::Active && record.expires_at.is_some_and(|at| at.0 <= now);
    let over: Vec<Record> = store::lock_many(&mut tx, ids).await?.into_iter().filter(is_over).collect();
    let count = over.len() as u64;
    retire::retire(&mut tx, &mut changes, over, End::Expired).await?;
    changes.write(&mut tx).await?;
    tx.commit().await?;
    Ok(count)
}

/// Removes tombstones older than 30 days with their history, and what their sources said (XC-18). Gives how many.
pub async fn purge(app: &App) -> Result<u64> {
    let mut tx = app.db.begin_operator(&OperatorPermit::service()).await?;
    let old = store::lock_tombstones(&mut tx, app.clock.now() - RECOVERABLE_FOR, ROUND).await?;
    source::silence_everywhere(&mut tx, &old).await?;
    let rows = store::purge(&mut tx, &old).await?;
    tx.commit().await?;
    Ok(rows)
}

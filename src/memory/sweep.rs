//! Records whose time is over, and tombstones that can no longer be taken back.

use super::forget::RECOVERABLE_FOR;
use super::retire::{self, End};
use super::write::Changes;
use super::{Record, Status, store};
use crate::app::App;
use crate::auth::OperatorPermit;
use crate::error::Result;

/// How many records one round takes, so that no transaction is long.
const ROUND: i64 = 500;

/// Marks records whose time is over, and takes them out of search. Gives how many.
pub async fn expire(app: &App) -> Result<u64> {
    let operator = OperatorPermit::service();
    let now = app.clock.now();
    let due = {
        let mut tx = app.db.begin_operator(&operator).await?;
        store::due(&mut tx, now, ROUND).await?
    };
    let mut expired = 0;
    for (tenant, namespace, ids) in due {
        let permit = operator.within(tenant, namespace);
        let mut tx = app.db.begin(&permit).await?;
        let mut changes = Changes::new(&permit, now);
        // Some may have been changed since.
        let is_over = |record: &Record| {
            record.status == Status::Active && record.expires_at.is_some_and(|at| at.0 <= now)
        };
        let over: Vec<Record> = store::lock_many(&mut tx, &ids).await?.into_iter().filter(is_over).collect();
        expired += over.len() as u64;
        retire::retire(&mut tx, &mut changes, over, End::Expired).await?;
        changes.write(&mut tx).await?;
        tx.commit().await?;
    }
    Ok(expired)
}

/// Removes tombstones older than 30 days with their history (XC-18). Gives how many.
pub async fn purge(app: &App) -> Result<u64> {
    let mut tx = app.db.begin_operator(&OperatorPermit::service()).await?;
    let rows = store::purge(&mut tx, app.clock.now() - RECOVERABLE_FOR, ROUND).await?;
    tx.commit().await?;
    Ok(rows)
}

//! Candidates that nobody has decided in time (XC-34), and those that were decided long ago.

use chrono::TimeDelta;

use super::sweep_store as store;
use crate::app::App;
use crate::auth::OperatorPermit;
use crate::error::Result;

/// How long a decided candidate can be read. Longer than a season, so that who looks back finds why.
pub const KEPT_FOR: TimeDelta = TimeDelta::days(180);

/// How many candidates one round takes, so that no transaction is long.
const ROUND: i64 = 500;

/// Marks candidates whose time is over. Gives how many.
pub async fn expire(app: &App) -> Result<u64> {
    let mut tx = app.db.begin_operator(&OperatorPermit::service()).await?;
    let rows = store::expire(&mut tx, app.clock.now(), ROUND).await?;
    tx.commit().await?;
    Ok(rows)
}

/// Removes candidates that were decided long ago, but for what is not to be suggested again. Gives how many.
pub async fn purge(app: &App) -> Result<u64> {
    let mut tx = app.db.begin_operator(&OperatorPermit::service()).await?;
    let rows = store::purge(&mut tx, app.clock.now() - KEPT_FOR, ROUND).await?;
    tx.commit().await?;
    Ok(rows)
}

//! Candidates that nobody has decided in time (XC-34).

use super::store;
use crate::app::App;
use crate::auth::OperatorPermit;
use crate::error::Result;

/// How many candidates one round takes, so that no transaction is long.
const ROUND: i64 = 500;

/// Marks candidates whose time is over. Gives how many.
pub async fn expire(app: &App) -> Result<u64> {
    let mut tx = app.db.begin_operator(&OperatorPermit::service()).await?;
    let rows = store::expire(&mut tx, app.clock.now(), ROUND).await?;
    tx.commit().await?;
    Ok(rows)
}

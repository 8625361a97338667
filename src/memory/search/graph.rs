//! Which vectors are in the HNSW index: those of large namespaces only.
//!
//! Below [`EXACT_UP_TO`] records, comparing all is faster than walking a graph that many tenants share, and never
//! misses; and a vector that is not in the graph costs a tenth to write. A namespace that grows beyond it is marked
//! row by row, in the background, and searched exactly until all of it is.

use super::graph_store as store;
use crate::app::App;
use crate::auth::OperatorPermit;
use crate::error::Result;

/// How many records a namespace holds before its vectors are indexed. Exact search takes about 1 µs a record.
pub const EXACT_UP_TO: i64 = 5_000;

/// How many vectors one transaction marks: about half a second of work.
const ROUND: i64 = 200;

/// Marks the vectors of namespaces that have become large. Gives how many.
pub async fn mark(app: &App) -> Result<u64> {
    let operator = OperatorPermit::service();
    let mut tx = app.db.begin_operator(&operator).await?;
    store::begin_building(&mut tx, EXACT_UP_TO).await?;
    let building = store::building(&mut tx).await?;
    tx.commit().await?;
    let mut marked = 0;
    for space in building {
        loop {
            let mut tx = app.db.begin_operator(&operator).await?;
            let rows = store::mark_round(&mut tx, space, ROUND).await?;
            if rows == 0 {
                store::finish_building(&mut tx, space).await?;
            }
            tx.commit().await?;
            marked += rows;
            if rows == 0 || app.is_stopping() {
                break;
            }
        }
    }
    Ok(marked)
}

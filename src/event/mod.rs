//! Events: what changed, to whoever may know it, in order and once (C-030 to C-033, XC-50, R-29).
//!
//! - Who changes something writes an event with it, in the same transaction. Nothing is lost and nothing is told that
//!   did not happen.
//! - The dispatcher ([`relay`]) gives committed events their numbers: without gaps, one after the other in each
//!   namespace. It works on one node at a time, whichever.
//! - A [`stream`] is read from the database at its reader's pace, so that a slow reader costs nothing but its place.
//!   What is new is read once for all readers of a namespace ([`hub`]).
//! - An event shows what its reader may see at the time of reading. What was forgotten is not shown again, nor what was
//!   erased: that has an event of its own, which nobody is told, so that every node drops what it has in memory.

pub mod hub;
mod payload;
pub mod relay;
mod store;
pub mod stream;

use chrono::{DateTime, TimeDelta, Utc};

pub use payload::{
    CandidateCreated, EntryAdded, MemoryChanged, MemoryForgotten, Notification, SessionChanged,
};

use crate::app::App;
use crate::auth::OperatorPermit;
use crate::candidate::Candidate;
use crate::db::TenantTx;
use crate::error::Result;
use crate::id::CandidateId;
use crate::memory::Sensitivity;

/// How long events can be read again.
pub const KEPT_FOR: TimeDelta = TimeDelta::days(7);

/// How many events one round of tidying removes.
const PURGE_ROUND: i64 = 5_000;

/// Notes, in the transaction that makes it, that there is a new candidate.
pub async fn candidate_created(
    tx: &mut TenantTx,
    candidate: &Candidate,
    sensitivity: Sensitivity,
    now: DateTime<Utc>,
) -> Result<()> {
    tx.announce();
    store::insert_candidate_created(tx, candidate, sensitivity, now).await
}

/// Notes, in the transaction that does it, that something was erased, so that no node tells it from memory.
pub async fn erased(tx: &mut TenantTx, now: DateTime<Utc>) -> Result<()> {
    tx.announce();
    store::insert_erased(tx, now).await
}

/// Takes what candidates said out of what was told of them.
pub async fn erase_candidates(tx: &mut TenantTx, ids: &[CandidateId]) -> Result<()> {
    store::erase_candidates(tx, ids).await
}

/// Removes events that were kept long enough. Gives how many.
pub async fn purge(app: &App) -> Result<u64> {
    let mut tx = app.db.begin_operator(&OperatorPermit::service()).await?;
    let rows = store::purge(&mut tx, app.clock.now() - KEPT_FOR, PURGE_ROUND).await?;
    tx.commit().await?;
    Ok(rows)
}

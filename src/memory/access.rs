//! How often and when records were read. Counted in memory and written together, so that reading stays reading.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, Utc};

use uuid::Uuid;

use super::{Record, store};
use crate::app::App;
use crate::auth::OperatorPermit;
use crate::db::TenantTx;
use crate::error::Result;
use crate::id::MemoryId;

/// How many records are remembered between two writes, at most; about 100 bytes each. After that nothing more is counted
/// until they are written.
const MAX_PENDING: usize = 100_000;

/// What was read since the last write. Lost when the process dies: it is a hint, not a record.
#[derive(Debug, Clone, Default)]
pub struct Accesses(Arc<Mutex<HashMap<Place, Access>>>);

/// A record, with its tenant and the number of its namespace.
pub type Place = (Uuid, i32, MemoryId);

/// The reads of one record.
#[derive(Debug, Clone, Copy)]
pub struct Access {
    /// How many gets returned it.
    pub gets: i64,
    /// When it was last returned.
    pub last: DateTime<Utc>,
}

impl Accesses {
    /// Notes that a get returned a record.
    pub fn got(&self, tx: &TenantTx, record: &Record, now: DateTime<Utc>) {
        self.note(tx, std::iter::once(record.id), 1, now);
    }

    /// Notes that a search returned records.
    pub fn found(&self, tx: &TenantTx, ids: impl Iterator<Item = MemoryId>, now: DateTime<Utc>) {
        self.note(tx, ids, 0, now);
    }

    fn note(&self, tx: &TenantTx, ids: impl Iterator<Item = MemoryId>, gets: i64, now: DateTime<Utc>) {
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for id in ids {
            if pending.len() >= MAX_PENDING {
                return;
            }
            let access = pending.entry((tx.tenant(), tx.ns(), id)).or_insert(Access { gets: 0, last: now });
            access.gets += gets;
            access.last = now;
        }
    }
}

/// Writes what was counted. Gives how many records it touched.
pub async fn flush(app: &App) -> Result<u64> {
    let pending = std::mem::take(&mut *app.accesses.0.lock().unwrap_or_else(PoisonError::into_inner));
    if pending.is_empty() {
        return Ok(0);
    }
    let mut tx = app.db.begin_operator(&OperatorPermit::service()).await?;
    let rows = store::add_accesses(&mut tx, pending.into_iter()).await?;
    tx.commit().await?;
    Ok(rows)
}

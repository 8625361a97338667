//! How often and when records were read. Counted in memory and written together, so that reading stays reading.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, Utc};

use super::{Record, store};
use crate::app::App;
use crate::auth::{OperatorPermit, Permit};
use crate::error::Result;
use crate::id::{MemoryId, TenantId};

/// How many records are remembered between two writes, at most; about 100 bytes each. More are not counted.
const MAX_PENDING: usize = 100_000;

/// What was read since the last write. Lost when the process dies: it is a hint, not a record.
#[derive(Debug, Clone, Default)]
pub struct Accesses(Arc<Mutex<HashMap<(TenantId, MemoryId), Access>>>);

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
    pub fn got(&self, permit: &Permit, record: &Record, now: DateTime<Utc>) {
        self.note(permit, std::iter::once(record.id), 1, now);
    }

    /// Notes that a search returned records.
    pub fn found(&self, permit: &Permit, ids: impl Iterator<Item = MemoryId>, now: DateTime<Utc>) {
        self.note(permit, ids, 0, now);
    }

    fn note(&self, permit: &Permit, ids: impl Iterator<Item = MemoryId>, gets: i64, now: DateTime<Utc>) {
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for id in ids {
            if pending.len() >= MAX_PENDING {
                return;
            }
            let access = pending.entry((permit.tenant(), id)).or_insert(Access { gets: 0, last: now });
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
    let rows = store::add_accesses(&mut tx, &pending).await?;
    tx.commit().await?;
    Ok(rows)
}

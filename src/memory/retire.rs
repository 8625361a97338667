//! How records leave the active ones: superseded, forgotten, expired.

use chrono::{DateTime, Utc};

use super::draft::search_terms;
use super::terms::Terms;
use super::write::Changes;
use super::{ChangeKind, Record, Status, store};
use crate::db::TenantTx;
use crate::error::Result;
use crate::id::MemoryId;

/// How many records one statement retires: all their terms are in memory meanwhile.
const RETIRED_AT_ONCE: usize = 500;

/// How records leave the active ones.
#[derive(Debug, Clone, Copy)]
pub enum End<'a> {
    /// Another record took the place of one.
    Superseded(MemoryId),
    /// They were forgotten, perhaps for a reason.
    Forgotten(Option<&'a str>),
    /// Their time is over.
    Expired,
}

impl End<'_> {
    /// The status they have then.
    pub fn status(self) -> Status {
        match self {
            Self::Superseded(_) => Status::Superseded,
            Self::Forgotten(_) => Status::Deleted,
            Self::Expired => Status::Expired,
        }
    }

    fn kind(self) -> ChangeKind {
        match self {
            Self::Superseded(_) => ChangeKind::Superseded,
            Self::Forgotten(_) => ChangeKind::Deleted,
            Self::Expired => ChangeKind::Expired,
        }
    }

    fn mark(self, record: &mut Record, now: DateTime<Utc>) {
        record.status = self.status();
        record.version += 1;
        record.updated_at = now.into();
        match self {
            Self::Superseded(heir) => record.superseded_by = Some(heir),
            Self::Forgotten(reason) => {
                record.deleted_at = Some(now.into());
                record.delete_reason = reason.map(str::to_owned);
            }
            Self::Expired => {}
        }
    }
}

/// Takes records out of the active ones, as far as they are such, and gives them another status.
pub async fn retire(
    tx: &mut TenantTx,
    changes: &mut Changes,
    mut records: Vec<Record>,
    end: End<'_>,
) -> Result<()> {
    for some in records.chunks_mut(RETIRED_AT_ONCE) {
        let ids: Vec<MemoryId> = some.iter().map(|record| record.id).collect();
        let active = some.iter().filter(|record| record.status == Status::Active);
        let terms: Vec<(MemoryId, Terms)> = active.map(|record| (record.id, search_terms(record))).collect();
        store::retire(tx, &ids, end, changes.now).await?;
        store::unindex(tx, &terms).await?;
        for (_, terms) in &terms {
            changes.count(-1, terms);
        }
        for record in some {
            end.mark(record, changes.now);
            changes.note(record, end.kind());
        }
    }
    Ok(())
}

/// Marks a record whose time is over.
pub async fn expire(tx: &mut TenantTx, changes: &mut Changes, record: Record) -> Result<()> {
    retire(tx, changes, vec![record], End::Expired).await
}

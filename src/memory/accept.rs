//! What other domains do with records in a transaction of their own: look, accept, add to.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use super::draft::Draft;
use super::filter::Filter;
use super::forget::is_gone;
use super::key::Identity;
use super::remember::{Remember, Remembered};
use super::text::normal_form;
use super::write::{self, Changes};
use super::{Category, Context, Record, Scope, Sensitivity, Status, retire, store};
use crate::app::App;
use crate::auth::{Actor, Permit};
use crate::db::TenantTx;
use crate::embed::Embedding;
use crate::error::{Error, Result};
use crate::id::MemoryId;

/// How many tombstones are compared with a text.
const MAX_TOMBSTONES: i64 = 100;

/// A record on its way in, checked and embedded.
#[derive(Debug, Clone)]
pub struct Incoming(Draft);

/// Records on their way in together, checked, and embedded in one call.
#[derive(Debug, Default)]
pub struct IncomingBatch(Vec<Draft>);

/// A record as it was at a version, and what it is now.
#[derive(Debug, Clone)]
pub struct AtVersion {
    /// As it was.
    pub record: Record,
    /// Its status now.
    pub status: Status,
    /// Its sensitivity now.
    pub sensitivity: Sensitivity,
}

impl Incoming {
    /// Checks a record against every rule, and against what the token may write.
    pub fn check(app: &App, permit: &Permit, new: Remember) -> Result<Self> {
        Draft::check(app, permit, new).map(Self)
    }

    /// Gives records their vectors, in one call to the embedder. No connection is held meanwhile.
    pub async fn embed_all<'a>(
        app: &App,
        permit: &Permit,
        incoming: impl Iterator<Item = &'a mut Self>,
    ) -> Result<()> {
        write::embed(app, permit, incoming.map(|incoming| &mut incoming.0)).await
    }

    /// Its vector, if it has one.
    pub fn embedding(&self) -> Option<&Embedding> {
        self.0.embedding.as_ref()
    }

    /// Puts it in the name of who proposed it, in place of who lets it in.
    pub fn set_author(&mut self, author: Option<Actor>) {
        if let Some(provenance) = &mut self.0.record.provenance {
            provenance.created_by = author;
        }
    }

    /// Gives it other metadata, and makes it at least this sensitive.
    pub fn amend(&mut self, metadata: Map<String, Value>, sensitivity: Sensitivity) {
        let Draft { record, sent, .. } = &mut self.0;
        record.sensitivity = record.sensitivity.max(sensitivity);
        sent.sensitivity = Some(record.sensitivity);
        record.metadata = Some(metadata.clone());
        sent.metadata = Some(metadata);
    }

    /// The record as it will be if it is new.
    pub fn record(&self) -> &Record {
        &self.0.record
    }
}

impl IncomingBatch {
    /// Checks records against every rule, and against what the token may write.
    pub fn check(app: &App, permit: &Permit, records: Vec<Remember>) -> Result<Self> {
        records.into_iter().map(|new| Draft::check(app, permit, new)).collect::<Result<_>>().map(Self)
    }

    /// Gives them their vectors. No connection is held meanwhile.
    pub async fn embed(&mut self, app: &App, permit: &Permit) -> Result<()> {
        write::embed(app, permit, &mut self.0).await
    }

    /// Makes them active, each for itself: the result of one undoes no other.
    pub async fn accept(
        &self,
        tx: &mut TenantTx,
        permit: &Permit,
        changes: &mut Changes,
    ) -> Result<Vec<Result<Remembered>>> {
        write::remember(tx, permit, changes, &self.0).await
    }
}

/// The active record of a scope and key, kept from changing.
pub async fn lock_by_key(
    tx: &mut TenantTx,
    changes: &mut Changes,
    scope: &Scope,
    key: &str,
) -> Result<Option<Record>> {
    lock_by_identity(tx, changes, Identity::of_key(scope, key)).await
}

/// The active record without a key that says the same in this scope and category, kept from changing.
pub async fn lock_by_text(
    tx: &mut TenantTx,
    changes: &mut Changes,
    scope: &Scope,
    category: Category,
    text: &str,
) -> Result<Option<Record>> {
    lock_by_identity(tx, changes, Identity::of(scope, category, None, &Context::default(), text)).await
}

async fn lock_by_identity(
    tx: &mut TenantTx,
    changes: &mut Changes,
    identity: Identity,
) -> Result<Option<Record>> {
    match store::lock_by_identity(tx, identity).await? {
        Some(there) if there.expires_at.is_some_and(|at| at.0 <= changes.now) => {
            retire::expire(tx, changes, there).await?;
            Ok(None)
        }
        found => Ok(found),
    }
}

/// The record of an id, whatever its status, if it exists for the token.
pub async fn find(tx: &mut TenantTx, permit: &Permit, id: MemoryId) -> Result<Option<Record>> {
    let found = store::find_many(tx, &[id]).await?.pop();
    Ok(found.filter(|record| permit.sees(&record.scope, record.sensitivity)))
}

/// Whether the token sees all of these records, as far as they exist.
pub async fn sees_all(tx: &mut TenantTx, permit: &Permit, ids: &[MemoryId]) -> Result<bool> {
    if ids.is_empty() {
        return Ok(true);
    }
    let found = store::find_many(tx, ids).await?;
    Ok(found.iter().all(|record| permit.sees(&record.scope, record.sensitivity)))
}

/// Those of these records that are as if they had never been: forgotten too long ago, or purged.
pub async fn gone(tx: &mut TenantTx, ids: &[MemoryId], now: DateTime<Utc>) -> Result<Vec<MemoryId>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let found = store::find_many(tx, ids).await?;
    let is_there = |id: &MemoryId| found.iter().any(|record| record.id == *id && !is_gone(record, now));
    Ok(ids.iter().copied().filter(|id| !is_there(id)).collect())
}

/// The active record of an id, kept from changing.
pub async fn lock_active(
    tx: &mut TenantTx,
    permit: &Permit,
    changes: &Changes,
    id: MemoryId,
) -> Result<Record> {
    let record = write::lock(tx, permit, id).await?;
    let is_over = record.expires_at.is_some_and(|at| at.0 <= changes.now);
    if record.status == Status::Active && !is_over {
        Ok(record)
    } else {
        Err(Error::Conflict("the record is not active".into()))
    }
}

/// Forgotten records of a scope and category with this key, or with this text.
pub async fn forgotten(
    tx: &mut TenantTx,
    scope: &Scope,
    category: Category,
    key: &str,
    content: &str,
) -> Result<Vec<Record>> {
    let (identity, text) = (Identity::of_key(scope, key), normal_form(content));
    let ids = store::forgotten_like(tx, scope, category, identity, &text, MAX_TOMBSTONES).await?;
    if ids.is_empty() { Ok(Vec::new()) } else { store::find_many(tx, &ids).await }
}

/// Makes a record active, in the place of another one if there is one.
pub async fn accept(
    tx: &mut TenantTx,
    permit: &Permit,
    changes: &mut Changes,
    incoming: &Incoming,
    old: Option<&Record>,
) -> Result<Remembered> {
    let mut draft = incoming.0.clone();
    draft.supersedes = old.map(|record| record.id);
    let mut results = write::remember(tx, permit, changes, std::slice::from_ref(&draft)).await?;
    results.pop().ok_or_else(|| Error::internal("no result for a record"))?
}

/// Gives a record other metadata, makes it at least this sensitive, and changes nothing else of it.
pub async fn amend(
    tx: &mut TenantTx,
    permit: &Permit,
    changes: &mut Changes,
    record: Record,
    metadata: Map<String, Value>,
    sensitivity: Sensitivity,
) -> Result<Record> {
    let sensitivity = record.sensitivity.max(sensitivity);
    permit.require(&record.scope, sensitivity)?;
    let amended = Record { metadata: Some(metadata), sensitivity, ..record.clone() };
    write::change(tx, changes, record, amended, None).await
}

/// Records as they were at these versions. Those that were erased give nothing.
pub async fn at_versions(tx: &mut TenantTx, wanted: &[(MemoryId, i64)]) -> Result<Vec<AtVersion>> {
    if wanted.is_empty() { Ok(Vec::new()) } else { store::at_versions(tx, wanted).await }
}

/// The newest records that are active and that the token sees, newest first; of one conversation, if it is given.
pub async fn newest(
    tx: &mut TenantTx,
    permit: &Permit,
    conversation: Option<&str>,
    limit: usize,
    now: DateTime<Utc>,
) -> Result<Vec<Record>> {
    let filter = Filter::new(permit, None, None, &[Status::Active], None)?.within(conversation);
    if filter.is_empty() { Ok(Vec::new()) } else { store::newest(tx, &filter, limit, now).await }
}

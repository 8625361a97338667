//! Reading rows.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::auth::{Actor, Namespace};
use crate::db::TenantTx;
use crate::error::{Error, Result};
use crate::id::MemoryId;
use crate::memory::filter::Filter;
use crate::memory::history::Version;
use crate::memory::key::Identity;
use crate::memory::{
    Category, ChangeKind, Context, Provenance, Record, Scope, ScopeKind, Sensitivity, SourceContextKind,
    Status,
};

/// A row of `memories`, column for column.
struct Row {
    memory_id: Uuid,
    scope_kind: ScopeKind,
    scope_key: String,
    category: Category,
    key: Option<String>,
    content: String,
    status: Status,
    sensitivity: Sensitivity,
    confidence: f64,
    importance: f64,
    provenance: serde_json::Value,
    source_context_kind: Option<SourceContextKind>,
    thread_id: Option<String>,
    seq: Option<i64>,
    speaker: Option<String>,
    observed_at: DateTime<Utc>,
    metadata: Option<serde_json::Value>,
    version: i64,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
    expires_at: Option<DateTime<Utc>>,
    last_accessed_at: Option<DateTime<Utc>>,
    access_count: i64,
    superseded_by: Option<Uuid>,
    deleted_at: Option<DateTime<Utc>>,
    delete_reason: Option<String>,
}

impl Row {
    fn into_record(self, namespace: &Namespace) -> Result<Record> {
        let id = MemoryId::from_uuid(self.memory_id);
        let unreadable =
            |column, error| Error::internal(format!("memories.{column} of {id} cannot be read: {error}"));
        let provenance: Provenance =
            serde_json::from_value(self.provenance).map_err(|error| unreadable("provenance", error))?;
        let metadata = self.metadata.map(serde_json::from_value).transpose();
        Ok(Record {
            id,
            scope: Scope { kind: self.scope_kind, key: self.scope_key },
            namespace: namespace.clone(),
            category: self.category,
            key: self.key,
            content: self.content,
            status: self.status,
            confidence: self.confidence,
            importance: self.importance,
            sensitivity: self.sensitivity,
            provenance: Some(provenance),
            source_context_kind: self.source_context_kind,
            context: Context {
                thread_id: self.thread_id,
                seq: self.seq,
                speaker: self.speaker,
                observed_at: Some(self.observed_at.into()),
            },
            version: self.version,
            created_at: self.created_at.into(),
            updated_at: self.updated_at.into(),
            expires_at: self.expires_at.map(Into::into),
            last_accessed_at: self.last_accessed_at.map(Into::into),
            access_count: self.access_count,
            superseded_by: self.superseded_by.map(MemoryId::from_uuid),
            deleted_at: self.deleted_at.map(Into::into),
            delete_reason: self.delete_reason,
            metadata: metadata.map_err(|error| unreadable("metadata", error))?,
        })
    }
}

/// The records of these ids, in no order; ids that do not exist give nothing.
pub async fn find_many(tx: &mut TenantTx, ids: &[MemoryId]) -> Result<Vec<Record>> {
    let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
    let rows = sqlx::query_as!(
        Row,
        "SELECT memory_id, scope_kind AS \"scope_kind: ScopeKind\", scope_key, category AS \"category: Category\", key,
           content, status AS \"status: Status\", sensitivity AS \"sensitivity: Sensitivity\", confidence, importance,
           provenance, source_context_kind AS \"source_context_kind: SourceContextKind\", thread_id, seq, speaker,
           observed_at, metadata, version, created_at, updated_at, expires_at, last_accessed_at, access_count,
           superseded_by, deleted_at, delete_reason
         FROM memories
         WHERE tenant_id = $1 AND ns = $2 AND memory_id = ANY($3)",
        tx.tenant(),
        tx.ns(),
        &ids,
    )
    .fetch_all(&mut **tx)
    .await?;
    let namespace = tx.namespace().clone();
    rows.into_iter().map(|row| row.into_record(&namespace)).collect()
}

/// The active record of an identity.
pub async fn find_by_identity(tx: &mut TenantTx, identity: Identity) -> Result<Option<Record>> {
    let id = sqlx::query_scalar!(
        "SELECT memory_id
         FROM memories
         WHERE tenant_id = $1 AND ns = $2 AND identity = $3 AND status = 'active'",
        tx.tenant(),
        tx.ns(),
        identity.as_bytes(),
    )
    .fetch_optional(&mut **tx)
    .await?;
    find(tx, id).await
}

/// The active record of an identity, kept from changing until the transaction ends.
pub async fn lock_by_identity(tx: &mut TenantTx, identity: Identity) -> Result<Option<Record>> {
    let id = sqlx::query_scalar!(
        "SELECT memory_id
         FROM memories
         WHERE tenant_id = $1 AND ns = $2 AND identity = $3 AND status = 'active'
         FOR UPDATE",
        tx.tenant(),
        tx.ns(),
        identity.as_bytes(),
    )
    .fetch_optional(&mut **tx)
    .await?;
    find(tx, id).await
}

/// A record, kept from changing until the transaction ends.
pub async fn lock(tx: &mut TenantTx, id: MemoryId) -> Result<Option<Record>> {
    let id = sqlx::query_scalar!(
        "SELECT memory_id FROM memories WHERE tenant_id = $1 AND ns = $2 AND memory_id = $3 FOR UPDATE",
        tx.tenant(),
        tx.ns(),
        id.uuid(),
    )
    .fetch_optional(&mut **tx)
    .await?;
    find(tx, id).await
}

/// Records, kept from changing until the transaction ends. Locked in the order of their ids, by everybody.
pub async fn lock_many(tx: &mut TenantTx, ids: &[MemoryId]) -> Result<Vec<Record>> {
    let uuids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
    sqlx::query!(
        "SELECT memory_id
         FROM memories
         WHERE tenant_id = $1 AND ns = $2 AND memory_id = ANY($3)
         ORDER BY memory_id
         FOR UPDATE",
        tx.tenant(),
        tx.ns(),
        &uuids,
    )
    .fetch_all(&mut **tx)
    .await?;
    find_many(tx, ids).await
}

/// Locks the active records of these identities and the records of these ids, in the order of their ids. Gives them all.
pub async fn lock_in_order(
    tx: &mut TenantTx,
    identities: &[Identity],
    ids: &[MemoryId],
) -> Result<Vec<Record>> {
    let identities: Vec<Vec<u8>> = identities.iter().map(|identity| identity.as_bytes().to_vec()).collect();
    let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
    let locked = sqlx::query_scalar!(
        "SELECT memory_id
         FROM memories
         WHERE tenant_id = $1
           AND ns = $2
           AND ((identity = ANY($3) AND status = 'active') OR memory_id = ANY($4))
         ORDER BY memory_id
         FOR UPDATE",
        tx.tenant(),
        tx.ns(),
        &identities,
        &ids,
    )
    .fetch_all(&mut **tx)
    .await?;
    let locked: Vec<MemoryId> = locked.into_iter().map(MemoryId::from_uuid).collect();
    if locked.is_empty() { Ok(Vec::new()) } else { find_many(tx, &locked).await }
}

async fn find(tx: &mut TenantTx, id: Option<Uuid>) -> Result<Option<Record>> {
    let Some(id) = id else { return Ok(None) };
    Ok(find_many(tx, &[MemoryId::from_uuid(id)]).await?.pop())
}

/// The ids of a page, newest first: those before `before`, as many as `limit`. `words` are in their normal form.
pub async fn list_ids(
    tx: &mut TenantTx,
    filter: &Filter,
    words: Option<&str>,
    before: Option<MemoryId>,
    limit: usize,
    now: DateTime<Utc>,
) -> Result<Vec<MemoryId>> {
    let (scope_kinds, scope_keys) = filter.scope_columns();
    let ids = sqlx::query_scalar!(
        "SELECT memory_id
         FROM memories
         WHERE tenant_id = $1
           AND ns = $2
           AND CASE WHEN status = 'active' AND expires_at <= $8 THEN 'expired' ELSE status END = ANY($3)
           AND sensitivity = ANY($4)
           AND ($5::text[] IS NULL OR category = ANY($5))
           AND ($6::text[] IS NULL OR (scope_kind, scope_key) IN (SELECT * FROM unnest($6, $7::text[])))
           AND (
             $9::text IS NULL
             OR position($9 IN regexp_replace(
               casefold(normalize(content, NFKC) COLLATE pg_unicode_fast), '\\s+', ' ', 'g'
             )) > 0
           )
           AND ($10::uuid IS NULL OR memory_id < $10)
         ORDER BY memory_id DESC
         LIMIT $11",
        tx.tenant(),
        tx.ns(),
        &filter.statuses as &[Status],
        &filter.sensitivities as &[Sensitivity],
        filter.categories.as_deref() as Option<&[Category]>,
        scope_kinds.as_deref() as Option<&[ScopeKind]>,
        scope_keys.as_deref(),
        now,
        words,
        before.map(MemoryId::uuid),
        i64::try_from(limit).unwrap_or(i64::MAX),
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(ids.into_iter().map(MemoryId::from_uuid).collect())
}

/// The ids of a scope's records, whatever their status; only those of one identity, if it is given.
pub async fn ids_of_scope(
    tx: &mut TenantTx,
    scope: &Scope,
    identity: Option<Identity>,
    limit: usize,
) -> Result<Vec<MemoryId>> {
    let ids = sqlx::query_scalar!(
        "SELECT memory_id
         FROM memories
         WHERE tenant_id = $1 AND ns = $2 AND scope_kind = $3 AND scope_key = $4
           AND ($5::bytea IS NULL OR identity = $5)
         LIMIT $6",
        tx.tenant(),
        tx.ns(),
        scope.kind as ScopeKind,
        scope.key,
        identity.as_ref().map(super::super::key::Identity::as_bytes),
        i64::try_from(limit).unwrap_or(i64::MAX),
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(ids.into_iter().map(MemoryId::from_uuid).collect())
}

/// The versions of a record, newest first: those before `before`, as many as `limit`.
pub async fn versions(
    tx: &mut TenantTx,
    id: MemoryId,
    before: Option<i64>,
    limit: usize,
) -> Result<Vec<Version>> {
    let rows = sqlx::query!(
        "SELECT version, change_kind AS \"change_kind: ChangeKind\", changed_at, actor, record
         FROM memory_versions
         WHERE tenant_id = $1 AND ns = $2 AND memory_id = $3 AND ($4::int8 IS NULL OR version < $4)
         ORDER BY version DESC
         LIMIT $5",
        tx.tenant(),
        tx.ns(),
        id.uuid(),
        before,
        i64::try_from(limit).unwrap_or(i64::MAX),
    )
    .fetch_all(&mut **tx)
    .await?;
    let read = |row: serde_json::Value| serde_json::from_value::<Record>(row);
    rows.into_iter()
        .map(|row| {
            let version = row.version;
            let unreadable =
                |error| Error::internal(format!("version {version} of {id} cannot be read: {error}"));
            Ok(Version {
                version,
                change_kind: row.change_kind,
                changed_at: row.changed_at.into(),
                actor: serde_json::from_value::<Actor>(row.actor).map_err(unreadable)?,
                record: read(row.record).map_err(unreadable)?,
            })
        })
        .collect()
}

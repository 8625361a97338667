//! What was: versions for the stream of changes, tombstones for those who must not bring them back.

use uuid::Uuid;

use crate::db::TenantTx;
use crate::error::{Error, Result};
use crate::id::MemoryId;
use crate::memory::accept::AtVersion;
use crate::memory::key::Identity;
use crate::memory::{Category, Record, Scope, ScopeKind, Sensitivity, Status};

/// Records as they were at these versions, each with what it is now. Those that were erased give nothing.
pub async fn at_versions(tx: &mut TenantTx, wanted: &[(MemoryId, i64)]) -> Result<Vec<AtVersion>> {
    let (ids, versions): (Vec<Uuid>, Vec<i64>) =
        wanted.iter().map(|(id, version)| (id.uuid(), *version)).unzip();
    let rows = sqlx::query!(
        "SELECT v.memory_id, v.version, v.record, m.status AS \"status: Status\",
           m.sensitivity AS \"sensitivity: Sensitivity\"
         FROM unnest($3::uuid[], $4::int8[]) AS r(memory_id, version)
         JOIN memory_versions v
           ON v.tenant_id = $1 AND v.ns = $2 AND v.memory_id = r.memory_id AND v.version = r.version
         JOIN memories m ON m.tenant_id = $1 AND m.ns = $2 AND m.memory_id = r.memory_id",
        tx.tenant(),
        tx.ns(),
        &ids,
        &versions,
    )
    .fetch_all(&mut **tx)
    .await?;
    let read = |row: serde_json::Value| serde_json::from_value::<Record>(row);
    rows.into_iter()
        .map(|row| {
            let (id, version) = (MemoryId::from_uuid(row.memory_id), row.version);
            let unreadable =
                |error| Error::internal(format!("version {version} of {id} cannot be read: {error}"));
            let record = read(row.record).map_err(unreadable)?;
            Ok(AtVersion { record, status: row.status, sensitivity: row.sensitivity })
        })
        .collect()
}

/// The ids of forgotten records of a scope and category with this identity, or this text in normal form.
pub async fn forgotten_like(
    tx: &mut TenantTx,
    scope: &Scope,
    category: Category,
    identity: Identity,
    text: &str,
    limit: i64,
) -> Result<Vec<MemoryId>> {
    let ids = sqlx::query_scalar!(
        "SELECT memory_id
         FROM memories
         WHERE tenant_id = $1
           AND ns = $2
           AND scope_kind = $3
           AND scope_key = $4
           AND category = $5
           AND status = 'deleted'
           AND (
             identity = $6
             OR btrim(regexp_replace(
               casefold(normalize(content, NFKC) COLLATE pg_unicode_fast), '\\s+', ' ', 'g'
             )) = $7
           )
         LIMIT $8",
        tx.tenant(),
        tx.ns(),
        scope.kind as ScopeKind,
        scope.key,
        category as Category,
        identity.as_bytes(),
        text,
        limit,
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(ids.into_iter().map(MemoryId::from_uuid).collect())
}

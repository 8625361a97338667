//! Statements over all tenants, for housekeeping.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::auth::Namespace;
use crate::db::OperatorTx;
use crate::error::{Error, Result};
use crate::id::{MemoryId, TenantId};
use crate::memory::access::Access;

/// Active records whose time is over, by tenant and namespace.
pub async fn due(
    tx: &mut OperatorTx,
    now: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<(TenantId, Namespace, Vec<MemoryId>)>> {
    let rows = sqlx::query!(
        "SELECT m.tenant_id, n.name, m.memory_id
         FROM memories m
         JOIN namespaces n ON n.tenant_id = m.tenant_id AND n.ns = m.ns
         WHERE m.status = 'active' AND m.expires_at <= $1
         LIMIT $2",
        now,
        limit,
    )
    .fetch_all(&mut **tx)
    .await?;
    let mut due: BTreeMap<(TenantId, String), Vec<MemoryId>> = BTreeMap::new();
    for row in rows {
        let place = (TenantId::from_uuid(row.tenant_id), row.name);
        due.entry(place).or_default().push(MemoryId::from_uuid(row.memory_id));
    }
    let named = |((tenant, name), ids): ((TenantId, String), Vec<MemoryId>)| {
        let namespace = name.parse().map_err(|error: String| Error::internal(error))?;
        Ok((tenant, namespace, ids))
    };
    due.into_iter().map(named).collect()
}

/// Removes tombstones that are old enough. History goes with them.
pub async fn purge(tx: &mut OperatorTx, before: DateTime<Utc>, limit: i64) -> Result<u64> {
    let done = sqlx::query!(
        "DELETE FROM memories
         WHERE (tenant_id, ns, memory_id) IN (
           SELECT tenant_id, ns, memory_id
           FROM memories
           WHERE status = 'deleted' AND deleted_at < $1
           LIMIT $2
           FOR UPDATE SKIP LOCKED
         )",
        before,
        limit,
    )
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected())
}

/// Adds reads to their records.
pub async fn add_accesses(
    tx: &mut OperatorTx,
    accesses: &HashMap<(TenantId, MemoryId), Access>,
) -> Result<u64> {
    let mut sorted: Vec<_> = accesses.iter().collect();
    sorted.sort_by_key(|(place, _)| **place);
    let tenants: Vec<Uuid> = sorted.iter().map(|((tenant, _), _)| tenant.uuid()).collect();
    let ids: Vec<Uuid> = sorted.iter().map(|((_, id), _)| id.uuid()).collect();
    let gets: Vec<i64> = sorted.iter().map(|(_, access)| access.gets).collect();
    let last: Vec<DateTime<Utc>> = sorted.iter().map(|(_, access)| access.last).collect();
    let done = sqlx::query!(
        "UPDATE memories m
         SET access_count = m.access_count + r.gets, last_accessed_at = greatest(m.last_accessed_at, r.last)
         FROM unnest($1::uuid[], $2::uuid[], $3::int8[], $4::timestamptz[]) AS r(tenant_id, memory_id, gets, last)
         JOIN namespaces n ON n.tenant_id = r.tenant_id
         WHERE m.tenant_id = r.tenant_id AND m.ns = n.ns AND m.memory_id = r.memory_id",
        &tenants,
        &ids,
        &gets,
        &last,
    )
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected())
}

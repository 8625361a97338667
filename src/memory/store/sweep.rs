//! Statements over all tenants, for housekeeping.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::auth::Namespace;
use crate::db::{OperatorTx, columns};
use crate::error::{Error, Result};
use crate::id::{MemoryId, TenantId};
use crate::memory::access::{Access, Place};

/// Active records whose time is over, those that ended first, by tenant and namespace; none of these tenants.
pub async fn due(
    tx: &mut OperatorTx,
    now: DateTime<Utc>,
    without: &[TenantId],
    limit: i64,
) -> Result<Vec<(TenantId, Namespace, Vec<MemoryId>)>> {
    let without: Vec<Uuid> = without.iter().map(|tenant| tenant.uuid()).collect();
    let rows = sqlx::query!(
        "SELECT m.tenant_id, n.name, m.memory_id
         FROM memories m
         JOIN namespaces n ON n.tenant_id = m.tenant_id AND n.ns = m.ns
         WHERE m.status = 'active' AND m.expires_at <= $1 AND m.tenant_id <> ALL($3)
         ORDER BY m.expires_at
         LIMIT $2",
        now,
        limit,
        &without,
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

/// Tombstones that are old enough, by tenant and namespace; those another node is at are left to it.
pub async fn lock_tombstones(
    tx: &mut OperatorTx,
    before: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<(TenantId, i32, MemoryId)>> {
    let rows = sqlx::query!(
        "SELECT tenant_id, ns, memory_id
         FROM memories
         WHERE status = 'deleted' AND deleted_at < $1
         LIMIT $2
         FOR UPDATE SKIP LOCKED",
        before,
        limit,
    )
    .fetch_all(&mut **tx)
    .await?;
    let mut places = Vec::with_capacity(rows.len());
    for row in rows {
        places.push((TenantId::from_uuid(row.tenant_id), row.ns, MemoryId::from_uuid(row.memory_id)));
    }
    Ok(places)
}

/// Removes records. History goes with them.
pub async fn purge(tx: &mut OperatorTx, records: &[(TenantId, i32, MemoryId)]) -> Result<u64> {
    let (tenants, namespaces, ids) = columns(records);
    let done = sqlx::query!(
        "DELETE FROM memories m
         USING unnest($1::uuid[], $2::int4[], $3::uuid[]) AS gone(tenant_id, ns, memory_id)
         WHERE m.tenant_id = gone.tenant_id AND m.ns = gone.ns AND m.memory_id = gone.memory_id",
        &tenants,
        &namespaces,
        &ids,
    )
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected())
}

/// Adds reads to their records.
pub async fn add_accesses(
    tx: &mut OperatorTx,
    accesses: impl Iterator<Item = (Place, Access)>,
) -> Result<u64> {
    let mut sorted: Vec<_> = accesses.collect();
    sorted.sort_by_key(|(place, _)| *place);
    let tenants: Vec<Uuid> = sorted.iter().map(|((tenant, ..), _)| *tenant).collect();
    let namespaces: Vec<i32> = sorted.iter().map(|((_, ns, _), _)| *ns).collect();
    let ids: Vec<Uuid> = sorted.iter().map(|((.., id), _)| id.uuid()).collect();
    let gets: Vec<i64> = sorted.iter().map(|(_, access)| access.gets).collect();
    let last: Vec<DateTime<Utc>> = sorted.iter().map(|(_, access)| access.last).collect();
    let done = sqlx::query!(
        "UPDATE memories m
         SET access_count = m.access_count + r.gets, last_accessed_at = greatest(m.last_accessed_at, r.last)
         FROM unnest($1::uuid[], $2::int4[], $3::uuid[], $4::int8[], $5::timestamptz[])
           AS r(tenant_id, ns, memory_id, gets, last)
         WHERE m.tenant_id = r.tenant_id AND m.ns = r.ns AND m.memory_id = r.memory_id",
        &tenants,
        &namespaces,
        &ids,
        &gets,
        &last,
    )
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected())
}

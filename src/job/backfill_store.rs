//! SQL of finding records without a vector.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::db::OperatorTx;
use crate::error::Result;
use crate::id::{JobId, TenantId};

/// A namespace of a tenant.
pub type Place = (TenantId, i32);

/// The namespaces after a place, in order, and whether records of theirs lack a vector that no job was asked for yet,
/// or one that failed before a time.
pub async fn look(
    tx: &mut OperatorTx,
    model: i16,
    after: Option<Place>,
    limit: i64,
    failed_before: DateTime<Utc>,
) -> Result<Vec<(Place, bool)>> {
    let (tenant, ns) = after.map_or((Uuid::nil(), 0), |(tenant, ns)| (tenant.uuid(), ns));
    let rows = sqlx::query!(
        "SELECT n.tenant_id, n.ns, EXISTS (
           SELECT
           FROM memories m
           WHERE m.tenant_id = n.tenant_id AND m.ns = n.ns AND m.status = 'active'
             AND NOT EXISTS (
               SELECT FROM memory_vectors v
               WHERE v.tenant_id = m.tenant_id AND v.ns = m.ns AND v.model = $1 AND v.memory_id = m.memory_id
             )
             AND NOT EXISTS (
               SELECT FROM jobs j
               WHERE j.tenant_id = n.tenant_id AND j.ns = n.ns AND j.kind = 'backfill'
                 AND (j.status <> 'failed' OR j.updated_at > $5)
                 AND (j.status IN ('queued', 'running') OR j.created_at >= m.updated_at)
             )
         ) AS \"lacks!\"
         FROM namespaces n
         JOIN tenants t ON t.tenant_id = n.tenant_id AND t.model = $1 AND t.status = 'active'
         WHERE (n.tenant_id, n.ns) > ($2, $3)
         ORDER BY n.tenant_id, n.ns
         LIMIT $4",
        model,
        tenant,
        ns,
        limit,
        failed_before,
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(rows.into_iter().map(|row| ((TenantId::from_uuid(row.tenant_id), row.ns), row.lacks)).collect())
}

/// Asks for vectors in these namespaces, unless somebody has. Gives in how many.
pub async fn ask(tx: &mut OperatorTx, places: &[Place], now: DateTime<Utc>) -> Result<u64> {
    let tenants: Vec<Uuid> = places.iter().map(|(tenant, _)| tenant.uuid()).collect();
    let namespaces: Vec<i32> = places.iter().map(|(_, ns)| *ns).collect();
    let ids: Vec<Uuid> = places.iter().map(|_| JobId::new().uuid()).collect();
    let done = sqlx::query!(
        "INSERT INTO jobs (tenant_id, ns, job_id, kind, status, due_at, created_at, updated_at)
         SELECT tenant_id, ns, job_id, 'backfill', 'queued', $4, $4, $4
         FROM unnest($1::uuid[], $2::int4[], $3::uuid[]) AS place(tenant_id, ns, job_id)
         ON CONFLICT (tenant_id, ns) WHERE kind = 'backfill' AND status IN ('queued', 'running') DO NOTHING",
        &tenants,
        &namespaces,
        &ids,
        now,
    )
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected())
}

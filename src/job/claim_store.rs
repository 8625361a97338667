//! SQL of jobs across tenants: who takes which, for how long, and what becomes of those that failed.

use chrono::{DateTime, Utc};
use sqlx::types::Json;
use uuid::Uuid;

use super::{Claimed, JobKind, RETRIES};
use crate::auth::Reach;
use crate::db::OperatorTx;
use crate::error::{Error, Result};
use crate::id::{JobId, SourceId, TenantId};
use crate::memory::{Scope, ScopeKind};

/// Takes jobs that are due, at most `limit`, until `until`. Tenants take turns; of one there are never more than
/// `at_once` under way. Those of suspended tenants wait.
pub async fn claim(
    tx: &mut OperatorTx,
    limit: i64,
    at_once: i64,
    now: DateTime<Utc>,
    until: DateTime<Utc>,
) -> Result<Vec<Claimed>> {
    let rows = sqlx::query!(
        r#"WITH RECURSIVE waiting AS (
             (SELECT tenant_id FROM jobs WHERE status IN ('queued', 'running') ORDER BY tenant_id LIMIT 1)
             UNION ALL
             SELECT (
               SELECT j.tenant_id
               FROM jobs j
               WHERE j.status IN ('queued', 'running') AND j.tenant_id > w.tenant_id
               ORDER BY j.tenant_id
               LIMIT 1
             )
             FROM waiting w
             WHERE w.tenant_id IS NOT NULL
           ),
           turns AS (
             SELECT t.tenant_id, due.ns, due.job_id
             FROM waiting w
             JOIN tenants t ON t.tenant_id = w.tenant_id AND t.status = 'active'
             CROSS JOIN LATERAL (
               SELECT count(*) AS jobs
               FROM jobs j
               WHERE j.tenant_id = w.tenant_id AND j.status = 'running' AND j.due_at > $3
             ) busy
             CROSS JOIN LATERAL (
               SELECT j.ns, j.job_id, j.due_at, row_number() OVER (ORDER BY j.due_at, j.job_id) AS place
               FROM jobs j
               WHERE j.tenant_id = w.tenant_id AND j.status IN ('queued', 'running') AND j.due_at <= $3
               ORDER BY j.due_at, j.job_id
               LIMIT $2
             ) due
             WHERE busy.jobs + due.place <= $2
             ORDER BY busy.jobs + due.place, due.due_at
             LIMIT $1
           ),
           taken AS (
             SELECT j.tenant_id, j.ns, j.job_id
             FROM jobs j
             JOIN turns USING (tenant_id, ns, job_id)
             WHERE j.status IN ('queued', 'running') AND j.due_at <= $3
             FOR UPDATE OF j SKIP LOCKED
           )
           UPDATE jobs j
           SET status = 'running', attempts = attempts + 1, fence = fence + 1, due_at = $4, updated_at = $3
           FROM taken
           JOIN namespaces n ON n.tenant_id = taken.tenant_id AND n.ns = taken.ns
           WHERE j.tenant_id = taken.tenant_id AND j.ns = taken.ns AND j.job_id = taken.job_id
           RETURNING j.tenant_id, n.name, j.job_id, j.kind AS "kind: JobKind", j.attempts, j.fence, j.source_id,
             j.scope_kind AS "scope_kind: ScopeKind", j.scope_key, j.reach AS "reach: Json<Reach>""#,
        limit,
        at_once,
        now,
        until,
    )
    .fetch_all(&mut **tx)
    .await?;
    let claimed = rows.into_iter().map(|row| {
        Ok(Claimed {
            tenant: TenantId::from_uuid(row.tenant_id),
            namespace: row.name.parse().map_err(|error: String| Error::internal(error))?,
            id: JobId::from_uuid(row.job_id),
            kind: row.kind,
            attempts: row.attempts,
            fence: row.fence,
            source: row.source_id.map(SourceId::from_uuid),
            owner: row.scope_kind.zip(row.scope_key).map(|(kind, key)| Scope { kind, key }),
            reach: row.reach.map(|reach| reach.0),
        })
    });
    claimed.collect()
}

/// Gives up jobs whose last attempt ended without a word: the node that had them died every time.
pub async fn bury(tx: &mut OperatorTx, reason: &str, now: DateTime<Utc>) -> Result<u64> {
    let done = sqlx::query!(
        "UPDATE jobs
         SET status = 'failed', error = $3, updated_at = $1
         WHERE status = 'running' AND due_at <= $1 AND attempts > $2",
        now,
        RETRIES,
        reason,
    )
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected())
}

/// Holds jobs for longer. Gives those that are still held.
pub async fn renew(tx: &mut OperatorTx, jobs: &[Claimed], until: DateTime<Utc>) -> Result<Vec<JobId>> {
    let (tenants, ids, fences) = columns(jobs);
    let held = sqlx::query_scalar!(
        "UPDATE jobs j
         SET due_at = $4
         FROM unnest($1::uuid[], $2::uuid[], $3::int4[]) AS held(tenant_id, job_id, fence)
         WHERE j.tenant_id = held.tenant_id AND j.job_id = held.job_id AND j.fence = held.fence
           AND j.status = 'running'
         RETURNING j.job_id",
        &tenants,
        &ids,
        &fences,
        until,
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(held.into_iter().map(JobId::from_uuid).collect())
}

/// Puts jobs back as if they had not been taken. Gives how many.
pub async fn give_back(tx: &mut OperatorTx, jobs: &[Claimed], now: DateTime<Utc>) -> Result<u64> {
    let (tenants, ids, fences) = columns(jobs);
    let done = sqlx::query!(
        "UPDATE jobs j
         SET status = 'queued', attempts = attempts - 1, due_at = $4, updated_at = $4
         FROM unnest($1::uuid[], $2::uuid[], $3::int4[]) AS held(tenant_id, job_id, fence)
         WHERE j.tenant_id = held.tenant_id AND j.job_id = held.job_id AND j.fence = held.fence
           AND j.status = 'running'",
        &tenants,
        &ids,
        &fences,
        now,
    )
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected())
}

/// Lets a job wait for its next attempt, or gives it up after the last. One that was taken over is left alone.
pub async fn fail(
    tx: &mut OperatorTx,
    job: &Claimed,
    reason: &str,
    next: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "UPDATE jobs
         SET status = CASE WHEN $5::timestamptz IS NULL THEN 'failed' ELSE 'queued' END,
           due_at = coalesce($5, due_at), error = $4, updated_at = $6
         WHERE tenant_id = $1 AND job_id = $2 AND status = 'running' AND fence = $3",
        job.tenant.uuid(),
        job.id.uuid(),
        job.fence,
        reason,
        next,
        now,
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

fn columns(jobs: &[Claimed]) -> (Vec<Uuid>, Vec<Uuid>, Vec<i32>) {
    let tenants = jobs.iter().map(|job| job.tenant.uuid()).collect();
    let ids = jobs.iter().map(|job| job.id.uuid()).collect();
    (tenants, ids, jobs.iter().map(|job| job.fence).collect())
}

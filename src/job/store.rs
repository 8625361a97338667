//! SQL of jobs, as their tenant sees and changes them. What is done across tenants is in `claim_store.rs`.

use chrono::{DateTime, Utc};
use sqlx::types::Json;
use uuid::Uuid;

use super::{Claimed, Job, JobKind, JobStatus, NewCapture, Outcome};
use crate::auth::Reach;
use crate::db::TenantTx;
use crate::error::Result;
use crate::id::{JobId, MemoryId};
use crate::memory::{Scope, ScopeKind};

/// How many jobs of the tenant may wait, if there is a limit.
pub async fn max_queued(tx: &mut TenantTx) -> Result<Option<u32>> {
    let limit = sqlx::query_scalar!(
        "SELECT (limits->>'max_queued_jobs')::int8 FROM tenants WHERE tenant_id = $1",
        tx.tenant()
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(limit.flatten().map(|limit| u32::try_from(limit).unwrap_or(u32::MAX)))
}

/// How many jobs of the tenant wait or are under way; it is counted no further than to the limit.
pub async fn queued(tx: &mut TenantTx, limit: u32) -> Result<u32> {
    let count = sqlx::query_scalar!(
        "SELECT count(*) AS \"count!\"
         FROM (
           SELECT FROM jobs WHERE tenant_id = $1 AND status IN ('queued', 'running') LIMIT $2
         ) open",
        tx.tenant(),
        i64::from(limit),
    )
    .fetch_one(&mut **tx)
    .await?;
    Ok(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Adds a job to capture a text.
pub async fn insert_capture(
    tx: &mut TenantTx,
    id: JobId,
    new: &NewCapture,
    reach: &Reach,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "INSERT INTO jobs (
           tenant_id, ns, job_id, kind, status, source_id, scope_kind, scope_key, reach, masked, due_at, created_at,
           updated_at
         )
         VALUES ($1, $2, $3, 'capture', 'queued', $4, $5, $6, $7, $8, $9, $9, $9)",
        tx.tenant(),
        tx.ns(),
        id.uuid(),
        new.source.uuid(),
        new.owner.kind as ScopeKind,
        new.owner.key,
        Json(reach) as _,
        &new.masked,
        now,
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// A job, and whose memory it writes.
pub async fn find(tx: &mut TenantTx, id: JobId) -> Result<Option<(Job, Option<Scope>)>> {
    let row = sqlx::query!(
        r#"SELECT kind AS "kind: JobKind", status AS "status: JobStatus", scope_kind AS "scope_kind: ScopeKind",
             scope_key, memory_ids, error, extracted_by, masked, note, created_at, updated_at
           FROM jobs
           WHERE tenant_id = $1 AND ns = $2 AND job_id = $3"#,
        tx.tenant(),
        tx.ns(),
        id.uuid(),
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(row.map(|row| {
        let owner = row.scope_kind.zip(row.scope_key).map(|(kind, key)| Scope { kind, key });
        let job = Job {
            id,
            kind: row.kind,
            status: row.status,
            memory_ids: row.memory_ids.into_iter().map(MemoryId::from_uuid).collect(),
            error: row.error,
            extracted_by: row.extracted_by,
            masked: row.masked,
            note: row.note,
            created_at: row.created_at.into(),
            updated_at: row.updated_at.into(),
        };
        (job, owner)
    }))
}

/// Ends a job well, unless it was taken over. Tells whether it was not.
pub async fn settle(tx: &mut TenantTx, job: &Claimed, outcome: &Outcome, now: DateTime<Utc>) -> Result<bool> {
    let memories: Vec<Uuid> = outcome.memory_ids.iter().map(|id| id.uuid()).collect();
    let done = sqlx::query!(
        "UPDATE jobs
         SET status = 'done', memory_ids = $5, extracted_by = $6, note = $7, error = NULL, updated_at = $8
         WHERE tenant_id = $1 AND ns = $2 AND job_id = $3 AND status = 'running' AND fence = $4",
        tx.tenant(),
        tx.ns(),
        job.id.uuid(),
        job.fence,
        &memories,
        outcome.extracted_by,
        outcome.note,
        now,
    )
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

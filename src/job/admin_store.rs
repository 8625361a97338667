//! SQL of jobs for operators.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::admin::AdminJob;
use super::{JobKind, JobStatus};
use crate::db::{OnConstraint, OperatorTx};
use crate::error::{Error, Result};
use crate::id::{JobId, TenantId};

struct Row {
    tenant_id: Uuid,
    job_id: Uuid,
    kind: JobKind,
    status: JobStatus,
    attempts: i32,
    error: Option<String>,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
}

impl From<Row> for AdminJob {
    fn from(row: Row) -> Self {
        Self {
            id: JobId::from_uuid(row.job_id),
            tenant_id: TenantId::from_uuid(row.tenant_id),
            kind: row.kind,
            status: row.status,
            attempts: row.attempts,
            error: row.error,
            created_at: row.created_at.into(),
            updated_at: row.updated_at.into(),
        }
    }
}

/// Jobs of these statuses that are older than this one, newest first.
pub async fn list(
    tx: &mut OperatorTx,
    statuses: &[JobStatus],
    before: Uuid,
    limit: i64,
) -> Result<Vec<AdminJob>> {
    let statuses: Vec<String> = statuses.iter().map(|status| status.as_str().to_owned()).collect();
    let rows = sqlx::query_as!(
        Row,
        r#"SELECT tenant_id, job_id, kind AS "kind: JobKind", status AS "status: JobStatus", attempts, error,
             created_at, updated_at
           FROM jobs
           WHERE status = ANY($1) AND job_id < $2
           ORDER BY job_id DESC
           LIMIT $3"#,
        &statuses,
        before,
        limit,
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(rows.into_iter().map(Into::into).collect())
}

/// A job, kept from changing.
pub async fn lock(tx: &mut OperatorTx, id: JobId) -> Result<Option<AdminJob>> {
    let row = sqlx::query_as!(
        Row,
        r#"SELECT tenant_id, job_id, kind AS "kind: JobKind", status AS "status: JobStatus", attempts, error,
             created_at, updated_at
           FROM jobs
           WHERE job_id = $1
           FOR UPDATE"#,
        id.uuid(),
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(row.map(Into::into))
}

/// Puts a job back into the queue, with all its attempts before it.
pub async fn retry(tx: &mut OperatorTx, job: &AdminJob, now: DateTime<Utc>) -> Result<AdminJob> {
    let row = sqlx::query_as!(
        Row,
        r#"UPDATE jobs
           SET status = 'queued', attempts = 0, due_at = $3, updated_at = $3
           WHERE tenant_id = $1 AND job_id = $2
           RETURNING tenant_id, job_id, kind AS "kind: JobKind", status AS "status: JobStatus", attempts, error,
             created_at, updated_at"#,
        job.tenant_id.uuid(),
        job.id.uuid(),
        now,
    )
    .fetch_one(&mut **tx)
    .await
    .on_constraint("jobs_backfill", || Error::Conflict("another job does the same".into()))?;
    Ok(row.into())
}

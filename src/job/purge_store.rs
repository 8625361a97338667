//! SQL of dropping old jobs.

use chrono::{DateTime, Utc};

use super::JobStatus;
use crate::db::OperatorTx;
use crate::error::Result;
use crate::id::{SourceId, TenantId};

/// Drops jobs of this status that ended before, at most `limit`. Gives how many, and the sources they were about.
pub async fn purge(
    tx: &mut OperatorTx,
    status: JobStatus,
    before: DateTime<Utc>,
    limit: i64,
) -> Result<(u64, Vec<(TenantId, i32, SourceId)>)> {
    let rows = sqlx::query!(
        "WITH old AS (
           SELECT tenant_id, ns, job_id
           FROM jobs
           WHERE status = $1 AND updated_at < $2
           LIMIT $3
           FOR UPDATE SKIP LOCKED
         )
         DELETE FROM jobs j
         USING old
         WHERE j.tenant_id = old.tenant_id AND j.ns = old.ns AND j.job_id = old.job_id
         RETURNING j.tenant_id, j.ns, j.source_id",
        status as JobStatus,
        before,
        limit,
    )
    .fetch_all(&mut **tx)
    .await?;
    let mut sources = Vec::new();
    for row in &rows {
        if let Some(source) = row.source_id {
            sources.push((TenantId::from_uuid(row.tenant_id), row.ns, SourceId::from_uuid(source)));
        }
    }
    Ok((rows.len() as u64, sources))
}

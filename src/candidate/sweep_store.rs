//! SQL of tidying up candidates of all tenants.

use chrono::{DateTime, Utc};

use crate::db::OperatorTx;
use crate::error::Result;

/// Removes candidates of all tenants that were decided long ago. What somebody rejected or suppressed is not to come
/// back, and is kept. Gives how many.
pub async fn purge(tx: &mut OperatorTx, before: DateTime<Utc>, limit: i64) -> Result<u64> {
    let done = sqlx::query!(
        "DELETE FROM candidates c
         USING (
           SELECT tenant_id, ns, candidate_id
           FROM candidates
           WHERE decided_at < $1
             AND status IN (
               'approved', 'auto_rejected', 'review_disabled_rejected', 'merged_duplicate', 'expired', 'superseded'
             )
             AND (detail -> 'suppress_similar') IS NULL
           ORDER BY decided_at
           LIMIT $2
           FOR UPDATE SKIP LOCKED
         ) due
         WHERE c.tenant_id = due.tenant_id AND c.ns = due.ns AND c.candidate_id = due.candidate_id",
        before,
        limit,
    )
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected())
}

/// Marks candidates of all tenants that nobody has decided in time. Gives how many.
pub async fn expire(tx: &mut OperatorTx, now: DateTime<Utc>, limit: i64) -> Result<u64> {
    let done = sqlx::query!(
        "UPDATE candidates c
         SET status = 'expired', decided_at = due.expires_at, decision_reason = 'expired',
           decided_by = '{\"kind\": \"system\"}'
         FROM (
           SELECT tenant_id, ns, candidate_id, expires_at
           FROM candidates
           WHERE expires_at <= $1 AND status IN ('pending', 'pending_silent', 'ask_on_use', 'needs_review')
           LIMIT $2
           FOR UPDATE SKIP LOCKED
         ) due
         WHERE c.tenant_id = due.tenant_id AND c.ns = due.ns AND c.candidate_id = due.candidate_id",
        now,
        limit,
    )
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected())
}

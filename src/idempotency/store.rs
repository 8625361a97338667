//! SQL of the idempotency keys.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::Key;
use crate::auth::Permit;
use crate::db::{OperatorTx, TenantTx};
use crate::error::Result;

/// What is kept under a key; without a status, the request is still under way.
pub struct Kept {
    /// The hash of the request's body.
    pub body_hash: Vec<u8>,
    /// The status it was answered with.
    pub status: Option<u16>,
    /// The body it was answered with.
    pub body: Option<String>,
}

/// Claims a key that is free, whose answer is too old, or whose holder is gone. Tells whether it could.
pub async fn claim(
    tx: &mut TenantTx,
    permit: &Permit,
    key: &Key,
    claim: Uuid,
    now: DateTime<Utc>,
    lease_ended: DateTime<Utc>,
    kept_since: DateTime<Utc>,
) -> Result<bool> {
    let done = sqlx::query!(
        "INSERT INTO idempotency_keys (tenant_id, namespace, principal, route, key, body_hash, claim, claimed_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT ON CONSTRAINT idempotency_keys_pkey DO UPDATE
         SET body_hash = excluded.body_hash,
             claim = excluded.claim,
             claimed_at = excluded.claimed_at,
             status = NULL,
             body = NULL
         WHERE idempotency_keys.claimed_at < $10
            OR (idempotency_keys.status IS NULL AND idempotency_keys.claimed_at < $9)",
        tx.tenant(),
        permit.namespace().as_str(),
        permit.key().to_string(),
        key.route,
        key.name,
        key.body_hash.as_slice(),
        claim,
        now,
        lease_ended,
        kept_since,
    )
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// What is kept under a key.
pub async fn find(tx: &mut TenantTx, permit: &Permit, key: &Key) -> Result<Option<Kept>> {
    let row = sqlx::query!(
        "SELECT body_hash, status, body
         FROM idempotency_keys
         WHERE tenant_id = $1 AND namespace = $2 AND principal = $3 AND route = $4 AND key = $5",
        tx.tenant(),
        permit.namespace().as_str(),
        permit.key().to_string(),
        key.route,
        key.name,
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(row.map(|row| Kept {
        body_hash: row.body_hash,
        status: row.status.and_then(|status| u16::try_from(status).ok()),
        body: row.body,
    }))
}

/// Keeps an answer. Tells whether the claim was still held.
pub async fn settle(
    tx: &mut TenantTx,
    permit: &Permit,
    key: &Key,
    claim: Uuid,
    status: u16,
    body: &str,
) -> Result<bool> {
    let done = sqlx::query!(
        "UPDATE idempotency_keys
         SET status = $7, body = $8
         WHERE tenant_id = $1 AND namespace = $2 AND principal = $3 AND route = $4 AND key = $5 AND claim = $6
           AND status IS NULL",
        tx.tenant(),
        permit.namespace().as_str(),
        permit.key().to_string(),
        key.route,
        key.name,
        claim,
        i16::try_from(status).unwrap_or(i16::MAX),
        body,
    )
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Frees a key, unless its answer is kept: a commit may have come through though its connection broke.
pub async fn release(tx: &mut TenantTx, permit: &Permit, key: &Key, claim: Uuid) -> Result<()> {
    sqlx::query!(
        "DELETE FROM idempotency_keys
         WHERE tenant_id = $1 AND namespace = $2 AND principal = $3 AND route = $4 AND key = $5 AND claim = $6
           AND status IS NULL",
        tx.tenant(),
        permit.namespace().as_str(),
        permit.key().to_string(),
        key.route,
        key.name,
        claim,
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Drops some of what was kept long enough, of all tenants. Gives how many.
pub async fn purge(tx: &mut OperatorTx, before: DateTime<Utc>, limit: i64) -> Result<u64> {
    // By ctid, which holds while the rows are locked: a key taken anew meanwhile is another version of its row.
    let done = sqlx::query!(
        "DELETE FROM idempotency_keys
         WHERE ctid = ANY(ARRAY(
           SELECT ctid
           FROM idempotency_keys
           WHERE claimed_at < $1
           LIMIT $2
           FOR UPDATE SKIP LOCKED
         ))",
        before,
        limit,
    )
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected())
}

/// Replaces the answers of the namespace that tell of these records or candidates by a failure. All that are kept are
/// read: what was asked with a key within a day.
pub async fn replace(tx: &mut TenantTx, ids: &[String], status: u16, body: &str) -> Result<()> {
    let namespace = tx.namespace().as_str().to_owned();
    sqlx::query!(
        "UPDATE idempotency_keys k
         SET status = $3, body = $4
         WHERE k.tenant_id = $1 AND k.namespace = $5 AND k.status < 300
           AND EXISTS (SELECT FROM regexp_matches(k.body, '(?:mem|cnd)_[0-9a-z]{26}', 'g') m WHERE m[1] = ANY($2))",
        tx.tenant(),
        ids,
        i16::try_from(status).unwrap_or(i16::MAX),
        body,
        namespace,
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

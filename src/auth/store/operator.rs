//! Operator keys.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::auth::key::{KnownOperator, OperatorKey};
use crate::db::OperatorTx;
use crate::error::Result;
use crate::id::KeyId;

struct Row {
    key_id: Uuid,
    name: String,
    created_at: DateTime<Utc>,
    revoked_at: Option<DateTime<Utc>>,
}

impl From<Row> for OperatorKey {
    fn from(row: Row) -> Self {
        Self {
            id: KeyId::from_uuid(row.key_id),
            name: row.name,
            created_at: row.created_at.into(),
            revoked_at: row.revoked_at.map(Into::into),
        }
    }
}

/// Stores a key.
pub async fn insert(
    tx: &mut OperatorTx,
    name: &str,
    lookup: &str,
    secret_hash: &str,
    now: DateTime<Utc>,
) -> Result<OperatorKey> {
    let row = sqlx::query_as!(
        Row,
        "INSERT INTO operator_keys (key_id, lookup, name, secret_hash, created_at)
         VALUES ($1, $2, $3, $4, $5)
         RETURNING key_id, name, created_at, revoked_at",
        KeyId::new().uuid(),
        lookup,
        name,
        secret_hash,
        now
    )
    .fetch_one(&mut **tx)
    .await?;
    Ok(row.into())
}

/// The key with this public part; revoked ones are not found.
pub async fn find(tx: &mut OperatorTx, lookup: &str) -> Result<Option<KnownOperator>> {
    let row = sqlx::query!(
        "SELECT key_id, secret_hash
         FROM operator_keys
         WHERE lookup = $1
           AND revoked_at IS NULL",
        lookup
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(row.map(|row| KnownOperator { id: KeyId::from_uuid(row.key_id), secret_hash: row.secret_hash }))
}

/// Every key, oldest first.
pub async fn list(tx: &mut OperatorTx) -> Result<Vec<OperatorKey>> {
    let rows = sqlx::query_as!(
        Row,
        "SELECT key_id, name, created_at, revoked_at
         FROM operator_keys
         ORDER BY key_id"
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(rows.into_iter().map(Into::into).collect())
}

/// Revokes a key; the first time counts.
pub async fn revoke(tx: &mut OperatorTx, key: KeyId, now: DateTime<Utc>) -> Result<Option<OperatorKey>> {
    let row = sqlx::query_as!(
        Row,
        "UPDATE operator_keys
         SET revoked_at = coalesce(revoked_at, $2)
         WHERE key_id = $1
         RETURNING key_id, name, created_at, revoked_at",
        key.uuid(),
        now
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(row.map(Into::into))
}

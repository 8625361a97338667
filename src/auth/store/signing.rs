//! Signing keys.

use chrono::{DateTime, Utc};

use crate::db::OperatorTx;
use crate::error::Result;

/// A signing key as it is stored: the private part is sealed.
pub struct Row {
    /// Its name.
    pub kid: String,
    /// The public part.
    pub public_key: Vec<u8>,
    /// The private part, sealed.
    pub private_key: Vec<u8>,
    /// When it was made.
    pub created_at: DateTime<Utc>,
}

/// Makes others who want to add a key wait for the end of this transaction.
pub async fn lock(tx: &mut OperatorTx) -> Result<()> {
    sqlx::query!("SELECT pg_advisory_xact_lock(hashtextextended('memtide signing keys', 0))")
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// The keys that still sign or that retired after this time, newest first.
pub async fn list(tx: &mut OperatorTx, retired_after: DateTime<Utc>) -> Result<Vec<Row>> {
    let rows = sqlx::query_as!(
        Row,
        "SELECT kid, public_key, private_key, created_at
         FROM signing_keys
         WHERE retired_at IS NULL OR retired_at > $1
         ORDER BY created_at DESC, kid",
        retired_after
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(rows)
}

/// Stores a key.
pub async fn insert(
    tx: &mut OperatorTx,
    kid: &str,
    public_key: &[u8],
    sealed_private_key: &[u8],
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "INSERT INTO signing_keys (kid, public_key, private_key, created_at)
         VALUES ($1, $2, $3, $4)",
        kid,
        public_key,
        sealed_private_key,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Lets the keys that sign do so until this time.
pub async fn retire(tx: &mut OperatorTx, at: DateTime<Utc>) -> Result<()> {
    sqlx::query!("UPDATE signing_keys SET retired_at = $1 WHERE retired_at IS NULL", at)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Forgets the keys that retired before this time.
pub async fn purge(tx: &mut OperatorTx, retired_before: DateTime<Utc>) -> Result<()> {
    sqlx::query!("DELETE FROM signing_keys WHERE retired_at < $1", retired_before).execute(&mut **tx).await?;
    Ok(())
}

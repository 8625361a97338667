//! What ends tokens before their time.

use chrono::{DateTime, Utc};

use crate::auth::state::{Snapshot, TenantState};
use crate::db::{self, OperatorTx, TenantTx};
use crate::error::{Error, Result};
use crate::id::{CapabilityId, KeyId, TenantId};

/// Revokes a capability of this tenant, and with it all that were attenuated from it.
pub async fn insert(
    tx: &mut TenantTx,
    jti: CapabilityId,
    now: DateTime<Utc>,
    until: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "INSERT INTO revocations (tenant_id, jti, revoked_at, expires_at)
         VALUES ($1, $2, $3, $4)
         ON CONFLICT ON CONSTRAINT revocations_pkey DO NOTHING",
        tx.tenant(),
        jti.uuid(),
        now,
        until
    )
    .execute(&mut **tx)
    .await?;
    db::notify(tx, super::CHANNEL).await
}

/// Forgets revocations of capabilities that have ended by now.
pub async fn purge(tx: &mut OperatorTx, now: DateTime<Utc>) -> Result<()> {
    sqlx::query!("DELETE FROM revocations WHERE expires_at < $1", now).execute(&mut **tx).await?;
    Ok(())
}

/// Everything that may end a token made after `since`.
pub async fn load(tx: &mut OperatorTx, since: DateTime<Utc>) -> Result<Snapshot> {
    let revoked = sqlx::query!("SELECT tenant_id, jti FROM revocations").fetch_all(&mut **tx).await?;
    let keys = sqlx::query!(
        r#"SELECT key_id AS "key_id!", epoch AS "epoch!", revoked_at IS NOT NULL AS "revoked!"
           FROM api_keys
           WHERE revoked_at > $1 OR (revoked_at IS NULL AND epoch > 0)
           UNION ALL
           SELECT key_id, 0, true
           FROM personal_tokens
           WHERE revoked_at > $1"#,
        since
    )
    .fetch_all(&mut **tx)
    .await?;
    let tenants = sqlx::query!(
        "SELECT tenant_id, status, epoch
         FROM tenants
         WHERE status = 'suspended' OR (status = 'deleted' AND updated_at > $1) OR epoch > 0",
        since
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(Snapshot {
        revoked: revoked
            .into_iter()
            .map(|row| (TenantId::from_uuid(row.tenant_id), CapabilityId::from_uuid(row.jti)))
            .collect(),
        keys: keys
            .into_iter()
            .map(|row| (KeyId::from_uuid(row.key_id), (!row.revoked).then_some(row.epoch)))
            .collect(),
        tenants: tenants
            .into_iter()
            .map(|row| {
                let state =
                    TenantState { status: row.status.parse().map_err(Error::internal)?, epoch: row.epoch };
                Ok((TenantId::from_uuid(row.tenant_id), state))
            })
            .collect::<Result<_>>()?,
    })
}

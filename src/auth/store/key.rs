//! API keys.

use chrono::{DateTime, Utc};
use sqlx::types::Json;
use uuid::Uuid;

use super::{names, parse};
use crate::auth::key::{ApiKey, KnownKey, NewKey};
use crate::auth::{Actor, Epochs, Rights};
use crate::db::{OnConstraint, OperatorTx};
use crate::error::{Error, Result};
use crate::id::{KeyId, TenantId};

struct Row {
    key_id: Uuid,
    name: String,
    namespaces: Vec<String>,
    capabilities: Json<Rights>,
    sensitivity: Vec<String>,
    control: bool,
    actor: Json<Actor>,
    created_at: DateTime<Utc>,
    expires_at: Option<DateTime<Utc>>,
    revoked_at: Option<DateTime<Utc>>,
}

impl TryFrom<Row> for ApiKey {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self> {
        Ok(Self {
            id: KeyId::from_uuid(row.key_id),
            name: row.name,
            namespaces: parse("api_keys.namespaces", row.namespaces)?,
            capabilities: row.capabilities.0,
            sensitivity: parse("api_keys.sensitivity", row.sensitivity)?,
            control: row.control,
            actor: row.actor.0,
            created_at: row.created_at.into(),
            expires_at: row.expires_at.map(Into::into),
            revoked_at: row.revoked_at.map(Into::into),
        })
    }
}

/// Stores a key.
pub async fn insert(
    tx: &mut OperatorTx,
    tenant: TenantId,
    key: &NewKey,
    lookup: &str,
    secret_hash: &str,
    now: DateTime<Utc>,
) -> Result<ApiKey> {
    let namespaces: Vec<String> = key.namespaces.iter().cloned().map(Into::into).collect();
    sqlx::query_as!(
        Row,
        r#"INSERT INTO api_keys (tenant_id, key_id, lookup, name, secret_hash, namespaces, capabilities,
             sensitivity, control, actor, created_at, expires_at)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
           RETURNING key_id, name, namespaces, capabilities AS "capabilities: Json<Rights>", sensitivity, control,
             actor AS "actor: Json<Actor>", created_at, expires_at, revoked_at"#,
        tenant.uuid(),
        KeyId::new().uuid(),
        lookup,
        key.name,
        secret_hash,
        &namespaces,
        Json(&key.capabilities) as _,
        &names(&key.sensitivity),
        key.control,
        Json(&key.actor) as _,
        now,
        key.expires_at.map(|time| time.0),
    )
    .fetch_one(&mut **tx)
    .await
    .on_constraint("api_keys_tenant", || Error::NotFound("tenant"))?
    .try_into()
}

/// The key with this public part, whatever its tenant; revoked ones are not found.
pub async fn find(tx: &mut OperatorTx, lookup: &str) -> Result<Option<KnownKey>> {
    let row = sqlx::query!(
        r#"SELECT k.tenant_id, k.secret_hash, k.epoch, t.epoch AS tenant_epoch, k.key_id, k.name, k.namespaces,
             k.capabilities AS "capabilities: Json<Rights>", k.sensitivity, k.control,
             k.actor AS "actor: Json<Actor>", k.created_at, k.expires_at, k.revoked_at
           FROM api_keys k
           JOIN tenants t ON t.tenant_id = k.tenant_id
           WHERE k.lookup = $1
             AND k.revoked_at IS NULL"#,
        lookup
    )
    .fetch_optional(&mut **tx)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let key = Row {
        key_id: row.key_id,
        name: row.name,
        namespaces: row.namespaces,
        capabilities: row.capabilities,
        sensitivity: row.sensitivity,
        control: row.control,
        actor: row.actor,
        created_at: row.created_at,
        expires_at: row.expires_at,
        revoked_at: row.revoked_at,
    };
    Ok(Some(KnownKey {
        tenant: TenantId::from_uuid(row.tenant_id),
        key: key.try_into()?,
        epochs: Epochs { tenant: row.tenant_epoch, key: row.epoch },
        secret_hash: row.secret_hash,
    }))
}

/// A tenant's keys after this one, oldest first.
pub async fn list(tx: &mut OperatorTx, tenant: TenantId, after: Uuid, limit: i64) -> Result<Vec<ApiKey>> {
    let rows = sqlx::query_as!(
        Row,
        r#"SELECT key_id, name, namespaces, capabilities AS "capabilities: Json<Rights>", sensitivity, control,
             actor AS "actor: Json<Actor>", created_at, expires_at, revoked_at
           FROM api_keys
           WHERE tenant_id = $1
             AND key_id > $2
           ORDER BY key_id
           LIMIT $3"#,
        tenant.uuid(),
        after,
        limit
    )
    .fetch_all(&mut **tx)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}

/// Revokes a key; the first time counts.
pub async fn revoke(
    tx: &mut OperatorTx,
    tenant: TenantId,
    key: KeyId,
    now: DateTime<Utc>,
) -> Result<Option<ApiKey>> {
    let row = sqlx::query_as!(
        Row,
        r#"UPDATE api_keys
           SET revoked_at = coalesce(revoked_at, $3)
           WHERE tenant_id = $1
             AND key_id = $2
           RETURNING key_id, name, namespaces, capabilities AS "capabilities: Json<Rights>", sensitivity, control,
             actor AS "actor: Json<Actor>", created_at, expires_at, revoked_at"#,
        tenant.uuid(),
        key.uuid(),
        now
    )
    .fetch_optional(&mut **tx)
    .await?;
    row.map(TryInto::try_into).transpose()
}

//! Personal tokens.

use chrono::{DateTime, Utc};
use sqlx::types::Json;
use uuid::Uuid;

use super::{names, parse};
use crate::auth::key::{KnownToken, NewToken, PersonalToken};
use crate::auth::{Actor, Rights};
use crate::db::{OnConstraint, OperatorTx};
use crate::error::{Error, Result};
use crate::id::{KeyId, TenantId};
use crate::memory::Scope;

struct Row {
    key_id: Uuid,
    name: String,
    namespace: String,
    capabilities: Json<Rights>,
    scopes: Option<Json<Vec<Scope>>>,
    sensitivity: Vec<String>,
    actor: Json<Actor>,
    created_at: DateTime<Utc>,
    expires_at: Option<DateTime<Utc>>,
    revoked_at: Option<DateTime<Utc>>,
}

impl TryFrom<Row> for PersonalToken {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self> {
        Ok(Self {
            id: KeyId::from_uuid(row.key_id),
            name: row.name,
            namespace: row.namespace.parse().map_err(|error: String| Error::internal(error))?,
            capabilities: row.capabilities.0,
            scopes: row.scopes.map(|scopes| scopes.0),
            sensitivity: parse("personal_tokens.sensitivity", row.sensitivity)?,
            actor: row.actor.0,
            created_at: row.created_at.into(),
            expires_at: row.expires_at.map(Into::into),
            revoked_at: row.revoked_at.map(Into::into),
        })
    }
}

/// Stores a token.
pub async fn insert(
    tx: &mut OperatorTx,
    tenant: TenantId,
    token: &NewToken,
    lookup: &str,
    secret_sha256: &[u8],
    now: DateTime<Utc>,
) -> Result<PersonalToken> {
    sqlx::query_as!(
        Row,
        r#"INSERT INTO personal_tokens (tenant_id, key_id, lookup, name, secret_sha256, namespace, capabilities,
             scopes, sensitivity, actor, created_at, expires_at)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
           RETURNING key_id, name, namespace, capabilities AS "capabilities: Json<Rights>",
             scopes AS "scopes: Json<Vec<Scope>>", sensitivity, actor AS "actor: Json<Actor>", created_at,
             expires_at, revoked_at"#,
        tenant.uuid(),
        KeyId::new().uuid(),
        lookup,
        token.name,
        secret_sha256,
        token.namespace.as_str(),
        Json(&token.capabilities) as _,
        token.scopes.as_ref().map(Json) as _,
        &names(&token.sensitivity),
        Json(&token.actor) as _,
        now,
        token.expires_at.map(|time| time.0),
    )
    .fetch_one(&mut **tx)
    .await
    .on_constraint("personal_tokens_tenant", || Error::NotFound("tenant"))?
    .try_into()
}

/// The token with this public part, whatever its tenant; revoked ones are not found.
pub async fn find(tx: &mut OperatorTx, lookup: &str) -> Result<Option<KnownToken>> {
    let row = sqlx::query!(
        r#"SELECT p.tenant_id, p.secret_sha256, t.epoch AS tenant_epoch, p.key_id, p.name, p.namespace,
             p.capabilities AS "capabilities: Json<Rights>", p.scopes AS "scopes: Json<Vec<Scope>>", p.sensitivity,
             p.actor AS "actor: Json<Actor>", p.created_at, p.expires_at, p.revoked_at
           FROM personal_tokens p
           JOIN tenants t ON t.tenant_id = p.tenant_id
           WHERE p.lookup = $1
             AND p.revoked_at IS NULL"#,
        lookup
    )
    .fetch_optional(&mut **tx)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let token = Row {
        key_id: row.key_id,
        name: row.name,
        namespace: row.namespace,
        capabilities: row.capabilities,
        scopes: row.scopes,
        sensitivity: row.sensitivity,
        actor: row.actor,
        created_at: row.created_at,
        expires_at: row.expires_at,
        revoked_at: row.revoked_at,
    };
    Ok(Some(KnownToken {
        tenant: TenantId::from_uuid(row.tenant_id),
        token: token.try_into()?,
        tenant_epoch: row.tenant_epoch,
        secret_sha256: row.secret_sha256,
    }))
}

/// A tenant's tokens after this one, oldest first.
pub async fn list(
    tx: &mut OperatorTx,
    tenant: TenantId,
    after: Uuid,
    limit: i64,
) -> Result<Vec<PersonalToken>> {
    let rows = sqlx::query_as!(
        Row,
        r#"SELECT key_id, name, namespace, capabilities AS "capabilities: Json<Rights>",
             scopes AS "scopes: Json<Vec<Scope>>", sensitivity, actor AS "actor: Json<Actor>", created_at,
             expires_at, revoked_at
           FROM personal_tokens
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

/// Revokes a token; the first time counts.
pub async fn revoke(
    tx: &mut OperatorTx,
    tenant: TenantId,
    token: KeyId,
    now: DateTime<Utc>,
) -> Result<Option<PersonalToken>> {
    let row = sqlx::query_as!(
        Row,
        r#"UPDATE personal_tokens
           SET revoked_at = coalesce(revoked_at, $3)
           WHERE tenant_id = $1
             AND key_id = $2
           RETURNING key_id, name, namespace, capabilities AS "capabilities: Json<Rights>",
             scopes AS "scopes: Json<Vec<Scope>>", sensitivity, actor AS "actor: Json<Actor>", created_at,
             expires_at, revoked_at"#,
        tenant.uuid(),
        token.uuid(),
        now
    )
    .fetch_optional(&mut **tx)
    .await?;
    row.map(TryInto::try_into).transpose()
}

/// Revokes all tokens of a tenant.
pub async fn revoke_all(tx: &mut OperatorTx, tenant: TenantId, now: DateTime<Utc>) -> Result<()> {
    sqlx::query!(
        "UPDATE personal_tokens
         SET revoked_at = $2
         WHERE tenant_id = $1
           AND revoked_at IS NULL",
        tenant.uuid(),
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

//! The SQL of tenants.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use sqlx::AssertSqlSafe;
use sqlx::types::Json;
use uuid::Uuid;

use super::{Limits, NewTenant, Tenant, TenantChange, TenantStatus};
use crate::db::{self, OnConstraint, OperatorTx};
use crate::error::{Error, Result};
use crate::id::TenantId;

/// The tables that hold what a tenant has, in an order in which they can be emptied. Only `tenants` and `audit_log` are
/// not in it, which keep a row that says what happened. `tests/it/admin/erase.rs` finds a table that is missing.
const ERASED: &[&str] = &[
    "source_memories",
    "sources",
    "memory_versions",
    "memory_vectors",
    "memory_terms",
    "memories",
    "suppressions",
    "candidates",
    "session_entries",
    "cognitive_sessions",
    "event_heads",
    "namespace_counts",
    "namespaces",
    "events",
    "idempotency_keys",
    "working_memory_configs",
    "personal_tokens",
    "api_keys",
    "revocations",
];

struct Row {
    tenant_id: Uuid,
    slug: String,
    name: String,
    status: String,
    limits: Json<Limits>,
    settings: Json<Map<String, Value>>,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
}

impl TryFrom<Row> for Tenant {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self> {
        Ok(Self {
            id: TenantId::from_uuid(row.tenant_id),
            slug: row.slug,
            name: row.name,
            status: row.status.parse().map_err(|error: String| Error::internal(error))?,
            limits: row.limits.0,
            settings: row.settings.0,
            created_at: row.created_at.into(),
            updated_at: row.updated_at.into(),
        })
    }
}

/// The model that a deployment without an embedder is prepared for.
pub async fn first_model(tx: &mut OperatorTx) -> Result<i16> {
    Ok(sqlx::query_scalar!("SELECT min(model) AS \"model!\" FROM models").fetch_one(&mut **tx).await?)
}

/// Stores a tenant.
pub async fn insert(
    tx: &mut OperatorTx,
    new: &NewTenant,
    limits: Limits,
    model: i16,
    now: DateTime<Utc>,
) -> Result<Tenant> {
    sqlx::query_as!(
        Row,
        r#"INSERT INTO tenants (tenant_id, slug, name, status, limits, settings, model, created_at, updated_at)
           VALUES ($1, $2, $3, 'active', $4, $5, $6, $7, $7)
           RETURNING tenant_id, slug, name, status, limits AS "limits: Json<Limits>",
             settings AS "settings: Json<Map<String, Value>>", created_at, updated_at"#,
        TenantId::new().uuid(),
        new.slug,
        new.name,
        Json(limits) as _,
        Json(&new.settings) as _,
        model,
        now
    )
    .fetch_one(&mut **tx)
    .await
    .on_constraint("tenants_slug", || Error::Conflict("a tenant with this slug exists".into()))?
    .try_into()
}

/// A tenant, which stays until the transaction ends; erased ones are not found.
pub async fn find(tx: &mut OperatorTx, id: TenantId) -> Result<Option<Tenant>> {
    let row = sqlx::query_as!(
        Row,
        r#"SELECT tenant_id, slug, name, status, limits AS "limits: Json<Limits>",
             settings AS "settings: Json<Map<String, Value>>", created_at, updated_at
           FROM tenants
           WHERE tenant_id = $1
             AND status <> 'deleted'
           FOR KEY SHARE"#,
        id.uuid()
    )
    .fetch_optional(&mut **tx)
    .await?;
    row.map(TryInto::try_into).transpose()
}

/// The tenant with this short name.
pub async fn find_by_slug(tx: &mut OperatorTx, slug: &str) -> Result<Option<Tenant>> {
    let row = sqlx::query_as!(
        Row,
        r#"SELECT tenant_id, slug, name, status, limits AS "limits: Json<Limits>",
             settings AS "settings: Json<Map<String, Value>>", created_at, updated_at
           FROM tenants
           WHERE slug = $1
             AND status <> 'deleted'"#,
        slug
    )
    .fetch_optional(&mut **tx)
    .await?;
    row.map(TryInto::try_into).transpose()
}

/// The tenants after this one, oldest first.
pub async fn list(tx: &mut OperatorTx, after: Uuid, limit: i64) -> Result<Vec<Tenant>> {
    let rows = sqlx::query_as!(
        Row,
        r#"SELECT tenant_id, slug, name, status, limits AS "limits: Json<Limits>",
             settings AS "settings: Json<Map<String, Value>>", created_at, updated_at
           FROM tenants
           WHERE tenant_id > $1
             AND status <> 'deleted'
           ORDER BY tenant_id
           LIMIT $2"#,
        after,
        limit
    )
    .fetch_all(&mut **tx)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}

/// Changes what is given of a tenant.
pub async fn update(
    tx: &mut OperatorTx,
    id: TenantId,
    change: &TenantChange,
    now: DateTime<Utc>,
) -> Result<Option<Tenant>> {
    let row = sqlx::query_as!(
        Row,
        r#"UPDATE tenants
           SET name = coalesce($2, name),
             status = coalesce($3, status),
             limits = coalesce($4, limits),
             settings = coalesce($5, settings),
             updated_at = $6
           WHERE tenant_id = $1
             AND status <> 'deleted'
           RETURNING tenant_id, slug, name, status, limits AS "limits: Json<Limits>",
             settings AS "settings: Json<Map<String, Value>>", created_at, updated_at"#,
        id.uuid(),
        change.name,
        change.status.map(TenantStatus::as_str),
        change.limits.map(Json) as _,
        change.settings.as_ref().map(Json) as _,
        now
    )
    .fetch_optional(&mut **tx)
    .await?;
    row.map(TryInto::try_into).transpose()
}

/// Ends every capability made so far.
pub async fn raise_epoch(tx: &mut OperatorTx, id: TenantId, now: DateTime<Utc>) -> Result<Option<Tenant>> {
    let row = sqlx::query_as!(
        Row,
        r#"UPDATE tenants
           SET epoch = epoch + 1,
             updated_at = $2
           WHERE tenant_id = $1
             AND status <> 'deleted'
           RETURNING tenant_id, slug, name, status, limits AS "limits: Json<Limits>",
             settings AS "settings: Json<Map<String, Value>>", created_at, updated_at"#,
        id.uuid(),
        now
    )
    .fetch_optional(&mut **tx)
    .await?;
    row.map(TryInto::try_into).transpose()
}

/// A tenant in which nobody else can write until this transaction ends: writes need its namespaces.
pub async fn lock(tx: &mut OperatorTx, id: TenantId) -> Result<Option<Tenant>> {
    // Erasing much takes longer than a request may.
    sqlx::query!("SELECT set_config('statement_timeout', '0', true)").fetch_one(&mut **tx).await?;
    let row = sqlx::query_as!(
        Row,
        r#"SELECT tenant_id, slug, name, status, limits AS "limits: Json<Limits>",
             settings AS "settings: Json<Map<String, Value>>", created_at, updated_at
           FROM tenants
           WHERE tenant_id = $1
             AND status <> 'deleted'
           FOR UPDATE"#,
        id.uuid()
    )
    .fetch_optional(&mut **tx)
    .await?;
    sqlx::query!("SELECT ns FROM namespaces WHERE tenant_id = $1 FOR UPDATE", id.uuid())
        .fetch_all(&mut **tx)
        .await?;
    row.map(TryInto::try_into).transpose()
}

/// Erases everything a tenant has, but for the word in the audit log that it was erased. Gives how many rows.
pub async fn erase(tx: &mut OperatorTx, id: TenantId) -> Result<u64> {
    let mut rows = 0;
    for table in ERASED {
        // The names are those above, so that nothing of a caller's stands in this text.
        let sql = AssertSqlSafe(format!("DELETE FROM {table} WHERE tenant_id = $1"));
        rows += sqlx::query(sql).bind(id.uuid()).execute(&mut **tx).await?.rows_affected();
    }
    let done = sqlx::query!(
        "DELETE FROM audit_log WHERE tenant_id = $1 AND action <> $2",
        id.uuid(),
        super::DELETED
    )
    .execute(&mut **tx)
    .await?;
    Ok(rows + done.rows_affected())
}

/// The tenants that were erased after this time.
pub async fn erased_since(tx: &mut OperatorTx, since: DateTime<Utc>) -> Result<Vec<TenantId>> {
    let ids = sqlx::query_scalar!(
        "SELECT tenant_id FROM tenants WHERE status = 'deleted' AND updated_at > $1",
        since
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(ids.into_iter().map(TenantId::from_uuid).collect())
}

/// Leaves nothing of a tenant but its id.
pub async fn mark_deleted(tx: &mut OperatorTx, id: TenantId, now: DateTime<Utc>) -> Result<()> {
    sqlx::query!(
        "UPDATE tenants
         SET status = 'deleted', slug = '', name = '', limits = '{}', settings = '{}', updated_at = $2
         WHERE tenant_id = $1",
        id.uuid(),
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Tells every node, at commit, that a tenant changed.
pub async fn notify(tx: &mut OperatorTx) -> Result<()> {
    db::notify(tx, crate::auth::CHANNEL).await
}

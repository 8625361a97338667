//! The SQL of working-memory settings.

use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::types::Json;

use super::settings::WorkingMemoryConfig;
use crate::db::{OperatorTx, TenantTx};
use crate::error::Result;
use crate::id::TenantId;

/// The channel on which nodes tell each other that settings changed.
pub const CHANNEL: &str = "memtide_working";

/// What a tenant has set, if anything.
pub async fn find(tx: &mut TenantTx) -> Result<Option<Value>> {
    let config =
        sqlx::query_scalar!("SELECT config FROM working_memory_configs WHERE tenant_id = $1", tx.tenant())
            .fetch_optional(&mut **tx)
            .await?;
    Ok(config)
}

/// Sets everything, and tells every node at commit.
pub async fn replace(tx: &mut TenantTx, config: &WorkingMemoryConfig, now: DateTime<Utc>) -> Result<()> {
    sqlx::query!(
        "INSERT INTO working_memory_configs (tenant_id, config, updated_at)
         VALUES ($1, $2, $3)
         ON CONFLICT ON CONSTRAINT working_memory_configs_pkey
         DO UPDATE SET config = excluded.config, updated_at = excluded.updated_at",
        tx.tenant(),
        Json(config) as _,
        now
    )
    .execute(&mut **tx)
    .await?;
    sqlx::query!("SELECT pg_notify($1, '')", CHANNEL).execute(&mut **tx).await?;
    Ok(())
}

/// The tenants that want items consolidated by themselves.
pub async fn consolidating(tx: &mut OperatorTx) -> Result<Vec<TenantId>> {
    let ids = sqlx::query_scalar!(
        "SELECT c.tenant_id
         FROM working_memory_configs c
         JOIN tenants t ON t.tenant_id = c.tenant_id
         WHERE c.config -> 'engine' -> 'consolidate_after_seconds' <> 'null'
           AND t.status = 'active'"
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(ids.into_iter().map(TenantId::from_uuid).collect())
}

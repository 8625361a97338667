//! SQL of limits.

use chrono::{DateTime, Utc};
use sqlx::types::Json;

use crate::db::OperatorTx;
use crate::error::Result;
use crate::id::TenantId;
use crate::tenant::Limits;

/// A tenant that was made or changed.
#[derive(Debug, Clone, Copy)]
pub struct Changed {
    /// The tenant.
    pub tenant: TenantId,
    /// What it may use now.
    pub limits: Limits,
    /// Whether it was erased.
    pub is_gone: bool,
    /// When it changed.
    pub at: DateTime<Utc>,
}

/// The tenants that changed since then, or all. A minute is read again: clocks of nodes differ, and a transaction that
/// began earlier may end later.
pub async fn changed(tx: &mut OperatorTx, since: Option<DateTime<Utc>>) -> Result<Vec<Changed>> {
    let rows = sqlx::query!(
        r#"SELECT tenant_id, limits AS "limits: Json<Limits>", status = 'deleted' AS "is_gone!", updated_at
         FROM tenants
         WHERE $1::timestamptz IS NULL OR updated_at > $1 - interval '1 minute'"#,
        since
    )
    .fetch_all(&mut **tx)
    .await?;
    let mut changed = Vec::with_capacity(rows.len());
    for row in rows {
        let (tenant, limits) = (TenantId::from_uuid(row.tenant_id), row.limits.0);
        changed.push(Changed { tenant, limits, is_gone: row.is_gone, at: row.updated_at });
    }
    Ok(changed)
}

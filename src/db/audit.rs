//! The audit log: who did what to which thing, and never a word of what it says.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{OperatorTx, TenantTx};
use crate::auth::{OperatorPermit, Permit};
use crate::error::Result;
use crate::id::{EventId, TenantId};

impl OperatorTx {
    /// Notes what an operator does, with the effect; without a tenant when it concerns the deployment.
    pub async fn audit(
        &mut self,
        permit: &OperatorPermit,
        tenant: Option<TenantId>,
        action: &str,
        target: &str,
        at: DateTime<Utc>,
    ) -> Result<()> {
        sqlx::query!(
            "INSERT INTO audit_log (tenant_id, audit_id, at, actor, action, target)
             VALUES ($1, $2, $3, $4, $5, $6)",
            tenant.map_or(Uuid::nil(), TenantId::uuid),
            EventId::new().uuid(),
            at,
            permit.actor(),
            action,
            target
        )
        .execute(&mut **self)
        .await?;
        Ok(())
    }
}

impl TenantTx {
    /// Notes what a caller does, with the effect.
    pub async fn audit(
        &mut self,
        permit: &Permit,
        action: &str,
        target: &str,
        at: DateTime<Utc>,
    ) -> Result<()> {
        sqlx::query!(
            "INSERT INTO audit_log (tenant_id, audit_id, at, actor, action, target)
             VALUES ($1, $2, $3, $4, $5, $6)",
            self.tenant(),
            EventId::new().uuid(),
            at,
            permit.key().to_string(),
            action,
            target
        )
        .execute(&mut **self)
        .await?;
        Ok(())
    }
}

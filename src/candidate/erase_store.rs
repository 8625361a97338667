//! SQL of erasing candidates.

use uuid::Uuid;

use crate::db::TenantTx;
use crate::error::Result;
use crate::id::{CandidateId, MemoryId};
use crate::memory::{Scope, ScopeKind, Sensitivity};

/// Removes the candidates that became these records or were merged into them. Gives their ids.
pub async fn erase_of(tx: &mut TenantTx, memories: &[MemoryId]) -> Result<Vec<CandidateId>> {
    let memories: Vec<Uuid> = memories.iter().map(|id| id.uuid()).collect();
    let ids = sqlx::query_scalar!(
        "DELETE FROM candidates
         WHERE tenant_id = $1 AND ns = $2 AND memory_id = ANY($3)
         RETURNING candidate_id",
        tx.tenant(),
        tx.ns(),
        &memories,
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(ids.into_iter().map(CandidateId::from_uuid).collect())
}

/// Removes the candidates of a scope with these sensitivities. Gives their ids.
pub async fn erase_scope(
    tx: &mut TenantTx,
    scope: &Scope,
    sensitivities: &[Sensitivity],
) -> Result<Vec<CandidateId>> {
    let ids = sqlx::query_scalar!(
        "DELETE FROM candidates
         WHERE tenant_id = $1 AND ns = $2 AND scope_kind = $3 AND scope_key = $4 AND sensitivity = ANY($5)
         RETURNING candidate_id",
        tx.tenant(),
        tx.ns(),
        scope.kind as ScopeKind,
        scope.key,
        sensitivities as &[Sensitivity],
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(ids.into_iter().map(CandidateId::from_uuid).collect())
}

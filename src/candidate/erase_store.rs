//! SQL of erasing candidates.

use uuid::Uuid;

use crate::db::{OperatorTx, TenantTx, columns};
use crate::error::Result;
use crate::id::{CandidateId, MemoryId, TenantId};
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

/// Removes the candidates of records of many tenants, those that proposed the same, and what was told of them.
pub async fn purge_of(tx: &mut OperatorTx, memories: &[(TenantId, i32, MemoryId)]) -> Result<()> {
    let (tenants, namespaces, ids) = columns(memories);
    sqlx::query!(
        "WITH gone AS (
           SELECT * FROM unnest($1::uuid[], $2::int4[], $3::uuid[]) AS gone(tenant_id, ns, memory_id)
         ), facts AS (
           SELECT DISTINCT c.tenant_id, c.ns, c.fingerprint
           FROM candidates c
           JOIN gone g ON c.tenant_id = g.tenant_id AND c.ns = g.ns AND c.memory_id = g.memory_id
         ), erased AS (
           DELETE FROM candidates c
           USING facts f
           WHERE c.tenant_id = f.tenant_id AND c.ns = f.ns AND c.fingerprint = f.fingerprint
             AND (c.memory_id IS NULL OR EXISTS (
               SELECT FROM gone g WHERE g.tenant_id = c.tenant_id AND g.ns = c.ns AND g.memory_id = c.memory_id
             ))
             AND c.status NOT IN ('pending', 'pending_silent', 'ask_on_use', 'needs_review')
           RETURNING c.tenant_id, c.ns, c.candidate_id
         )
         UPDATE events e
         SET candidate = NULL
         FROM erased
         WHERE e.tenant_id = erased.tenant_id AND e.ns = erased.ns AND e.candidate_id = erased.candidate_id",
        &tenants,
        &namespaces,
        &ids,
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
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

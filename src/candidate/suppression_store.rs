//! SQL of what is not to be suggested again (XC-31).

use chrono::{DateTime, Utc};
use pgvector::HalfVector;
use uuid::Uuid;

use super::Stored;
use crate::db::TenantTx;
use crate::embed::Embedding;
use crate::error::Result;
use crate::id::{CandidateId, EventId};
use crate::memory::{Category, Scope, ScopeKind};

/// How many suppressions of a scope and category a text is compared with: the closest.
const MAX_SIMILAR: i64 = 20;

/// Notes that this is not to be suggested again, nor what is like it. Tells whether that is new.
pub async fn insert(
    tx: &mut TenantTx,
    candidate: &Stored,
    embedding: Option<&Embedding>,
    now: DateTime<Utc>,
) -> Result<bool> {
    let model = embedding.map(|_| tx.model());
    let vector = embedding.map(|embedding| HalfVector::from_f32_slice(embedding.as_slice()));
    let done = sqlx::query!(
        "INSERT INTO suppressions (
           tenant_id, ns, suppression_id, fingerprint, scope_kind, scope_key, category, content, candidate_id,
           created_at, model, embedding
         )
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
         ON CONFLICT ON CONSTRAINT suppressions_fingerprint DO NOTHING",
        tx.tenant(),
        tx.ns(),
        EventId::new().uuid(),
        candidate.fingerprint.as_slice(),
        candidate.scope.kind as ScopeKind,
        candidate.scope.key,
        candidate.category as Category,
        candidate.text,
        candidate.id.uuid(),
        now,
        model,
        vector as Option<HalfVector>,
    )
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// What was suppressed in a scope and category, if it has this fingerprint or is as close as `close`: whether it is
/// the same, and its text.
pub async fn find_close(
    tx: &mut TenantTx,
    scope: &Scope,
    category: Category,
    fingerprint: &[u8; 32],
    embedding: Option<&Embedding>,
    close: f64,
) -> Result<Vec<(bool, String)>> {
    let vector = embedding.map(|embedding| HalfVector::from_f32_slice(embedding.as_slice()));
    let rows = sqlx::query!(
        "SELECT fingerprint = $6 AS \"is_same!\", content
         FROM suppressions
         WHERE tenant_id = $1
           AND ns = $2
           AND scope_kind = $3
           AND scope_key = $4
           AND category = $5
           AND (
             fingerprint = $6
             OR CASE WHEN model = $7 AND $8::halfvec IS NOT NULL THEN 1 - (embedding <=> $8) ELSE 0 END >= $9
           )
         ORDER BY fingerprint <> $6, embedding <=> $8
         LIMIT $10",
        tx.tenant(),
        tx.ns(),
        scope.kind as ScopeKind,
        scope.key,
        category as Category,
        fingerprint.as_slice(),
        tx.model(),
        vector as Option<HalfVector>,
        close,
        MAX_SIMILAR,
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(rows.into_iter().map(|row| (row.is_same, row.content)).collect())
}

/// Removes what is suppressed because of these candidates.
pub async fn erase(tx: &mut TenantTx, candidates: &[CandidateId]) -> Result<()> {
    let candidates: Vec<Uuid> = candidates.iter().map(|id| id.uuid()).collect();
    sqlx::query!(
        "DELETE FROM suppressions WHERE tenant_id = $1 AND ns = $2 AND candidate_id = ANY($3)",
        tx.tenant(),
        tx.ns(),
        &candidates,
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

//! SQL of candidates.

use chrono::{DateTime, Utc};
use sqlx::types::Json;
use uuid::Uuid;

use super::policy::CandidatePolicy;
use super::{CandidateStatus, Detail, Stored};
use crate::auth::{Actor, Namespace};
use crate::db::TenantTx;
use crate::error::{Error, Result};
use crate::id::{CandidateId, MemoryId};
use crate::memory::filter::Filter;
use crate::memory::{Category, Scope, ScopeKind, Sensitivity};

struct Row {
    candidate_id: Uuid,
    fingerprint: Vec<u8>,
    scope_kind: ScopeKind,
    scope_key: String,
    category: Category,
    key: String,
    candidate_text: String,
    status: CandidateStatus,
    sensitivity: Sensitivity,
    confidence: f64,
    reason: String,
    repeats: i64,
    created_at: DateTime<Utc>,
    expires_at: DateTime<Utc>,
    decided_at: Option<DateTime<Utc>>,
    decision_reason: Option<String>,
    decided_by: Option<Json<Actor>>,
    memory_id: Option<Uuid>,
    detail: Json<Detail>,
}

impl Row {
    fn into_stored(self, namespace: &Namespace) -> Result<Stored> {
        let fingerprint = self.fingerprint.try_into();
        Ok(Stored {
            id: CandidateId::from_uuid(self.candidate_id),
            fingerprint: fingerprint
                .map_err(|_| Error::internal("candidates.fingerprint is not 32 bytes"))?,
            scope: Scope { kind: self.scope_kind, key: self.scope_key },
            namespace: namespace.clone(),
            category: self.category,
            key: self.key,
            text: self.candidate_text,
            status: self.status,
            sensitivity: self.sensitivity,
            confidence: self.confidence,
            reason: self.reason,
            repeats: self.repeats,
            created_at: self.created_at.into(),
            expires_at: self.expires_at.into(),
            decided_at: self.decided_at.map(Into::into),
            decision_reason: self.decision_reason,
            decided_by: self.decided_by.map(|actor| actor.0),
            memory_id: self.memory_id.map(MemoryId::from_uuid),
            detail: self.detail.0,
        })
    }
}

/// The tenant's policy, or the default one; absent when what is set cannot be read.
pub async fn policy(tx: &mut TenantTx) -> Result<Option<CandidatePolicy>> {
    let set = sqlx::query_scalar!(
        "SELECT settings -> 'candidate_policy' FROM tenants WHERE tenant_id = $1",
        tx.tenant()
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(match set.flatten() {
        Some(set) => serde_json::from_value(set).ok(),
        None => Some(CandidatePolicy::default()),
    })
}

/// Lets nobody else write or decide about these keys, each in its scope, until the transaction ends.
pub async fn lock_keys(tx: &mut TenantTx, keys: &[(&Scope, &str)]) -> Result<()> {
    let name = |(scope, key): &(&Scope, &str)| format!("fact:{}:{}:{scope}:{key}", tx.tenant(), tx.ns());
    let mut names: Vec<String> = keys.iter().map(name).collect();
    names.sort();
    names.dedup();
    sqlx::query!(
        "SELECT pg_advisory_xact_lock(hashtextextended(name, 0)) FROM unnest($1::text[]) AS name",
        &names
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(())
}

/// The candidates of these ids, in no order.
pub async fn find_many(tx: &mut TenantTx, ids: &[CandidateId]) -> Result<Vec<Stored>> {
    let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
    let rows = sqlx::query_as!(
        Row,
        "SELECT candidate_id, fingerprint, scope_kind AS \"scope_kind: ScopeKind\", scope_key,
           category AS \"category: Category\", key, candidate_text, status AS \"status: CandidateStatus\",
           sensitivity AS \"sensitivity: Sensitivity\", confidence, reason, repeats, created_at, expires_at, decided_at,
           decision_reason, decided_by AS \"decided_by: Json<Actor>\", memory_id, detail AS \"detail: Json<Detail>\"
         FROM candidates
         WHERE tenant_id = $1 AND ns = $2 AND candidate_id = ANY($3)",
        tx.tenant(),
        tx.ns(),
        &ids,
    )
    .fetch_all(&mut **tx)
    .await?;
    let namespace = tx.namespace().clone();
    rows.into_iter().map(|row| row.into_stored(&namespace)).collect()
}

/// Candidates, kept from changing until the transaction ends. Locked in the order of their ids, by everybody.
pub async fn lock_many(tx: &mut TenantTx, ids: &[CandidateId]) -> Result<Vec<Stored>> {
    let uuids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
    sqlx::query!(
        "SELECT candidate_id
         FROM candidates
         WHERE tenant_id = $1 AND ns = $2 AND candidate_id = ANY($3)
         ORDER BY candidate_id
         FOR UPDATE",
        tx.tenant(),
        tx.ns(),
        &uuids,
    )
    .fetch_all(&mut **tx)
    .await?;
    find_many(tx, ids).await
}

/// The candidates that are the same proposal and have a say in what becomes of it, newest first, kept from changing.
/// However often it was approved and gave its place to another, those that wait or were rejected are among them.
pub async fn lock_same(tx: &mut TenantTx, fingerprint: &[u8; 32]) -> Result<Vec<Stored>> {
    let ids = sqlx::query_scalar!(
        "SELECT candidate_id
         FROM candidates
         WHERE tenant_id = $1
           AND ns = $2
           AND candidate_id IN (
             SELECT candidate_id
             FROM candidates
             WHERE tenant_id = $1
               AND ns = $2
               AND fingerprint = $3
               AND status NOT IN ('approved', 'merged_duplicate', 'superseded', 'expired')
             ORDER BY candidate_id DESC
             LIMIT 100
           )
         ORDER BY candidate_id
         FOR UPDATE",
        tx.tenant(),
        tx.ns(),
        fingerprint.as_slice(),
    )
    .fetch_all(&mut **tx)
    .await?;
    let ids: Vec<CandidateId> = ids.into_iter().map(CandidateId::from_uuid).collect();
    let mut same = find_many(tx, &ids).await?;
    same.sort_by_key(|stored| std::cmp::Reverse(stored.id));
    Ok(same)
}

/// The ids of a page, newest first.
pub async fn list_ids(
    tx: &mut TenantTx,
    filter: &Filter,
    statuses: Option<&[CandidateStatus]>,
    before: Option<CandidateId>,
    limit: usize,
    now: DateTime<Utc>,
) -> Result<Vec<CandidateId>> {
    let (scope_kinds, scope_keys) = filter.scope_columns();
    let ids = sqlx::query_scalar!(
        "SELECT candidate_id
         FROM candidates
         WHERE tenant_id = $1
           AND ns = $2
           AND (
             $3::text[] IS NULL
             OR status = ANY($3)
               AND (status NOT IN ('pending', 'pending_silent', 'ask_on_use', 'needs_review') OR expires_at > $8)
             OR 'expired' = ANY($3)
               AND status IN ('pending', 'pending_silent', 'ask_on_use', 'needs_review')
               AND expires_at <= $8
           )
           AND sensitivity = ANY($4)
           AND ($5::text[] IS NULL OR category = ANY($5))
           AND ($6::text[] IS NULL OR (scope_kind, scope_key) IN (SELECT * FROM unnest($6, $7::text[])))
           AND ($9::uuid IS NULL OR candidate_id < $9)
         ORDER BY candidate_id DESC
         LIMIT $10",
        tx.tenant(),
        tx.ns(),
        statuses as Option<&[CandidateStatus]>,
        &filter.sensitivities as &[Sensitivity],
        filter.categories.as_deref() as Option<&[Category]>,
        scope_kinds.as_deref() as Option<&[ScopeKind]>,
        scope_keys.as_deref(),
        now,
        before.map(CandidateId::uuid),
        i64::try_from(limit).unwrap_or(i64::MAX),
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(ids.into_iter().map(CandidateId::from_uuid).collect())
}

/// Stores a candidate.
pub async fn insert(tx: &mut TenantTx, new: &Stored) -> Result<()> {
    sqlx::query!(
        "INSERT INTO candidates (
           tenant_id, ns, candidate_id, fingerprint, scope_kind, scope_key, category, key, candidate_text, status,
           sensitivity, confidence, reason, repeats, created_at, expires_at, decided_at, decision_reason, decided_by,
           memory_id, detail
         )
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)",
        tx.tenant(),
        tx.ns(),
        new.id.uuid(),
        new.fingerprint.as_slice(),
        new.scope.kind as ScopeKind,
        new.scope.key,
        new.category as Category,
        new.key,
        new.text,
        new.status as CandidateStatus,
        new.sensitivity as Sensitivity,
        new.confidence,
        new.reason,
        new.repeats,
        new.created_at.0,
        new.expires_at.0,
        new.decided_at.map(|at| at.0),
        new.decision_reason,
        new.decided_by.as_ref().map(Json) as _,
        new.memory_id.map(MemoryId::uuid),
        Json(&new.detail) as _,
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Writes all of a candidate but whose it is, what sort of thing it says and when it was proposed.
pub async fn update(tx: &mut TenantTx, changed: &Stored) -> Result<()> {
    sqlx::query!(
        "UPDATE candidates
         SET fingerprint = $4, key = $5, candidate_text = $6, status = $7, repeats = $8, decided_at = $9,
           decision_reason = $10, decided_by = $11, memory_id = $12, detail = $13, sensitivity = $14, confidence = $15,
           reason = $16, expires_at = $17
         WHERE tenant_id = $1 AND ns = $2 AND candidate_id = $3",
        tx.tenant(),
        tx.ns(),
        changed.id.uuid(),
        changed.fingerprint.as_slice(),
        changed.key,
        changed.text,
        changed.status as CandidateStatus,
        changed.repeats,
        changed.decided_at.map(|at| at.0),
        changed.decision_reason,
        changed.decided_by.as_ref().map(Json) as _,
        changed.memory_id.map(MemoryId::uuid),
        Json(&changed.detail) as _,
        changed.sensitivity as Sensitivity,
        changed.confidence,
        changed.reason,
        changed.expires_at.0,
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Marks the candidate that became a record which has given its place to another.
pub async fn supersede(tx: &mut TenantTx, memory: MemoryId) -> Result<()> {
    sqlx::query!(
        "UPDATE candidates
         SET status = 'superseded'
         WHERE tenant_id = $1 AND ns = $2 AND memory_id = $3 AND status = 'approved'",
        tx.tenant(),
        tx.ns(),
        memory.uuid(),
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

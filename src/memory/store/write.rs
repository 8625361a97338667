//! Making and changing rows.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use pgvector::HalfVector;
use uuid::Uuid;

use crate::db::{OnConstraint, TenantTx};
use crate::embed::Embedding;
use crate::error::{Error, Result};
use crate::id::{EventId, MemoryId};
use crate::memory::draft::Draft;
use crate::memory::key::Identity;
use crate::memory::retire::End;
use crate::memory::terms::{TERMS_VERSION, Terms};
use crate::memory::{Category, Record, ScopeKind, Sensitivity, SourceContextKind, Status};

/// Inserts records with their vectors and terms, all in one statement. Gives the ids of those that are new; the
/// others met an active record of the same identity, and nothing of them was stored.
pub async fn insert(tx: &mut TenantTx, drafts: &[Draft]) -> Result<HashSet<MemoryId>> {
    let rows = Rows::of(drafts)?;
    let new = sqlx::query_scalar!(
        "WITH new AS (
           INSERT INTO memories (
             tenant_id, ns, memory_id, identity, scope_kind, scope_key, category, key, content, status, sensitivity,
             confidence, importance, provenance, source_context_kind, thread_id, seq, speaker, observed_at, metadata,
             version, created_at, updated_at, expires_at, terms_version
           )
           SELECT $1, $2, r.memory_id, r.identity, r.scope_kind, r.scope_key, r.category, r.key, r.content, 'active',
             r.sensitivity, r.confidence, r.importance, r.provenance, r.source_context_kind, r.thread_id, r.seq,
             r.speaker, r.observed_at, r.metadata, 1, r.created_at, r.created_at, r.expires_at, $29
           FROM unnest(
             $3::uuid[], $4::bytea[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[],
             $11::float8[], $12::float8[], $13::jsonb[], $14::text[], $15::text[], $16::int8[], $17::text[],
             $18::timestamptz[], $19::jsonb[], $20::timestamptz[], $21::timestamptz[]
           ) AS r(
             memory_id, identity, scope_kind, scope_key, category, key, content, sensitivity, confidence, importance,
             provenance, source_context_kind, thread_id, seq, speaker, observed_at, metadata, created_at, expires_at
           )
           ON CONFLICT (tenant_id, ns, identity) WHERE status = 'active' DO NOTHING
           RETURNING memory_id
         ), vectors AS (
           INSERT INTO memory_vectors (tenant_id, ns, model, memory_id, indexed, embedding)
           SELECT $1, $2, $22, memory_id,
             coalesce((SELECT vectors <> 'exact' FROM namespaces WHERE tenant_id = $1 AND ns = $2), false), embedding
           FROM unnest($23::uuid[], $24::halfvec[]) AS r(memory_id, embedding)
           JOIN new USING (memory_id)
         ), terms AS (
           INSERT INTO memory_terms (tenant_id, ns, term, memory_id, occurrences, record_terms)
           SELECT $1, $2, term, memory_id, occurrences, record_terms
           FROM unnest($25::text[], $26::uuid[], $27::int2[], $28::int4[])
             AS r(term, memory_id, occurrences, record_terms)
           JOIN new USING (memory_id)
         )
         SELECT memory_id FROM new",
        tx.tenant(),
        tx.ns(),
        &rows.memory_id,
        &rows.identity,
        &rows.scope_kind as &[ScopeKind],
        &rows.scope_key,
        &rows.category as &[Category],
        &rows.key as &[Option<String>],
        &rows.content,
        &rows.sensitivity as &[Sensitivity],
        &rows.confidence,
        &rows.importance,
        &rows.provenance,
        &rows.source_context_kind as &[Option<SourceContextKind>],
        &rows.thread_id as &[Option<String>],
        &rows.seq as &[Option<i64>],
        &rows.speaker as &[Option<String>],
        &rows.observed_at,
        &rows.metadata as &[Option<serde_json::Value>],
        &rows.created_at,
        &rows.expires_at as &[Option<DateTime<Utc>>],
        tx.model(),
        &rows.vector_of,
        &rows.vector as &[HalfVector],
        &rows.term,
        &rows.term_of,
        &rows.occurrences,
        &rows.record_terms,
        TERMS_VERSION,
    )
    .fetch_all(&mut **tx)
    .await
    // It was there when the transaction began: only the end of a tenant takes a namespace away.
    .on_constraint("memories_namespace", || Error::NotFound("tenant"))?;
    Ok(new.into_iter().map(MemoryId::from_uuid).collect())
}

/// The columns of many records.
#[derive(Default)]
struct Rows {
    memory_id: Vec<Uuid>,
    identity: Vec<Vec<u8>>,
    scope_kind: Vec<ScopeKind>,
    scope_key: Vec<String>,
    category: Vec<Category>,
    key: Vec<Option<String>>,
    content: Vec<String>,
    sensitivity: Vec<Sensitivity>,
    confidence: Vec<f64>,
    importance: Vec<f64>,
    provenance: Vec<serde_json::Value>,
    source_context_kind: Vec<Option<SourceContextKind>>,
    thread_id: Vec<Option<String>>,
    seq: Vec<Option<i64>>,
    speaker: Vec<Option<String>>,
    observed_at: Vec<DateTime<Utc>>,
    metadata: Vec<Option<serde_json::Value>>,
    created_at: Vec<DateTime<Utc>>,
    expires_at: Vec<Option<DateTime<Utc>>>,
    vector_of: Vec<Uuid>,
    vector: Vec<HalfVector>,
    term: Vec<String>,
    term_of: Vec<Uuid>,
    occurrences: Vec<i16>,
    record_terms: Vec<i32>,
}

impl Rows {
    /// Sorted by identity: transactions that insert the same records wait for each other in the same order.
    fn of(drafts: &[Draft]) -> Result<Self> {
        let mut sorted: Vec<&Draft> = drafts.iter().collect();
        sorted.sort_by_key(|draft| draft.identity);
        let mut rows = Self::default();
        for draft in sorted {
            rows.push(draft)?;
        }
        Ok(rows)
    }

    fn push(&mut self, draft: &Draft) -> Result<()> {
        let record = &draft.record;
        let id = record.id.uuid();
        self.memory_id.push(id);
        self.identity.push(draft.identity.as_bytes().to_vec());
        self.scope_kind.push(record.scope.kind);
        self.scope_key.push(record.scope.key.clone());
        self.category.push(record.category);
        self.key.push(record.key.clone());
        self.content.push(record.content.clone());
        self.sensitivity.push(record.sensitivity);
        self.confidence.push(record.confidence);
        self.importance.push(record.importance);
        self.provenance.push(serde_json::to_value(&record.provenance).map_err(Error::internal)?);
        self.source_context_kind.push(record.source_context_kind);
        self.thread_id.push(record.context.thread_id.clone());
        self.seq.push(record.context.seq);
        self.speaker.push(record.context.speaker.clone());
        self.observed_at.push(record.context.observed_at.unwrap_or(record.created_at).0);
        self.metadata.push(record.metadata.clone().map(serde_json::Value::Object));
        self.created_at.push(record.created_at.0);
        self.expires_at.push(record.expires_at.map(|at| at.0));
        if let Some(embedding) = &draft.embedding {
            self.vector_of.push(id);
            self.vector.push(HalfVector::from_f32_slice(embedding.as_slice()));
        }
        for (term, count) in &draft.terms.counts {
            self.term.push(term.clone());
            self.term_of.push(id);
            self.occurrences.push(occurrences(*count));
            self.record_terms.push(i32::from(draft.terms.length));
        }
        Ok(())
    }
}

fn occurrences(count: u16) -> i16 {
    i16::try_from(count).unwrap_or(i16::MAX)
}

/// Writes every column of a record that can change.
pub async fn update(tx: &mut TenantTx, record: &Record, identity: Identity) -> Result<()> {
    let done = sqlx::query!(
        "UPDATE memories
         SET identity = $4, category = $5, key = $6, content = $7, status = $8, sensitivity = $9, confidence = $10,
           importance = $11, provenance = $12, source_context_kind = $13, thread_id = $14, seq = $15, speaker = $16,
           observed_at = $17, metadata = $18, version = $19, updated_at = $20, expires_at = $21, superseded_by = $22,
           deleted_at = $23, delete_reason = $24
         WHERE tenant_id = $1 AND ns = $2 AND memory_id = $3",
        tx.tenant(),
        tx.ns(),
        record.id.uuid(),
        identity.as_bytes(),
        record.category as Category,
        record.key,
        record.content,
        record.status as Status,
        record.sensitivity as Sensitivity,
        record.confidence,
        record.importance,
        serde_json::to_value(&record.provenance).map_err(Error::internal)?,
        record.source_context_kind as Option<SourceContextKind>,
        record.context.thread_id,
        record.context.seq,
        record.context.speaker,
        record.context.observed_at.unwrap_or(record.created_at).0,
        record.metadata.clone().map(serde_json::Value::Object),
        record.version,
        record.updated_at.0,
        record.expires_at.map(|at| at.0),
        record.superseded_by.map(MemoryId::uuid),
        record.deleted_at.map(|at| at.0),
        record.delete_reason,
    )
    .execute(&mut **tx)
    .await
    .on_constraint("memories_identity", || {
        Error::Conflict("another active record has this key, this place or this text".into())
    })?;
    if done.rows_affected() == 1 { Ok(()) } else { Err(Error::NotFound("memory")) }
}

/// Makes a record findable by its terms and, if it has one, its vector.
pub async fn index(
    tx: &mut TenantTx,
    id: MemoryId,
    terms: &Terms,
    embedding: Option<&Embedding>,
) -> Result<()> {
    let vector = embedding.map(|embedding| HalfVector::from_f32_slice(embedding.as_slice()));
    let (names, counts): (Vec<String>, Vec<i16>) =
        terms.counts.iter().map(|(term, count)| (term.clone(), occurrences(*count))).unzip();
    sqlx::query!(
        "WITH vector AS (
           INSERT INTO memory_vectors (tenant_id, ns, model, memory_id, indexed, embedding)
           SELECT $1, $2, $4, $3, (SELECT vectors <> 'exact' FROM namespaces WHERE tenant_id = $1 AND ns = $2), $5
           WHERE $5::halfvec IS NOT NULL
           ON CONFLICT ON CONSTRAINT memory_vectors_pkey DO UPDATE SET embedding = excluded.embedding
         ), version AS (
           UPDATE memories
           SET terms_version = $9
           WHERE tenant_id = $1 AND ns = $2 AND memory_id = $3 AND terms_version <> $9
         )
         INSERT INTO memory_terms (tenant_id, ns, term, memory_id, occurrences, record_terms)
         SELECT $1, $2, term, $3, occurrences, $8
         FROM unnest($6::text[], $7::int2[]) AS r(term, occurrences)",
        tx.tenant(),
        tx.ns(),
        id.uuid(),
        tx.model(),
        vector as Option<HalfVector>,
        &names,
        &counts,
        i32::from(terms.length),
        TERMS_VERSION,
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Gives records the status and the marks of their end.
pub async fn retire(tx: &mut TenantTx, ids: &[MemoryId], end: End<'_>, now: DateTime<Utc>) -> Result<()> {
    let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
    let (superseded_by, deleted_at, delete_reason) = match end {
        End::Superseded(heir) => (Some(heir.uuid()), None, None),
        End::Forgotten(reason) => (None, Some(now), reason),
        End::Expired => (None, None, None),
    };
    sqlx::query!(
        "UPDATE memories
         SET status = $4, version = version + 1, updated_at = $5, superseded_by = coalesce($6, superseded_by),
           deleted_at = coalesce($7, deleted_at), delete_reason = coalesce($8, delete_reason)
         WHERE tenant_id = $1 AND ns = $2 AND memory_id = ANY($3)",
        tx.tenant(),
        tx.ns(),
        &ids,
        end.status() as Status,
        now,
        superseded_by,
        deleted_at,
        delete_reason,
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Takes records out of search, each with the terms it was found by.
pub async fn unindex(tx: &mut TenantTx, records: &[(MemoryId, Terms)]) -> Result<()> {
    let ids: Vec<Uuid> = records.iter().map(|(id, _)| id.uuid()).collect();
    sqlx::query!(
        "DELETE FROM memory_vectors
         WHERE tenant_id = $1 AND ns = $2 AND memory_id = ANY($3)
           AND model IN (SELECT model FROM models)",
        tx.tenant(),
        tx.ns(),
        &ids,
    )
    .execute(&mut **tx)
    .await?;
    remove_terms(tx, records).await
}

/// Removes the terms of records, as this version of the program makes them; those that another version wrote are
/// looked for in the whole namespace.
pub async fn remove_terms(tx: &mut TenantTx, records: &[(MemoryId, Terms)]) -> Result<()> {
    let ids: Vec<Uuid> = records.iter().map(|(id, _)| id.uuid()).collect();
    let (mut terms, mut term_of) = (Vec::new(), Vec::new());
    for (id, of_record) in records {
        terms.extend(of_record.counts.keys().cloned());
        term_of.extend(of_record.counts.keys().map(|_| id.uuid()));
    }
    // Looked up one by one, because the planner might read the whole table for so many.
    let of_other_versions = sqlx::query_scalar!(
        "WITH gone AS (
           DELETE FROM memory_terms
           WHERE ctid = ANY(ARRAY(
             SELECT t.ctid
             FROM unnest($4::text[], $5::uuid[]) AS r(term, memory_id)
             CROSS JOIN LATERAL (
               SELECT ctid
               FROM memory_terms
               WHERE tenant_id = $1 AND ns = $2 AND term = r.term AND memory_id = r.memory_id
               OFFSET 0
             ) t
           ))
         )
         SELECT memory_id
         FROM memories
         WHERE tenant_id = $1 AND ns = $2 AND memory_id = ANY($3) AND terms_version <> $6",
        tx.tenant(),
        tx.ns(),
        &ids,
        &terms,
        &term_of,
        TERMS_VERSION,
    )
    .fetch_all(&mut **tx)
    .await?;
    if of_other_versions.is_empty() {
        return Ok(());
    }
    sqlx::query!(
        "DELETE FROM memory_terms WHERE tenant_id = $1 AND ns = $2 AND memory_id = ANY($3)",
        tx.tenant(),
        tx.ns(),
        &of_other_versions,
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Removes records and their history for good, and notes for each who did it.
pub async fn erase(tx: &mut TenantTx, ids: &[MemoryId], principal: &str, now: DateTime<Utc>) -> Result<()> {
    let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
    let audit_ids: Vec<Uuid> = ids.iter().map(|_| EventId::new().uuid()).collect();
    sqlx::query!(
        "WITH gone AS (
           DELETE FROM memories
           WHERE tenant_id = $1 AND ns = $2 AND memory_id = ANY($3)
           RETURNING memory_id
         )
         INSERT INTO audit_log (tenant_id, audit_id, at, actor, action, target)
         SELECT $1, audit_id, $5, $6, 'memory.erased', memory_id::text
         FROM unnest($3, $4::uuid[]) AS r(memory_id, audit_id)
         JOIN gone USING (memory_id)",
        tx.tenant(),
        tx.ns(),
        &ids,
        &audit_ids,
        now,
        principal,
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

//! SQL of moving a tenant to another model.

use chrono::{DateTime, Utc};
use pgvector::HalfVector;
use uuid::Uuid;

use crate::app::App;
use crate::auth::{Namespace, OperatorPermit};
use crate::db::{OperatorTx, TenantTx};
use crate::embed::Embedded;
use crate::error::{Error, Result};
use crate::id::{MemoryId, TenantId};
use crate::memory::turn::dense_text;

/// How many old vectors one transaction removes.
const DROP_ROUND: i64 = 2_000;

/// What is embedded of a record, and the version it was read at.
pub struct Text {
    /// The record.
    pub id: MemoryId,
    version: i64,
    content: String,
    speaker: Option<String>,
}

impl Text {
    /// The text as it is embedded.
    pub fn dense(&self) -> String {
        dense_text(&self.content, self.speaker.as_deref()).into_owned()
    }
}

/// The namespaces of a tenant.
pub async fn namespaces(tx: &mut OperatorTx, tenant: TenantId) -> Result<Vec<Namespace>> {
    let names =
        sqlx::query_scalar!("SELECT name FROM namespaces WHERE tenant_id = $1 ORDER BY ns", tenant.uuid())
            .fetch_all(&mut **tx)
            .await?;
    names.iter().map(|name| name.parse().map_err(|error: String| Error::internal(error))).collect()
}

/// How many active records have no vector of a model.
pub async fn left(tx: &mut OperatorTx, tenant: TenantId, model: i16) -> Result<u64> {
    let left = sqlx::query_scalar!(
        "SELECT count(*) AS \"count!\"
         FROM memories m
         WHERE m.tenant_id = $1
           AND m.status = 'active'
           AND NOT EXISTS (
             SELECT FROM memory_vectors v
             WHERE v.tenant_id = $1 AND v.ns = m.ns AND v.model = $2 AND v.memory_id = m.memory_id
           )",
        tenant.uuid(),
        model,
    )
    .fetch_one(&mut **tx)
    .await?;
    Ok(u64::try_from(left).unwrap_or(0))
}

/// Searches the tenant with another model from now on.
pub async fn switch(tx: &mut OperatorTx, tenant: TenantId, model: i16, now: DateTime<Utc>) -> Result<()> {
    let done = sqlx::query!(
        "UPDATE tenants SET model = $2, updated_at = $3 WHERE tenant_id = $1 AND status <> 'deleted'",
        tenant.uuid(),
        model,
        now,
    )
    .execute(&mut **tx)
    .await?;
    if done.rows_affected() == 1 { Ok(()) } else { Err(Error::NotFound("tenant")) }
}

/// Removes some vectors of models that the tenant is not searched with. Gives how many.
pub async fn drop_round(app: &App, operator: &OperatorPermit, tenant: TenantId) -> Result<u64> {
    let mut tx = app.db.begin_operator(operator).await?;
    let done = sqlx::query!(
        "DELETE FROM memory_vectors v
         USING (
           SELECT o.ns, o.model, o.memory_id
           FROM memory_vectors o
           WHERE o.tenant_id = $1 AND o.model <> (SELECT model FROM tenants WHERE tenant_id = $1)
           LIMIT $2
         ) old
         WHERE v.tenant_id = $1 AND v.ns = old.ns AND v.model = old.model AND v.memory_id = old.memory_id",
        tenant.uuid(),
        DROP_ROUND,
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(done.rows_affected())
}

/// Some active records without a vector of this process's model, in the order of ids.
pub async fn without_vector(tx: &mut TenantTx, after: MemoryId, limit: usize) -> Result<Vec<Text>> {
    let rows = sqlx::query!(
        "SELECT m.memory_id, m.version, m.content, m.speaker
         FROM memories m
         WHERE m.tenant_id = $1
           AND m.ns = $2
           AND m.memory_id > $3
           AND m.status = 'active'
           AND NOT EXISTS (
             SELECT FROM memory_vectors v
             WHERE v.tenant_id = $1 AND v.ns = $2 AND v.model = $4 AND v.memory_id = m.memory_id
           )
         ORDER BY m.memory_id
         LIMIT $5",
        tx.tenant(),
        tx.ns(),
        after.uuid(),
        tx.model(),
        i64::try_from(limit).unwrap_or(i64::MAX),
    )
    .fetch_all(&mut **tx)
    .await?;
    let text = rows.into_iter().map(|row| Text {
        id: MemoryId::from_uuid(row.memory_id),
        version: row.version,
        content: row.content,
        speaker: row.speaker,
    });
    Ok(text.collect())
}

/// Stores vectors of records that are still as they were read, and counts it as a write. Gives how many.
pub async fn add_vectors(tx: &mut TenantTx, texts: &[Text], vectors: Vec<Embedded>) -> Result<u64> {
    let (mut ids, mut versions, mut halves) = (Vec::<Uuid>::new(), Vec::new(), Vec::new());
    for (text, embedded) in texts.iter().zip(vectors) {
        if let Some(embedding) = embedded.embedding {
            ids.push(text.id.uuid());
            versions.push(text.version);
            halves.push(HalfVector::from_f32_slice(embedding.as_slice()));
        }
    }
    let done = sqlx::query!(
        "WITH write AS (
           INSERT INTO namespace_counts (tenant_id, ns, stripe, records, terms, writes)
           VALUES ($1, $2, pg_backend_pid() % 16, 0, 0, 1)
           ON CONFLICT ON CONSTRAINT namespace_counts_pkey DO UPDATE SET writes = namespace_counts.writes + 1
         )
         INSERT INTO memory_vectors (tenant_id, ns, model, memory_id, indexed, embedding)
         SELECT $1, $2, $3, m.memory_id,
           (SELECT vectors <> 'exact' FROM namespaces WHERE tenant_id = $1 AND ns = $2), r.embedding
         FROM unnest($4::uuid[], $5::int8[], $6::halfvec[]) AS r(memory_id, version, embedding)
         JOIN memories m ON m.tenant_id = $1 AND m.ns = $2 AND m.memory_id = r.memory_id
         WHERE m.version = r.version AND m.status = 'active'
         ON CONFLICT ON CONSTRAINT memory_vectors_pkey DO NOTHING",
        tx.tenant(),
        tx.ns(),
        tx.model(),
        &ids,
        &versions,
        &halves as &[HalfVector],
    )
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected())
}

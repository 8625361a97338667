//! SQL of sources.

use std::collections::HashMap;

use uuid::Uuid;

use super::{Client, Source, SourceTextKind};
use crate::db::{OperatorTx, TenantTx, columns};
use crate::error::Result;
use crate::id::{MemoryId, SourceId, TenantId};

/// Adds a source.
pub async fn insert(tx: &mut TenantTx, source: &Source) -> Result<()> {
    sqlx::query!(
        "INSERT INTO sources (
           tenant_id, ns, source_id, kind, content, description, conversation_id, conversation_title, created_at
         )
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        tx.tenant(),
        tx.ns(),
        source.id.uuid(),
        source.kind as SourceTextKind,
        source.content,
        source.description,
        source.client.conversation_id,
        source.client.conversation_title,
        source.created_at,
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// The source of an id.
pub async fn find(tx: &mut TenantTx, id: SourceId) -> Result<Option<Source>> {
    let row = sqlx::query!(
        r#"SELECT kind AS "kind: SourceTextKind", content, description, conversation_id, conversation_title, created_at
         FROM sources
         WHERE tenant_id = $1 AND ns = $2 AND source_id = $3"#,
        tx.tenant(),
        tx.ns(),
        id.uuid(),
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(row.map(|row| Source {
        id,
        kind: row.kind,
        content: row.content,
        description: row.description,
        client: Client { conversation_id: row.conversation_id, conversation_title: row.conversation_title },
        created_at: row.created_at,
    }))
}

/// Notes which records were made from a source.
pub async fn link(tx: &mut TenantTx, id: SourceId, memories: &[MemoryId]) -> Result<()> {
    let memories: Vec<Uuid> = memories.iter().map(|id| id.uuid()).collect();
    sqlx::query!(
        "INSERT INTO source_memories (tenant_id, ns, memory_id, source_id)
         SELECT DISTINCT $1::uuid, $2::int4, memory_id, $3::uuid
         FROM unnest($4::uuid[]) AS memory_id
         ON CONFLICT ON CONSTRAINT source_memories_pkey DO NOTHING",
        tx.tenant(),
        tx.ns(),
        id.uuid(),
        &memories,
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// The conversation of each record: the wanted one, or else the latest.
pub async fn conversations(
    tx: &mut TenantTx,
    memories: &[MemoryId],
    wanted: Option<&str>,
) -> Result<HashMap<MemoryId, Client>> {
    let memories: Vec<Uuid> = memories.iter().map(|id| id.uuid()).collect();
    let rows = sqlx::query!(
        "SELECT r.memory_id AS \"memory_id!\", s.conversation_id, s.conversation_title
         FROM unnest($3::uuid[]) AS r(memory_id)
         CROSS JOIN LATERAL (
           SELECT s.conversation_id, s.conversation_title
           FROM source_memories m
           JOIN sources s ON s.tenant_id = m.tenant_id AND s.ns = m.ns AND s.source_id = m.source_id
           WHERE m.tenant_id = $1 AND m.ns = $2 AND m.memory_id = r.memory_id
             AND s.conversation_id IS NOT NULL
             AND ($4::text IS NULL OR s.conversation_id = $4)
           ORDER BY m.source_id DESC
           LIMIT 1
         ) s",
        tx.tenant(),
        tx.ns(),
        &memories,
        wanted,
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| {
            let client =
                Client { conversation_id: row.conversation_id, conversation_title: row.conversation_title };
            (MemoryId::from_uuid(row.memory_id), client)
        })
        .collect())
}

/// Takes the text out of the sources of these records.
pub async fn silence(tx: &mut TenantTx, memories: &[MemoryId]) -> Result<()> {
    let memories: Vec<Uuid> = memories.iter().map(|id| id.uuid()).collect();
    sqlx::query!(
        "UPDATE sources s
         SET content = NULL, description = NULL, conversation_title = NULL
         FROM source_memories m
         WHERE s.tenant_id = $1 AND s.ns = $2
           AND m.tenant_id = $1 AND m.ns = $2 AND m.memory_id = ANY($3)
           AND s.source_id = m.source_id",
        tx.tenant(),
        tx.ns(),
        &memories,
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Takes the text out of the sources of records of many tenants.
pub async fn silence_everywhere(tx: &mut OperatorTx, memories: &[(TenantId, i32, MemoryId)]) -> Result<()> {
    let (tenants, namespaces, ids) = columns(memories);
    sqlx::query!(
        "UPDATE sources s
         SET content = NULL, description = NULL, conversation_title = NULL
         FROM unnest($1::uuid[], $2::int4[], $3::uuid[]) AS gone(tenant_id, ns, memory_id)
         JOIN source_memories m
           ON m.tenant_id = gone.tenant_id AND m.ns = gone.ns AND m.memory_id = gone.memory_id
         WHERE s.tenant_id = m.tenant_id AND s.ns = m.ns AND s.source_id = m.source_id",
        &tenants,
        &namespaces,
        &ids,
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Removes sources without records.
pub async fn drop_unused(tx: &mut OperatorTx, sources: &[(TenantId, i32, SourceId)]) -> Result<()> {
    let (tenants, namespaces, ids) = columns(sources);
    sqlx::query!(
        "DELETE FROM sources s
         USING unnest($1::uuid[], $2::int4[], $3::uuid[]) AS old(tenant_id, ns, source_id)
         WHERE s.tenant_id = old.tenant_id AND s.ns = old.ns AND s.source_id = old.source_id
           AND NOT EXISTS (
             SELECT FROM source_memories m
             WHERE m.tenant_id = s.tenant_id AND m.ns = s.ns AND m.source_id = s.source_id
           )",
        &tenants,
        &namespaces,
        &ids,
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

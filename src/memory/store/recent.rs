//! The newest records.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::read::{find_many, list_ids};
use crate::db::TenantTx;
use crate::error::Result;
use crate::id::MemoryId;
use crate::memory::filter::Filter;
use crate::memory::{Record, ScopeKind, Sensitivity};

/// The newest active records that pass a filter, newest first.
pub async fn newest(
    tx: &mut TenantTx,
    filter: &Filter,
    limit: usize,
    now: DateTime<Utc>,
) -> Result<Vec<Record>> {
    let ids = match &filter.conversation {
        Some(conversation) => ids_of_conversation(tx, filter, conversation, limit, now).await?,
        None => list_ids(tx, filter, None, None, limit, now).await?,
    };
    let mut records = if ids.is_empty() { Vec::new() } else { find_many(tx, &ids).await? };
    records.sort_by_key(|record| std::cmp::Reverse(record.id));
    Ok(records)
}

/// From the conversation to its records: a filter on each record of the namespace would read all of them.
async fn ids_of_conversation(
    tx: &mut TenantTx,
    filter: &Filter,
    conversation: &str,
    limit: usize,
    now: DateTime<Utc>,
) -> Result<Vec<MemoryId>> {
    let (scope_kinds, scope_keys) = filter.scope_columns();
    let ids: Vec<Uuid> = sqlx::query_scalar!(
        "SELECT DISTINCT m.memory_id
         FROM sources s
         JOIN source_memories l ON l.tenant_id = s.tenant_id AND l.ns = s.ns AND l.source_id = s.source_id
         JOIN memories m ON m.tenant_id = l.tenant_id AND m.ns = l.ns AND m.memory_id = l.memory_id
         WHERE s.tenant_id = $1
           AND s.ns = $2
           AND s.conversation_id = $3
           AND m.status = 'active'
           AND (m.expires_at IS NULL OR m.expires_at > $7)
           AND m.sensitivity = ANY($4)
           AND ($5::text[] IS NULL OR (m.scope_kind, m.scope_key) IN (SELECT * FROM unnest($5, $6::text[])))
         ORDER BY m.memory_id DESC
         LIMIT $8",
        tx.tenant(),
        tx.ns(),
        conversation,
        &filter.sensitivities as &[Sensitivity],
        scope_kinds.as_deref() as Option<&[ScopeKind]>,
        scope_keys.as_deref(),
        now,
        i64::try_from(limit).unwrap_or(i64::MAX),
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(ids.into_iter().map(MemoryId::from_uuid).collect())
}

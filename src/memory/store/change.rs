//! What is written with every change: history, outbox, audit, counters.

use uuid::Uuid;

use crate::db::TenantTx;
use crate::error::{Error, Result};
use crate::id::EventId;
use crate::memory::ChangeKind;
use crate::memory::write::Changes;

/// Writes a version, an event and an audit row for each changed record, and what the namespace now holds. Records that
/// are forgotten have another event, together as far as the same tokens see them.
///
/// The counters come last and are striped, because their row stays locked until the commit.
pub async fn write_changes(tx: &mut TenantTx, changes: &Changes) -> Result<()> {
    let (mut ids, mut versions, mut kinds, mut records) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (record, kind) in &changes.records {
        ids.push(record.id.uuid());
        versions.push(record.version);
        kinds.push(*kind);
        records.push(serde_json::to_value(record).map_err(Error::internal)?);
    }
    let new_ids: Vec<Uuid> = ids.iter().map(|_| EventId::new().uuid()).collect();
    let forgotten_ids: Vec<Uuid> = ids.iter().map(|_| EventId::new().uuid()).collect();
    tx.announce();
    sqlx::query!(
        "WITH changes AS (
           SELECT *
           FROM unnest($3::uuid[], $4::uuid[], $5::int8[], $6::text[], $7::jsonb[], $13::uuid[])
             AS r(new_id, memory_id, version, change_kind, record, forgotten_id)
         ), versions AS (
           INSERT INTO memory_versions (tenant_id, ns, memory_id, version, change_kind, changed_at, actor, record)
           SELECT $1, $2, memory_id, version, change_kind, $8, $9, record
           FROM changes
         ), events AS (
           INSERT INTO events (
             tenant_id, ns, event_id, method, change_kind, memory_id, version, at, scope_kind, scope_key, sensitivity,
             memory_ids
           )
           SELECT $1, $2, new_id, 'memory/changed', change_kind, memory_id, version, $8, record -> 'scope' ->> 'kind',
             record -> 'scope' ->> 'key', record ->> 'sensitivity', NULL
           FROM changes
           UNION ALL
           SELECT $1, $2, (array_agg(forgotten_id ORDER BY forgotten_id DESC))[1], 'memory/forgotten', NULL,
             (array_agg(memory_id ORDER BY forgotten_id))[1], (array_agg(version ORDER BY forgotten_id))[1], $8,
             record -> 'scope' ->> 'kind', record -> 'scope' ->> 'key', record ->> 'sensitivity',
             array_agg(memory_id ORDER BY forgotten_id)
           FROM changes
           WHERE change_kind = 'deleted'
           GROUP BY record -> 'scope' ->> 'kind', record -> 'scope' ->> 'key', record ->> 'sensitivity'
         ), audit AS (
           INSERT INTO audit_log (tenant_id, audit_id, at, actor, action, target)
           SELECT $1, new_id, $8, $10, 'memory.' || change_kind, memory_id::text
           FROM changes
         )
         INSERT INTO namespace_counts (tenant_id, ns, stripe, records, terms, writes)
         VALUES ($1, $2, pg_backend_pid() % 16, $11, $12, 1)
         ON CONFLICT ON CONSTRAINT namespace_counts_pkey DO UPDATE
         SET records = namespace_counts.records + excluded.records,
           terms = namespace_counts.terms + excluded.terms,
           writes = namespace_counts.writes + 1",
        tx.tenant(),
        tx.ns(),
        &new_ids,
        &ids,
        &versions,
        &kinds as &[ChangeKind],
        &records,
        changes.now,
        serde_json::to_value(&changes.actor).map_err(Error::internal)?,
        changes.principal,
        changes.active_records,
        changes.active_terms,
        &forgotten_ids,
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

//! SQL of the entries of sessions.

use chrono::{DateTime, Utc};
use sqlx::types::Json;
use uuid::Uuid;

use super::entry::{Detail, Entry, EntryKind, Stored};
use super::{closed, store};
use crate::auth::Permit;
use crate::db::TenantTx;
use crate::error::{Error, Result};
use crate::id::{EventId, SessionId};

struct EntryRow {
    session_id: Uuid,
    seq: i64,
    entry_id: Uuid,
    kind: EntryKind,
    content: String,
    detail: Json<Detail>,
    created_at: DateTime<Utc>,
}

impl From<EntryRow> for Entry {
    fn from(row: EntryRow) -> Self {
        let stored = Stored {
            id: row.entry_id,
            session: SessionId::from_uuid(row.session_id),
            seq: row.seq,
            kind: row.kind,
            content: row.content,
            detail: row.detail.0,
            created_at: row.created_at,
        };
        stored.into()
    }
}

/// Adds an entry to an active session, and gives its number. One statement does it all: others who add to the session
/// wait until this transaction ends, and no longer than that.
pub async fn add(tx: &mut TenantTx, permit: &Permit, new: &Stored) -> Result<i64> {
    let seq = sqlx::query_scalar!(
        "WITH raised AS (
           UPDATE cognitive_sessions
           SET thought_count = thought_count + ($5 = 'thought')::int,
             decision_count = decision_count + ($5 = 'decision')::int,
             interaction_count = interaction_count + ($5 = 'interaction')::int,
             updated_at = greatest(updated_at, $8)
           WHERE tenant_id = $1 AND ns = $2 AND session_id = $3 AND status = 'active'
           RETURNING thought_count + decision_count + interaction_count AS seq
         ), entry AS (
           INSERT INTO session_entries (tenant_id, ns, session_id, seq, entry_id, kind, content, detail, created_at)
           SELECT $1, $2, $3, seq, $4, $5, $6, $7, $8 FROM raised
         ), told AS (
           INSERT INTO events (tenant_id, ns, event_id, method, session_id, version, at)
           SELECT $1, $2, $9, 'cognitive/entry_added', $3, seq, $8 FROM raised
         ), noted AS (
           INSERT INTO audit_log (tenant_id, audit_id, at, actor, action, target)
           SELECT $1, $10, $8, $11, 'session.' || $5, $12 FROM raised
         )
         SELECT seq AS \"seq!\" FROM raised",
        tx.tenant(),
        tx.ns(),
        new.session.uuid(),
        new.id,
        new.kind.as_str(),
        new.content,
        Json(&new.detail) as _,
        new.created_at,
        EventId::new().uuid(),
        EventId::new().uuid(),
        permit.key().to_string(),
        new.session.to_string(),
    )
    .fetch_optional(&mut **tx)
    .await?;
    tx.announce();
    match seq {
        Some(seq) => Ok(seq),
        None if store::find(tx, new.session).await?.is_some() => Err(closed()),
        None => Err(Error::NotFound("session")),
    }
}

/// The entries of a session after a number, in order.
pub async fn entries(tx: &mut TenantTx, id: SessionId, after: i64, limit: usize) -> Result<Vec<Entry>> {
    let rows = sqlx::query_as!(
        EntryRow,
        "SELECT session_id, seq, entry_id, kind AS \"kind: EntryKind\", content, detail AS \"detail: Json<Detail>\",
           created_at
         FROM session_entries
         WHERE tenant_id = $1 AND ns = $2 AND session_id = $3 AND seq > $4
         ORDER BY seq
         LIMIT $5",
        tx.tenant(),
        tx.ns(),
        id.uuid(),
        after,
        i64::try_from(limit).unwrap_or(i64::MAX),
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(rows.into_iter().map(Into::into).collect())
}

/// The entries at these places, in no order.
pub async fn entries_at(tx: &mut TenantTx, places: &[(SessionId, i64)]) -> Result<Vec<Entry>> {
    let (sessions, seqs): (Vec<Uuid>, Vec<i64>) =
        places.iter().map(|(session, seq)| (session.uuid(), *seq)).unzip();
    let rows = sqlx::query_as!(
        EntryRow,
        "SELECT e.session_id, e.seq, e.entry_id, e.kind AS \"kind: EntryKind\", e.content,
           e.detail AS \"detail: Json<Detail>\", e.created_at
         FROM unnest($3::uuid[], $4::int8[]) AS place (session_id, seq)
         JOIN session_entries e
           ON e.tenant_id = $1 AND e.ns = $2 AND e.session_id = place.session_id AND e.seq = place.seq",
        tx.tenant(),
        tx.ns(),
        &sessions,
        &seqs,
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(rows.into_iter().map(Into::into).collect())
}

/// The entries of one kind after a number, in order.
pub async fn entries_of_kind(
    tx: &mut TenantTx,
    id: SessionId,
    kind: EntryKind,
    after: i64,
    limit: usize,
) -> Result<Vec<Entry>> {
    let rows = sqlx::query_as!(
        EntryRow,
        "SELECT session_id, seq, entry_id, kind AS \"kind: EntryKind\", content, detail AS \"detail: Json<Detail>\",
           created_at
         FROM session_entries
         WHERE tenant_id = $1 AND ns = $2 AND session_id = $3 AND kind = $4 AND seq > $5
         ORDER BY seq
         LIMIT $6",
        tx.tenant(),
        tx.ns(),
        id.uuid(),
        kind as EntryKind,
        after,
        i64::try_from(limit).unwrap_or(i64::MAX),
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(rows.into_iter().map(Into::into).collect())
}

/// The latest thoughts and the latest decisions of a session, so many of each, the latest first.
pub async fn latest(tx: &mut TenantTx, id: SessionId, limit: usize) -> Result<Vec<Entry>> {
    let rows = sqlx::query_as!(
        EntryRow,
        "SELECT e.session_id, e.seq, e.entry_id, e.kind AS \"kind: EntryKind\", e.content,
           e.detail AS \"detail: Json<Detail>\", e.created_at
         FROM unnest(ARRAY['decision', 'thought']) AS wanted (kind)
         CROSS JOIN LATERAL (
           SELECT session_id, seq, entry_id, kind, content, detail, created_at
           FROM session_entries
           WHERE tenant_id = $1 AND ns = $2 AND session_id = $3 AND kind = wanted.kind
           ORDER BY seq DESC
           LIMIT $4
         ) e
         ORDER BY e.seq DESC",
        tx.tenant(),
        tx.ns(),
        id.uuid(),
        i64::try_from(limit).unwrap_or(i64::MAX),
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(rows.into_iter().map(Into::into).collect())
}

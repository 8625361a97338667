//! SQL of sessions and their entries.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use sqlx::types::Json;
use uuid::Uuid;

use super::entry::{Detail, Entry, EntryKind, Stored};
use super::{Outcome, Session, SessionStatus, closed};
use crate::auth::Permit;
use crate::db::TenantTx;
use crate::error::{Error, Result};
use crate::id::{EventId, SessionId};

struct SessionRow {
    session_id: Uuid,
    agent_id: String,
    goal: String,
    status: SessionStatus,
    outcome: Option<Outcome>,
    summary: Option<String>,
    thought_count: i64,
    decision_count: i64,
    interaction_count: i64,
    metadata: Json<Map<String, Value>>,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
    closed_at: Option<DateTime<Utc>>,
}

struct EntryRow {
    session_id: Uuid,
    seq: i64,
    entry_id: Uuid,
    kind: EntryKind,
    content: String,
    detail: Json<Detail>,
    created_at: DateTime<Utc>,
}

impl From<SessionRow> for Session {
    fn from(row: SessionRow) -> Self {
        Self {
            id: SessionId::from_uuid(row.session_id),
            agent_id: row.agent_id,
            goal: row.goal,
            status: row.status,
            created_at: row.created_at.into(),
            updated_at: row.updated_at.into(),
            closed_at: row.closed_at.map(Into::into),
            outcome: row.outcome,
            summary: row.summary,
            thought_count: row.thought_count,
            decision_count: row.decision_count,
            interaction_count: row.interaction_count,
            metadata: row.metadata.0,
        }
    }
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

/// Stores a session, and that it was started.
pub async fn start(tx: &mut TenantTx, permit: &Permit, new: &Session) -> Result<()> {
    sqlx::query!(
        "WITH made AS (
           INSERT INTO cognitive_sessions (
             tenant_id, ns, session_id, agent_id, goal, metadata, created_at, updated_at
           )
           VALUES ($1, $2, $3, $4, $5, $6, $7, $7)
         ), told AS (
           INSERT INTO events (tenant_id, ns, event_id, method, session_id, version, at)
           VALUES ($1, $2, $8, 'cognitive/session_started', $3, 0, $7)
         )
         INSERT INTO audit_log (tenant_id, audit_id, at, actor, action, target)
         VALUES ($1, $9, $7, $10, 'session.start', $11)",
        tx.tenant(),
        tx.ns(),
        new.id.uuid(),
        new.agent_id,
        new.goal,
        Json(&new.metadata) as _,
        new.created_at.0,
        EventId::new().uuid(),
        EventId::new().uuid(),
        permit.key().to_string(),
        new.id.to_string(),
    )
    .execute(&mut **tx)
    .await?;
    tx.announce();
    Ok(())
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
        None if find(tx, new.session).await?.is_some() => Err(closed()),
        None => Err(Error::NotFound("session")),
    }
}

/// Closes an active session, and gives it; nothing when there is none, or when it has another number of decisions than
/// these.
pub async fn close(
    tx: &mut TenantTx,
    permit: &Permit,
    id: SessionId,
    outcome: Outcome,
    summary: Option<&str>,
    decisions: Option<i64>,
    now: DateTime<Utc>,
) -> Result<Option<Session>> {
    let row = sqlx::query_as!(
        SessionRow,
        "WITH done AS (
           UPDATE cognitive_sessions
           SET status = 'closed', outcome = $4, summary = $5, closed_at = $6, updated_at = greatest(updated_at, $6)
           WHERE tenant_id = $1
             AND ns = $2
             AND session_id = $3
             AND status = 'active'
             AND ($7::int8 IS NULL OR decision_count = $7)
           RETURNING session_id, agent_id, goal, status, outcome, summary, thought_count, decision_count,
             interaction_count, metadata, created_at, updated_at, closed_at
         ), told AS (
           INSERT INTO events (tenant_id, ns, event_id, method, session_id, version, at)
           SELECT $1, $2, $8, 'cognitive/session_closed', $3, thought_count + decision_count + interaction_count + 1, $6
           FROM done
         ), noted AS (
           INSERT INTO audit_log (tenant_id, audit_id, at, actor, action, target)
           SELECT $1, $9, $6, $10, 'session.close', $11 FROM done
         )
         SELECT session_id, agent_id, goal, status AS \"status: SessionStatus\", outcome AS \"outcome: Outcome\",
           summary, thought_count, decision_count, interaction_count,
           metadata AS \"metadata: Json<Map<String, Value>>\", created_at, updated_at, closed_at
         FROM done",
        tx.tenant(),
        tx.ns(),
        id.uuid(),
        outcome as Outcome,
        summary,
        now,
        decisions,
        EventId::new().uuid(),
        EventId::new().uuid(),
        permit.key().to_string(),
        id.to_string(),
    )
    .fetch_optional(&mut **tx)
    .await?;
    tx.announce();
    Ok(row.map(Into::into))
}

/// The session of an id.
pub async fn find(tx: &mut TenantTx, id: SessionId) -> Result<Option<Session>> {
    Ok(find_many(tx, &[id]).await?.pop())
}

/// The sessions of these ids, in no order.
pub async fn find_many(tx: &mut TenantTx, ids: &[SessionId]) -> Result<Vec<Session>> {
    let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
    let rows = sqlx::query_as!(
        SessionRow,
        "SELECT session_id, agent_id, goal, status AS \"status: SessionStatus\", outcome AS \"outcome: Outcome\",
           summary, thought_count, decision_count, interaction_count,
           metadata AS \"metadata: Json<Map<String, Value>>\", created_at, updated_at, closed_at
         FROM cognitive_sessions
         WHERE tenant_id = $1 AND ns = $2 AND session_id = ANY($3)",
        tx.tenant(),
        tx.ns(),
        &ids,
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(rows.into_iter().map(Into::into).collect())
}

/// A page of sessions, newest first.
pub async fn list(
    tx: &mut TenantTx,
    agent_id: Option<&str>,
    status: Option<SessionStatus>,
    before: Option<SessionId>,
    limit: usize,
) -> Result<Vec<Session>> {
    let rows = sqlx::query_as!(
        SessionRow,
        "SELECT session_id, agent_id, goal, status AS \"status: SessionStatus\", outcome AS \"outcome: Outcome\",
           summary, thought_count, decision_count, interaction_count,
           metadata AS \"metadata: Json<Map<String, Value>>\", created_at, updated_at, closed_at
         FROM cognitive_sessions
         WHERE tenant_id = $1
           AND ns = $2
           AND ($3::text IS NULL OR agent_id = $3)
           AND ($4::text IS NULL OR status = $4)
           AND ($5::uuid IS NULL OR session_id < $5)
         ORDER BY session_id DESC
         LIMIT $6",
        tx.tenant(),
        tx.ns(),
        agent_id,
        status as Option<SessionStatus>,
        before.map(SessionId::uuid),
        i64::try_from(limit).unwrap_or(i64::MAX),
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(rows.into_iter().map(Into::into).collect())
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

//! SQL of sessions.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use sqlx::types::Json;
use uuid::Uuid;

use super::{Outcome, Session, SessionStatus};
use crate::auth::Permit;
use crate::db::TenantTx;
use crate::error::Result;
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

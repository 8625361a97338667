//! SQL of events and their numbers.

use chrono::{DateTime, Utc};
use sqlx::types::Json;
use uuid::Uuid;

use crate::candidate::Candidate;
use crate::db::{OperatorTx, TenantTx};
use crate::error::Result;
use crate::id::{CandidateId, EventId, MemoryId, SessionId, TenantId};
use crate::memory::{ChangeKind, Scope, ScopeKind, Sensitivity};

/// The channel on which nodes tell each other that there are new numbers.
pub const CHANNEL: &str = "memtide_events";

/// The number of the lock that lets one node give numbers at a time.
const TURN: i64 = 7_236_823;

/// How many tenants are named in a word to the other nodes; if there are more, all look.
const MAX_NAMED: usize = 150;

/// An event as it is stored.
#[derive(Debug)]
pub struct Row {
    pub seq: i64,
    pub method: String,
    pub change_kind: Option<ChangeKind>,
    pub memory_id: Option<MemoryId>,
    /// Of a record; of a session, the number of the entry.
    pub version: Option<i64>,
    pub session_id: Option<SessionId>,
    pub memory_ids: Vec<MemoryId>,
    pub candidate: Option<Candidate>,
    pub scope: Option<Scope>,
    pub sensitivity: Option<Sensitivity>,
    pub at: DateTime<Utc>,
}

/// How far a namespace has been numbered, and up to where events are not kept any more.
#[derive(Debug, Clone, Copy, Default)]
pub struct Head {
    pub seq: i64,
    pub purged: i64,
}

/// Stores that there is a new candidate.
pub async fn insert_candidate_created(
    tx: &mut TenantTx,
    candidate: &Candidate,
    sensitivity: Sensitivity,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "INSERT INTO events (
           tenant_id, ns, event_id, method, candidate_id, at, scope_kind, scope_key, sensitivity, candidate
         )
         VALUES ($1, $2, $3, 'memory/candidate_created', $4, $5, $6, $7, $8, $9)",
        tx.tenant(),
        tx.ns(),
        EventId::new().uuid(),
        candidate.id.uuid(),
        now,
        candidate.scope.kind as ScopeKind,
        candidate.scope.key,
        sensitivity as Sensitivity,
        Json(candidate) as _,
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Stores that something was erased.
pub async fn insert_erased(tx: &mut TenantTx, now: DateTime<Utc>) -> Result<()> {
    sqlx::query!(
        "INSERT INTO events (tenant_id, ns, event_id, method, at) VALUES ($1, $2, $3, 'memory/erased', $4)",
        tx.tenant(),
        tx.ns(),
        EventId::new().uuid(),
        now,
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Takes what candidates said out of the events of these candidates.
pub async fn erase_candidates(tx: &mut TenantTx, ids: &[CandidateId]) -> Result<()> {
    let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
    sqlx::query!(
        "UPDATE events SET candidate = NULL WHERE tenant_id = $1 AND ns = $2 AND candidate_id = ANY($3)",
        tx.tenant(),
        tx.ns(),
        &ids,
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Waits for this node's turn to give numbers, until the transaction ends.
pub async fn take_turn(tx: &mut OperatorTx) -> Result<()> {
    sqlx::query!("SELECT pg_advisory_xact_lock($1)", TURN).execute(&mut **tx).await?;
    Ok(())
}

/// Gives numbers to committed events, and tells the nodes. Gives how many.
///
/// Events are taken in the order in which their transactions began to write. That order is wrong for a record that a
/// transaction waited for before it changed it, and for a session, so that an event never comes before that of an
/// earlier version or entry.
pub async fn number(tx: &mut OperatorTx, limit: i64) -> Result<usize> {
    let tenants = sqlx::query_scalar!(
        "WITH waiting AS (
           SELECT e.tenant_id, e.ns, e.event_id, e.xid, e.version,
             max(e.xid) OVER (
               PARTITION BY e.tenant_id, e.ns, coalesce(e.memory_id, e.session_id, e.event_id) ORDER BY e.version
             ) AS after
           FROM events e
           JOIN namespaces n ON n.tenant_id = e.tenant_id AND n.ns = e.ns
           WHERE e.seq IS NULL
         ), picked AS (
           SELECT tenant_id, ns, event_id,
             row_number() OVER (PARTITION BY tenant_id, ns ORDER BY after, late, event_id) AS place,
             count(*) OVER (PARTITION BY tenant_id, ns) AS size
           FROM (
             SELECT tenant_id, ns, event_id, after, CASE WHEN xid = after THEN 0 ELSE version END AS late
             FROM waiting
             ORDER BY after, late, event_id
             LIMIT $1
           ) first
         ), heads AS (
           INSERT INTO event_heads (tenant_id, ns, seq)
           SELECT DISTINCT tenant_id, ns, size FROM picked
           ON CONFLICT ON CONSTRAINT event_heads_pkey DO UPDATE SET seq = event_heads.seq + excluded.seq
           RETURNING tenant_id, ns, seq
         )
         UPDATE events e
         SET seq = h.seq - picked.size + picked.place
         FROM picked
         JOIN heads h ON h.tenant_id = picked.tenant_id AND h.ns = picked.ns
         WHERE e.tenant_id = picked.tenant_id AND e.ns = picked.ns AND e.event_id = picked.event_id
         RETURNING e.tenant_id",
        limit,
    )
    .fetch_all(&mut **tx)
    .await?;
    let count = tenants.len();
    if count > 0 {
        tell(tx, tenants).await?;
    }
    Ok(count)
}

/// Tells every node, at commit, whose events have new numbers. No names: everybody's may have.
async fn tell(tx: &mut OperatorTx, mut tenants: Vec<Uuid>) -> Result<()> {
    tenants.sort_unstable();
    tenants.dedup();
    let names: Vec<String> = tenants.iter().map(ToString::to_string).collect();
    let word = if names.len() > MAX_NAMED { String::new() } else { names.join(" ") };
    sqlx::query!("SELECT pg_notify($1, $2)", CHANNEL, word).execute(&mut **tx).await?;
    Ok(())
}

/// How far the namespaces of these tenants have been numbered, together: it rises with every number.
pub async fn progress(tx: &mut OperatorTx, tenants: &[TenantId]) -> Result<Vec<(TenantId, i64)>> {
    let tenants: Vec<Uuid> = tenants.iter().map(|tenant| tenant.uuid()).collect();
    let rows = sqlx::query!(
        "SELECT tenant_id, sum(seq)::int8 AS \"seq!\"
         FROM event_heads
         WHERE tenant_id = ANY($1)
         GROUP BY tenant_id",
        &tenants
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(rows.into_iter().map(|row| (TenantId::from_uuid(row.tenant_id), row.seq)).collect())
}

/// How far the namespace has been numbered. What is older than this is gone, whether or not it was purged.
pub async fn head(tx: &mut TenantTx, kept: DateTime<Utc>) -> Result<Head> {
    let row = sqlx::query!(
        "SELECT h.seq, greatest(h.purged, coalesce(first.seq - 1, h.seq)) AS \"purged!\"
         FROM event_heads h
         LEFT JOIN LATERAL (
           SELECT e.seq
           FROM events e
           WHERE e.tenant_id = h.tenant_id AND e.ns = h.ns AND e.seq IS NOT NULL AND e.at >= $3
           ORDER BY e.seq
           LIMIT 1
         ) first ON true
         WHERE h.tenant_id = $1 AND h.ns = $2",
        tx.tenant(),
        tx.ns(),
        kept,
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(row.map_or_else(Head::default, |row| Head { seq: row.seq, purged: row.purged }))
}

/// The events after a number, in order.
pub async fn after(tx: &mut TenantTx, seq: i64, limit: i64) -> Result<Vec<Row>> {
    let rows = sqlx::query!(
        "SELECT seq AS \"seq!\", method, change_kind AS \"change_kind: ChangeKind\", memory_id, version, session_id,
           memory_ids, candidate AS \"candidate: Json<Candidate>\", 
           scope_kind AS \"scope_kind: ScopeKind\", scope_key, sensitivity AS \"sensitivity: Sensitivity\", at
         FROM events
         WHERE tenant_id = $1 AND ns = $2 AND seq > $3
         ORDER BY seq
         LIMIT $4",
        tx.tenant(),
        tx.ns(),
        seq,
        limit,
    )
    .fetch_all(&mut **tx)
    .await?;
    let ids = |ids: Vec<Uuid>| ids.into_iter().map(MemoryId::from_uuid).collect();
    let row = rows.into_iter().map(|row| Row {
        seq: row.seq,
        method: row.method,
        change_kind: row.change_kind,
        memory_id: row.memory_id.map(MemoryId::from_uuid),
        version: row.version,
        session_id: row.session_id.map(SessionId::from_uuid),
        memory_ids: row.memory_ids.map(ids).unwrap_or_default(),
        candidate: row.candidate.map(|candidate| candidate.0),
        scope: row.scope_kind.zip(row.scope_key).map(|(kind, key)| Scope { kind, key }),
        sensitivity: row.sensitivity,
        at: row.at,
    });
    Ok(row.collect())
}

/// Removes events of all tenants that were kept long enough, and notes up to where they are gone.
pub async fn purge(tx: &mut OperatorTx, before: DateTime<Utc>, limit: i64) -> Result<u64> {
    let gone = sqlx::query_scalar!(
        "WITH old AS (
           DELETE FROM events e
           USING (
             SELECT tenant_id, ns, event_id
             FROM events
             WHERE at < $1 AND seq IS NOT NULL
             ORDER BY at
             LIMIT $2
             FOR UPDATE SKIP LOCKED
           ) due
           WHERE e.tenant_id = due.tenant_id AND e.ns = due.ns AND e.event_id = due.event_id
           RETURNING e.tenant_id, e.ns, e.seq
         ), heads AS (
           UPDATE event_heads h
           SET purged = greatest(h.purged, gone.seq)
           FROM (SELECT tenant_id, ns, max(seq) AS seq FROM old GROUP BY tenant_id, ns) gone
           WHERE h.tenant_id = gone.tenant_id AND h.ns = gone.ns
         )
         SELECT count(*) AS \"count!\" FROM old",
        before,
        limit,
    )
    .fetch_one(&mut **tx)
    .await?;
    Ok(u64::try_from(gone).unwrap_or(0))
}

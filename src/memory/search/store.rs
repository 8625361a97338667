//! The SQL of search: the one place where a statement is put together.
//!
//! Everything runs as the service under row level security. The words are looked up by equality, which Postgres may
//! do before it checks a row's tenant, and vectors are only ordered by; so that the indexes stay in use (why there is no
//! second role for this: docs/architecture.md, "Isolation").

mod statement;

use chrono::{DateTime, Utc};
use pgvector::HalfVector;
use sqlx::Row;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use self::statement::Sql;
use super::graph::EXACT_UP_TO;
use super::vectors::{Cosines, Vectors};
use crate::db::TenantTx;
use crate::embed::Embedding;
use crate::error::Result;
use crate::id::MemoryId;
use crate::memory::filter::Filter;
use crate::memory::{Category, Scope, ScopeKind};

/// How many records pass a filter that is called narrow, at most: so few that each of them is looked at.
const MAX_NARROW: i64 = 1_000;

/// How many times as many of the nearest are looked at as are wanted: sorting out a few is cheaper than sorting all.
const NEAREST: i64 = 4;

/// How a namespace is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// How many active records it holds.
    pub records: i64,
    /// Whether its vectors are in the HNSW index.
    pub indexed: bool,
    /// The model whose vectors answer.
    pub model: i16,
    /// How often it was written to: nothing in it has changed while this has not.
    pub writes: i64,
}

/// A question, ready to be asked.
#[derive(Debug)]
pub struct Question<'a> {
    /// The terms to find; empty when words do not count.
    pub terms: &'a [String],
    /// The vector to come close to; absent when meaning does not count.
    pub vector: Option<&'a Embedding>,
    /// How close every record comes to it, where that was found out in memory.
    pub cosines: Option<&'a Cosines<'a>>,
    /// Which records it is about.
    pub filter: &'a Filter,
    /// How the namespace is searched.
    pub space: Space,
    /// Whether so few records of a large namespace pass the filter that each of them is looked at.
    pub is_narrow: bool,
    /// The time, for expiry.
    pub now: DateTime<Utc>,
    /// How many candidates each arm gives.
    pub per_arm: i64,
    /// Contents up to this many bytes are given, to be compared with the query.
    pub short_bytes: i32,
}

/// A candidate as it is stored, with its scores.
#[derive(Debug, Clone)]
pub struct Found {
    /// The record.
    pub id: MemoryId,
    /// Its BM25.
    pub lexical: f64,
    /// Its cosine, if it has a vector.
    pub cosine: Option<f64>,
    /// Whether it is among those closest in meaning.
    pub is_near: bool,
    /// What a text with every term once would have.
    pub ideal: f64,
    /// Its conversation.
    pub thread_id: Option<String>,
    /// Who said it.
    pub speaker: Option<String>,
    /// Its key.
    pub key: Option<String>,
    /// Its end, if it is a turn of a conversation.
    pub ending: Option<String>,
    /// Its content, if it is no longer than a question.
    pub short_content: Option<String>,
    /// What sort of thing it says.
    pub category: Category,
    /// Whose it is.
    pub scope: Scope,
    /// How much it matters.
    pub importance: f64,
    /// How sure its writer was.
    pub confidence: f64,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}

impl Space {
    /// Whether it holds so many records that not all of them can be looked at.
    pub fn is_large(self) -> bool {
        self.records > EXACT_UP_TO
    }
}

/// How the namespace is to be searched.
pub async fn space(tx: &mut TenantTx) -> Result<Option<Space>> {
    let row = sqlx::query!(
        "SELECT t.model, n.vectors = 'indexed' AS \"indexed!\", c.records AS \"records!\", c.writes AS \"writes!\"
         FROM tenants t
         JOIN namespaces n ON n.tenant_id = t.tenant_id
         CROSS JOIN LATERAL (
           SELECT coalesce(sum(records), 0)::int8 AS records, coalesce(sum(writes), 0)::int8 AS writes
           FROM namespace_counts
           WHERE tenant_id = n.tenant_id AND ns = n.ns
         ) c
         WHERE t.tenant_id = $1 AND n.ns = $2",
        tx.tenant(),
        tx.ns(),
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(row.map(|row| Space {
        records: row.records,
        indexed: row.indexed,
        model: row.model,
        writes: row.writes,
    }))
}

/// All vectors of a namespace, which is not a large one.
pub async fn vectors(tx: &mut TenantTx, model: i16) -> Result<Vectors> {
    let rows = sqlx::query!(
        "SELECT memory_id, embedding AS \"embedding: HalfVector\"
         FROM memory_vectors
         WHERE tenant_id = $1 AND ns = $2 AND model = $3",
        tx.tenant(),
        tx.ns(),
        model,
    )
    .fetch_all(&mut **tx)
    .await?;
    let rows = rows.iter().map(|row| (MemoryId::from_uuid(row.memory_id), row.embedding.as_slice()));
    Ok(Vectors::new(rows.collect()))
}

/// Whether a filter names scopes, or a conversation, that hold few records together.
pub async fn is_narrow(tx: &mut TenantTx, filter: &Filter) -> Result<bool> {
    if let Some(conversation) = &filter.conversation
        && is_short(tx, conversation).await?
    {
        return Ok(true);
    }
    let (Some(kinds), Some(keys)) = filter.scope_columns() else { return Ok(false) };
    let records = sqlx::query_scalar!(
        "SELECT count(*) AS \"count!\"
         FROM (
           SELECT
           FROM memories
           WHERE tenant_id = $1 AND ns = $2
             AND (scope_kind, scope_key) IN (SELECT * FROM unnest($3::text[], $4::text[]))
           LIMIT $5
         ) m",
        tx.tenant(),
        tx.ns(),
        &kinds as &[ScopeKind],
        &keys,
        MAX_NARROW + 1,
    )
    .fetch_one(&mut **tx)
    .await?;
    Ok(records <= MAX_NARROW)
}

async fn is_short(tx: &mut TenantTx, conversation: &str) -> Result<bool> {
    let records = sqlx::query_scalar!(
        "SELECT count(*) AS \"count!\"
         FROM (
           SELECT
           FROM sources s
           JOIN source_memories m ON m.tenant_id = s.tenant_id AND m.ns = s.ns AND m.source_id = s.source_id
           WHERE s.tenant_id = $1 AND s.ns = $2 AND s.conversation_id = $3
           LIMIT $4
         ) m",
        tx.tenant(),
        tx.ns(),
        conversation,
        MAX_NARROW + 1,
    )
    .fetch_one(&mut **tx)
    .await?;
    Ok(records <= MAX_NARROW)
}

/// How the vectors that come close to a question are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Known already.
    Known,
    /// Through the HNSW graph.
    Graph,
    /// Among the nearest few, most of which pass the filter.
    Nearest,
    /// Among all that pass the filter.
    All,
}

impl Question<'_> {
    /// How many of the nearest are looked at.
    fn nearest(&self) -> usize {
        usize::try_from(NEAREST * self.per_arm).unwrap_or(usize::MAX)
    }

    fn reach(&self) -> Reach {
        if self.space.indexed && self.vector.is_some() && !self.is_narrow {
            return Reach::Graph;
        }
        let Filter { scopes, categories, conversation, .. } = self.filter;
        let is_open = scopes.is_none() && categories.is_none() && conversation.is_none();
        if is_open && self.cosines.is_some() {
            return Reach::Known;
        }
        if is_open && self.space.records > NEAREST * self.per_arm { Reach::Nearest } else { Reach::All }
    }
}

/// The candidates of a question: the best of each arm, with both scores for every one.
pub async fn candidates(tx: &mut TenantTx, question: &Question<'_>) -> Result<Vec<Found>> {
    let reach = question.reach();
    match reach {
        // The planner does not know how far it will have to walk the graph, and prefers to sort.
        Reach::Graph => tx.set_for_now("enable_sort", "off").await?,
        Reach::Nearest | Reach::Known => {}
        // How many records pass is for the planner to see.
        Reach::All => tx.plan_for_values().await?,
    }
    let found = ask(tx, question, reach).await?;
    let near = found.iter().filter(|found| found.is_near).count();
    let were_all =
        reach == Reach::All || question.cosines.is_some_and(|known| known.len() <= question.nearest());
    if were_all || question.vector.is_none() || i64::try_from(near).unwrap_or(i64::MAX) >= question.per_arm {
        return Ok(found);
    }
    // Too many of those that were met did not pass the filter: look at all that do.
    tx.set_for_now("enable_sort", "on").await?;
    tx.plan_for_values().await?;
    ask(tx, question, Reach::All).await
}

async fn ask(tx: &mut TenantTx, question: &Question<'_>, reach: Reach) -> Result<Vec<Found>> {
    let mut sql = Sql::new(tx, question);
    if let (Reach::Known, Some(cosines), true) = (reach, question.cosines, question.terms.is_empty()) {
        sql.known(cosines, question.nearest());
        return sql.fetch(tx).await;
    }
    sql.terms();
    sql.push(", lexical AS (");
    sql.best_by_words();
    sql.push("), semantic AS (");
    match reach {
        Reach::Known => sql.best_of_known(question.nearest()),
        Reach::Graph => sql.best_by_graph(),
        Reach::Nearest => sql.best_of_nearest(NEAREST * question.per_arm),
        Reach::All => sql.best_of_all(),
    }
    sql.push("), found AS (SELECT memory_id, bool_or(is_near) AS is_near FROM (");
    sql.push(
        "SELECT memory_id, false AS is_near FROM lexical UNION ALL SELECT memory_id, true FROM semantic) u ",
    );
    sql.push("GROUP BY memory_id)");
    sql.scores();
    sql.fetch(tx).await
}

/// The turns next to these, as far as the filter lets them be seen, with their scores; and who is next to whom.
pub async fn neighbours(
    tx: &mut TenantTx,
    question: &Question<'_>,
    all: &[MemoryId],
    strongest: &[MemoryId],
) -> Result<(Vec<Link>, Vec<Found>)> {
    let links = links(tx, question, all).await?;
    let wanted: Vec<Uuid> = links
        .iter()
        .filter(|link| strongest.contains(&link.of))
        .flat_map(|link| [link.previous, link.next])
        .flatten()
        .filter(|id| !all.contains(id))
        .map(MemoryId::uuid)
        .collect();
    if wanted.is_empty() {
        return Ok((links, Vec::new()));
    }
    let mut sql = Sql::new(tx, question);
    sql.terms();
    sql.push(", found AS (SELECT DISTINCT memory_id, false AS is_near FROM unnest(")
        .bind(wanted)
        .push("::uuid[]) AS r(memory_id))");
    sql.scores();
    Ok((links, sql.fetch(tx).await?))
}

/// The turns before and after a turn.
#[derive(Debug, Clone, Copy)]
pub struct Link {
    /// The turn.
    pub of: MemoryId,
    /// The one before.
    pub previous: Option<MemoryId>,
    /// The one after.
    pub next: Option<MemoryId>,
}

async fn links(tx: &mut TenantTx, question: &Question<'_>, ids: &[MemoryId]) -> Result<Vec<Link>> {
    let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
    let mut sql = Sql::new(tx, question);
    sql.push("SELECT t.memory_id, p.memory_id AS previous, n.memory_id AS next FROM memories t");
    for (alias, comparison, order) in [("p", "<", "DESC"), ("n", ">", "ASC")] {
        sql.push(" LEFT JOIN LATERAL (SELECT m.memory_id FROM memories m WHERE ").own("m");
        sql.push(" AND m.thread_id = t.thread_id AND (coalesce(m.seq, 0), m.observed_at, m.memory_id) ");
        sql.push(comparison).push(" (coalesce(t.seq, 0), t.observed_at, t.memory_id) AND ");
        sql.passes("m");
        sql.push(" ORDER BY coalesce(m.seq, 0) ").push(order).push(", m.observed_at ").push(order);
        sql.push(", m.memory_id ").push(order).push(" LIMIT 1) ").push(alias).push(" ON true");
    }
    sql.push(" WHERE ")
        .own("t")
        .push(" AND t.thread_id IS NOT NULL AND t.memory_id = ANY(")
        .bind(ids)
        .push(")");
    let rows = sql.query.build().fetch_all(&mut **tx).await?;
    let id = |uuid: Option<Uuid>| uuid.map(MemoryId::from_uuid);
    let link = |row: &PgRow| -> Result<Link, sqlx::Error> {
        let of = MemoryId::from_uuid(row.try_get("memory_id")?);
        Ok(Link { of, previous: id(row.try_get("previous")?), next: id(row.try_get("next")?) })
    };
    Ok(rows.iter().map(link).collect::<Result<_, _>>()?)
}

/// Pairs of these records that are at least this close in meaning.
pub async fn similar(
    tx: &mut TenantTx,
    model: i16,
    ids: &[MemoryId],
    cosine: f64,
) -> Result<Vec<(MemoryId, MemoryId)>> {
    let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
    let rows = sqlx::query!(
        "SELECT a.memory_id AS one, b.memory_id AS other
         FROM memory_vectors a
         JOIN memory_vectors b ON b.tenant_id = a.tenant_id AND b.ns = a.ns AND b.model = a.model
         WHERE a.tenant_id = $1 AND a.ns = $2 AND a.model = $3
           AND a.memory_id = ANY($4) AND b.memory_id = ANY($4) AND a.memory_id <> b.memory_id
           AND 1 - (a.embedding <=> b.embedding) >= $5",
        tx.tenant(),
        tx.ns(),
        model,
        &ids,
        cosine,
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(rows.into_iter().map(|row| (MemoryId::from_uuid(row.one), MemoryId::from_uuid(row.other))).collect())
}

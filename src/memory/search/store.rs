//! The SQL of search: the one place where a statement is put together.
//!
//! Everything runs as the service under row level security. The words are looked up by equality, which Postgres may
//! do before it checks a row's tenant, and vectors are only ordered by; so that the indexes stay in use (design.md
//! section 2 needed a second role for this, because full text search may not be pushed below the policy).

use chrono::{DateTime, Utc};
use pgvector::HalfVector;
use sqlx::postgres::PgRow;
use sqlx::{Postgres, QueryBuilder, Row};
use uuid::Uuid;

use crate::db::TenantTx;
use crate::embed::Embedding;
use crate::error::{Error, Result};
use crate::id::MemoryId;
use crate::memory::bm25::{Corpus, K1};
use crate::memory::filter::Filter;
use crate::memory::{Category, Scope, ScopeKind};

/// How many postings of one term are read, newest first. A term with more is worth little, and all others count
/// exactly; so that no search reads a whole namespace.
const MAX_POSTINGS: i64 = 5_000;

/// How a namespace is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Whether its vectors are in the HNSW index.
    pub indexed: bool,
    /// The model whose vectors answer.
    pub model: i16,
}

/// A question, ready to be asked.
#[derive(Debug)]
pub struct Question<'a> {
    /// The terms to find; empty when words do not count.
    pub terms: &'a [String],
    /// The vector to come close to; absent when meaning does not count.
    pub vector: Option<&'a Embedding>,
    /// Which records it is about.
    pub filter: &'a Filter,
    /// How the namespace is searched.
    pub space: Space,
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

/// How the namespace is to be searched.
pub async fn space(tx: &mut TenantTx) -> Result<Option<Space>> {
    let row = sqlx::query!(
        "SELECT t.model, n.vectors = 'indexed' AS \"indexed!\"
         FROM tenants t
         JOIN namespaces n ON n.tenant_id = t.tenant_id
         WHERE t.tenant_id = $1 AND n.ns = $2",
        tx.tenant(),
        tx.ns(),
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(row.map(|row| Space { indexed: row.indexed, model: row.model }))
}

/// The candidates of a question: the best of each arm, with both scores for every one.
pub async fn candidates(tx: &mut TenantTx, question: &Question<'_>) -> Result<Vec<Found>> {
    if question.space.indexed && question.vector.is_some() {
        // The planner does not know how far it will have to walk the HNSW graph, and prefers to sort.
        sqlx::query("SELECT set_config('enable_sort', 'off', true)").execute(&mut **tx).await?;
    }
    let found = ask(tx, question, question.space.indexed).await?;
    let by_meaning = found.iter().filter(|found| found.cosine.is_some()).count();
    let is_short = (by_meaning as i64) < question.per_arm;
    if question.space.indexed && question.vector.is_some() && is_short {
        // The graph gave up before it met enough records that pass the filter: look at all that do.
        sqlx::query("SELECT set_config('enable_sort', 'on', true)").execute(&mut **tx).await?;
        return ask(tx, question, false).await;
    }
    Ok(found)
}

async fn ask(tx: &mut TenantTx, question: &Question<'_>, by_graph: bool) -> Result<Vec<Found>> {
    let mut sql = Sql::new(tx, question);
    sql.terms();
    sql.push(", lexical AS (");
    sql.best_by_words();
    sql.push("), semantic AS (");
    match by_graph {
        true => sql.best_by_graph(),
        false => sql.best_by_distance(),
    }
    sql.push("), found AS (SELECT memory_id FROM lexical UNION SELECT memory_id FROM semantic)");
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
    sql.push(", found AS (SELECT DISTINCT memory_id FROM unnest(")
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

/// A statement in the making.
struct Sql<'a> {
    query: QueryBuilder<Postgres>,
    question: &'a Question<'a>,
    tenant: Uuid,
    ns: i32,
}

impl<'a> Sql<'a> {
    fn new(tx: &TenantTx, question: &'a Question<'a>) -> Self {
        Self { query: QueryBuilder::new(""), question, tenant: tx.tenant(), ns: tx.ns() }
    }

    fn push(&mut self, sql: &str) -> &mut Self {
        self.query.push(sql);
        self
    }

    fn bind<T>(&mut self, value: T) -> &mut Self
    where
        T: for<'q> sqlx::Encode<'q, Postgres> + sqlx::Type<Postgres>,
    {
        self.query.push_bind(value);
        self
    }

    /// The first wall: rows of this tenant and namespace.
    fn own(&mut self, alias: &str) -> &mut Self {
        let (tenant, ns) = (self.tenant, self.ns);
        self.push(alias).push(".tenant_id = ").bind(tenant);
        self.push(" AND ").push(alias).push(".ns = ").bind(ns)
    }

    /// What the filter and the time ask of a record.
    fn passes(&mut self, alias: &str) {
        let (filter, now) = (self.question.filter, self.question.now);
        self.push(alias).push(".status = 'active' AND ");
        self.push(alias).push(".sensitivity = ANY(").bind(filter.sensitivities.clone()).push(")");
        self.push(" AND (").push(alias).push(".expires_at IS NULL OR ");
        self.push(alias).push(".expires_at > ").bind(now).push(")");
        if let Some(categories) = &filter.categories {
            self.push(" AND ").push(alias).push(".category = ANY(").bind(categories.clone()).push(")");
        }
        if let (Some(kinds), Some(keys)) = filter.scope_columns() {
            self.push(" AND (")
                .push(alias)
                .push(".scope_kind, ")
                .push(alias)
                .push(".scope_key) IN (SELECT * FROM unnest(");
            self.bind(kinds).push(", ").bind(keys).push("::text[]))");
        }
    }

    /// The postings of the terms, what each term is worth, and the sum for each record.
    fn terms(&mut self) {
        let terms = self.question.terms.to_vec();
        self.push("WITH corpus AS (SELECT coalesce(sum(c.records), 0)::float8 AS documents, ");
        self.push("coalesce(sum(c.terms), 0)::float8 AS terms FROM namespace_counts c WHERE ").own("c");
        self.push("), postings AS MATERIALIZED (SELECT p.* FROM unnest(").bind(terms.clone());
        self.push("::text[]) AS q(term) CROSS JOIN LATERAL (SELECT t.term, t.memory_id, t.occurrences, ");
        self.push("t.record_terms FROM memory_terms t WHERE ").own("t");
        self.push(" AND t.term = q.term ORDER BY t.memory_id DESC LIMIT ")
            .bind(MAX_POSTINGS + 1)
            .push(") p), ");
        // A term with too many postings to count them all is taken for half as frequent as it could be, by ratio.
        self.push("frequency AS (SELECT q.term, count(p.term) > ")
            .bind(MAX_POSTINGS)
            .push(" AS is_frequent, ");
        self.push("CASE WHEN count(p.term) > ")
            .bind(MAX_POSTINGS)
            .push(" THEN sqrt(count(p.term) * greatest(count(p.term), ");
        self.push("(SELECT documents FROM corpus))) ELSE count(p.term) END::float8 AS df FROM unnest(")
            .bind(terms);
        self.push("::text[]) AS q(term) LEFT JOIN postings p ON p.term = q.term GROUP BY q.term), ");
        self.push("weight AS MATERIALIZED (SELECT f.term, f.is_frequent, ln(1 + (greatest(c.documents, f.df) - f.df + 0.5) / (f.df + 0.5)) ");
        self.push("AS idf FROM frequency f CROSS JOIN corpus c), ");
        self.push("scored AS MATERIALIZED (SELECT p.memory_id, ")
            .bm25("p")
            .push(" AS score FROM postings p ");
        self.push("JOIN weight w ON w.term = p.term CROSS JOIN corpus c GROUP BY p.memory_id)");
    }

    /// The sum of BM25 over the rows of a group; `bm25::Corpus::weight` says the same and a test compares them.
    fn bm25(&mut self, postings: &str) -> &mut Self {
        let sum = format!(
            "coalesce(sum(w.idf * {postings}.occurrences * {gain}::float8 / ({postings}.occurrences + {floor}::float8 + \
             {slope}::float8 * {postings}.record_terms * c.documents / greatest(c.terms, 1))), 0)",
            gain = K1 + 1.0,
            floor = Corpus::floor(),
            slope = Corpus { documents: 1.0, average_length: 1.0 }.slope(),
        );
        self.push(&sum)
    }

    fn best_by_words(&mut self) {
        let limit = self.question.per_arm;
        self.push("SELECT s.memory_id FROM (SELECT * FROM scored ORDER BY score DESC, memory_id DESC) s ");
        self.filtered("s");
        self.push(" ORDER BY s.score DESC, s.memory_id DESC LIMIT ").bind(limit);
    }

    /// Keeps the rows of `alias` whose record passes the filter, in their order, looking at no more than needed.
    fn filtered(&mut self, alias: &str) {
        self.push("CROSS JOIN LATERAL (SELECT FROM memories m WHERE ").own("m");
        self.push(" AND m.memory_id = ").push(alias).push(".memory_id AND ");
        self.passes("m");
        self.push(" OFFSET 0) m");
    }

    /// The vectors of the tenant's model in this namespace.
    fn vectors(&mut self) {
        let model = self.question.space.model;
        self.own("v").push(" AND v.model = ").bind(model);
    }

    fn best_by_distance(&mut self) {
        let Some(vector) = self.question.vector.map(halfvec) else {
            self.push("SELECT NULL::uuid AS memory_id WHERE false");
            return;
        };
        let limit = self.question.per_arm;
        let is_narrow = self.question.filter.scopes.is_some() || self.question.filter.categories.is_some();
        // The zero keeps the HNSW index out of it, which would give too few rows of a small namespace.
        if is_narrow {
            self.push("SELECT v.memory_id FROM memory_vectors v JOIN memories m ON ").own("m");
            self.push(" AND m.memory_id = v.memory_id WHERE ");
            self.vectors();
            self.push(" AND ");
            self.passes("m");
            self.push(" ORDER BY (v.embedding <=> ").bind(vector).push(") + 0 LIMIT ").bind(limit);
            return;
        }
        self.push("SELECT s.memory_id FROM (SELECT v.memory_id, (v.embedding <=> ").bind(vector);
        self.push(") + 0 AS distance FROM memory_vectors v WHERE ");
        self.vectors();
        self.push(" ORDER BY distance) s ");
        self.filtered("s");
        self.push(" ORDER BY s.distance LIMIT ").bind(limit);
    }

    /// The index is on the expression with its length, for this model's rows of large namespaces.
    fn best_by_graph(&mut self) {
        let Some(embedding) = self.question.vector else { return self.best_by_distance() };
        let (vector, limit) = (halfvec(embedding), self.question.per_arm);
        let (dimensions, model) = (embedding.dimensions(), self.question.space.model);
        let distance = format!("(v.embedding::halfvec({dimensions})) <=> ");
        self.push("SELECT s.memory_id FROM (SELECT v.memory_id, ").push(&distance).bind(vector.clone());
        self.push("::halfvec AS distance FROM memory_vectors v WHERE ").own("v");
        // As text, so that the planner sees that the partial index of this model serves.
        self.push(&format!(" AND v.model = {model} AND v.indexed ORDER BY ")).push(&distance).bind(vector);
        self.push("::halfvec) s ");
        self.filtered("s");
        self.push(" LIMIT ").bind(limit);
    }

    /// Both scores and the rest of what ranking needs, for every record of `found`.
    fn scores(&mut self) {
        let (vector, short) = (self.question.vector.map(halfvec), self.question.short_bytes);
        let model = self.question.space.model;
        // Frequent terms were read in part: what they are worth to these few records is looked up.
        self.push(", rest AS (SELECT t.memory_id, ")
            .bm25("t")
            .push(" AS score FROM found f CROSS JOIN weight w CROSS JOIN corpus c ");
        self.push("JOIN memory_terms t ON ")
            .own("t")
            .push(" AND t.term = w.term AND t.memory_id = f.memory_id ");
        self.push("WHERE w.is_frequent AND NOT EXISTS (SELECT FROM postings p WHERE p.term = w.term AND p.memory_id = f.memory_id) ");
        self.push("GROUP BY t.memory_id) ");
        self.push("SELECT m.memory_id, coalesce(s.score, 0) + coalesce(r.score, 0) AS lexical, ");
        self.push("1 - (v.embedding <=> ").bind(vector).push("::halfvec) AS cosine, ");
        self.push("coalesce((SELECT sum(idf) FROM weight), 0) AS ideal, m.thread_id, m.speaker, m.key, ");
        self.push("CASE WHEN m.thread_id IS NOT NULL THEN right(m.content, 400) END AS ending, ");
        self.push("CASE WHEN octet_length(m.content) <= ")
            .bind(short)
            .push(" THEN m.content END AS short_content, ");
        self.push("m.category, m.scope_kind, m.scope_key, m.importance, m.confidence, m.updated_at ");
        self.push("FROM found f JOIN memories m ON ").own("m").push(" AND m.memory_id = f.memory_id ");
        self.push(
            "LEFT JOIN scored s ON s.memory_id = f.memory_id LEFT JOIN rest r ON r.memory_id = f.memory_id ",
        );
        self.push("LEFT JOIN memory_vectors v ON ").own("v").push(" AND v.model = ").bind(model);
        self.push(" AND v.memory_id = f.memory_id");
    }

    async fn fetch(&mut self, tx: &mut TenantTx) -> Result<Vec<Found>> {
        let rows = self.query.build().fetch_all(&mut **tx).await?;
        let found: Result<Vec<Found>, sqlx::Error> = rows.iter().map(found).collect();
        found.map_err(Error::from)
    }
}

fn halfvec(embedding: &Embedding) -> HalfVector {
    HalfVector::from_f32_slice(embedding.as_slice())
}

fn found(row: &PgRow) -> Result<Found, sqlx::Error> {
    Ok(Found {
        id: MemoryId::from_uuid(row.try_get("memory_id")?),
        lexical: row.try_get("lexical")?,
        cosine: row.try_get("cosine")?,
        ideal: row.try_get("ideal")?,
        thread_id: row.try_get("thread_id")?,
        speaker: row.try_get("speaker")?,
        key: row.try_get("key")?,
        ending: row.try_get("ending")?,
        short_content: row.try_get("short_content")?,
        category: row.try_get("category")?,
        scope: Scope { kind: row.try_get::<ScopeKind, _>("scope_kind")?, key: row.try_get("scope_key")? },
        importance: row.try_get("importance")?,
        confidence: row.try_get("confidence")?,
        updated_at: row.try_get("updated_at")?,
    })
}

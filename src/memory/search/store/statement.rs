//! The statement of a search, put together from what the question asks.

use pgvector::HalfVector;
use sqlx::postgres::PgRow;
use sqlx::{Postgres, QueryBuilder, Row};
use uuid::Uuid;

use super::{Found, Question};
use crate::db::TenantTx;
use crate::embed::Embedding;
use crate::error::Result;
use crate::id::MemoryId;
use crate::memory::bm25::{Corpus, K1};
use crate::memory::search::graph::EXACT_UP_TO;
use crate::memory::search::vectors::Cosines;
use crate::memory::{Scope, ScopeKind};

/// How many postings of one term are read, newest first. A term with more is worth little, and all others count
/// exactly; so that no search reads a whole namespace, unless it is so small that its vectors are all compared, too.
pub const MAX_POSTINGS: i64 = EXACT_UP_TO;

/// A statement in the making.
pub struct Sql<'a> {
    pub query: QueryBuilder<Postgres>,
    question: &'a Question<'a>,
    tenant: Uuid,
    ns: i32,
}

impl<'a> Sql<'a> {
    pub fn new(tx: &TenantTx, question: &'a Question<'a>) -> Self {
        Self { query: QueryBuilder::new(""), question, tenant: tx.tenant(), ns: tx.ns() }
    }

    pub fn push(&mut self, sql: &str) -> &mut Self {
        self.query.push(sql);
        self
    }

    pub fn bind<T>(&mut self, value: T) -> &mut Self
    where
        T: for<'q> sqlx::Encode<'q, Postgres> + sqlx::Type<Postgres>,
    {
        self.query.push_bind(value);
        self
    }

    /// The first wall: rows of this tenant and namespace.
    pub fn own(&mut self, alias: &str) -> &mut Self {
        let (tenant, ns) = (self.tenant, self.ns);
        self.push(alias).push(".tenant_id = ").bind(tenant);
        self.push(" AND ").push(alias).push(".ns = ").bind(ns)
    }

    /// What the filter and the time ask of a record.
    pub fn passes(&mut self, alias: &str) {
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
        if let Some(conversation) = &filter.conversation {
            self.push(" AND EXISTS (SELECT FROM source_memories l JOIN sources o ON ").own("o");
            self.push(" AND o.source_id = l.source_id WHERE ").own("l");
            self.push(" AND l.memory_id = ").push(alias).push(".memory_id AND o.conversation_id = ");
            self.bind(conversation.clone()).push(")");
        }
    }

    /// The postings of the terms, what each term is worth, and the sum for each record.
    pub fn terms(&mut self) {
        let terms = self.question.terms.to_vec();
        if terms.is_empty() && !self.question.is_narrow && !self.question.space.is_large() {
            self.push("WITH weight AS (SELECT 0::float8 AS idf), ");
            self.push("scored AS (SELECT NULL::uuid AS memory_id, 0::float8 AS score WHERE false)");
            return;
        }
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
        self.readings();
        self.push("scored AS MATERIALIZED (SELECT p.memory_id, ")
            .bm25("p")
            .push(" AS score FROM readings p ");
        self.push("JOIN weight w ON w.term = p.term CROSS JOIN corpus c GROUP BY p.memory_id)");
    }

    /// The postings that are summed up. Of a frequent term not all were read, and those of a narrow filter may be among
    /// the others: these are looked up one by one.
    fn readings(&mut self) {
        if !self.question.is_narrow {
            self.push("readings AS (SELECT * FROM postings), ");
            return;
        }
        self.push("narrow AS MATERIALIZED (SELECT m.memory_id FROM memories m WHERE ").own("m").push(" AND ");
        self.passes("m");
        self.push("), readings AS MATERIALIZED (SELECT p.* FROM postings p JOIN narrow n ON n.memory_id = p.memory_id ");
        self.push("JOIN weight w ON w.term = p.term WHERE NOT w.is_frequent ");
        self.push("UNION ALL SELECT t.* FROM weight w CROSS JOIN narrow n ");
        self.posting_of("n");
        self.push(" WHERE w.is_frequent), ");
    }

    /// Joins the posting of `w.term` in the record of `alias`, by its key and in no other way.
    fn posting_of(&mut self, alias: &str) {
        self.push("CROSS JOIN LATERAL (SELECT t.term, t.memory_id, t.occurrences, t.record_terms ");
        self.push("FROM memory_terms t WHERE ").own("t");
        self.push(" AND t.term = w.term AND t.memory_id = ").push(alias).push(".memory_id OFFSET 0) t");
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

    pub fn best_by_words(&mut self) {
        let limit = self.question.per_arm;
        if self.question.is_narrow {
            self.push("SELECT s.memory_id FROM scored s ORDER BY s.score DESC, s.memory_id DESC LIMIT ")
                .bind(limit);
            return;
        }
        self.push("SELECT s.memory_id FROM (SELECT * FROM scored ORDER BY score DESC, memory_id DESC) s ");
        self.filtered("s");
        self.push(" ORDER BY s.score DESC, s.memory_id DESC LIMIT ").bind(limit);
    }

    /// Keeps the rows of `alias` whose record passes the filter, in their order, looking at no more than needed.
    fn filtered(&mut self, alias: &str) {
        // By its key: before the first ANALYZE, an index on the active records of a namespace looks as good.
        self.push("CROSS JOIN LATERAL (SELECT m.* FROM memories m WHERE ").own("m");
        self.push(" AND m.memory_id = ").push(alias).push(".memory_id OFFSET 0) m ");
        self.push("WHERE ").passes("m");
    }

    /// The vectors of the tenant's model in this namespace.
    fn vectors(&mut self) {
        let model = self.question.space.model;
        self.own("v").push(" AND v.model = ").bind(model);
    }

    /// The best of the nearest few, whose distance alone is looked at first.
    pub fn best_of_nearest(&mut self, nearest: i64) {
        let Some(vector) = self.question.vector.map(halfvec) else { return self.none() };
        let limit = self.question.per_arm;
        self.push("SELECT s.memory_id FROM (SELECT v.memory_id, (v.embedding <=> ").bind(vector);
        self.push(") + 0 AS distance FROM memory_vectors v WHERE ");
        self.vectors();
        self.push(" ORDER BY distance LIMIT ").bind(nearest).push(") s ");
        self.filtered("s");
        self.push(" ORDER BY s.distance LIMIT ").bind(limit);
    }

    /// The best of the nearest few, which are known already.
    pub fn best_of_known(&mut self, nearest: usize) {
        let Some(cosines) = self.question.cosines else { return self.none() };
        let ids: Vec<Uuid> = cosines.nearest(nearest).into_iter().map(MemoryId::uuid).collect();
        let limit = self.question.per_arm;
        self.push("SELECT s.memory_id FROM (SELECT * FROM unnest(").bind(ids);
        self.push("::uuid[]) WITH ORDINALITY AS u(memory_id, place) ORDER BY place) s ");
        self.filtered("s");
        self.push(" ORDER BY s.place LIMIT ").bind(limit);
    }

    /// The same, with all that ranking needs, for a question in which words do not count.
    pub fn known(&mut self, cosines: &Cosines<'_>, nearest: usize) {
        let ids: Vec<Uuid> = cosines.nearest(nearest).into_iter().map(MemoryId::uuid).collect();
        let limit = self.question.per_arm;
        self.push(
            "SELECT m.*, true AS is_near, NULL::float8 AS cosine, 0::float8 AS ideal, 0::float8 AS lexical ",
        );
        self.push("FROM (SELECT * FROM unnest(").bind(ids);
        self.push("::uuid[]) WITH ORDINALITY AS u(memory_id, place) ORDER BY place) s CROSS JOIN ");
        self.record_of("s");
        self.push("WHERE ").passes("m");
        self.push(" ORDER BY s.place LIMIT ").bind(limit);
    }

    fn none(&mut self) {
        self.push("SELECT NULL::uuid AS memory_id WHERE false");
    }

    /// The best of all that pass the filter.
    pub fn best_of_all(&mut self) {
        let Some(vector) = self.question.vector.map(halfvec) else { return self.none() };
        let limit = self.question.per_arm;
        // The zero keeps the HNSW index out of it, which would give too few rows of a small namespace.
        self.push("SELECT v.memory_id FROM memory_vectors v JOIN memories m ON ").own("m");
        self.push(" AND m.memory_id = v.memory_id WHERE ");
        self.vectors();
        self.push(" AND ");
        self.passes("m");
        self.push(" ORDER BY (v.embedding <=> ").bind(vector).push(") + 0 LIMIT ").bind(limit);
    }

    /// The index is on the expression with its length, for this model's rows of large namespaces.
    pub fn best_by_graph(&mut self) {
        let Some(embedding) = self.question.vector else { return self.none() };
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
    ///
    /// The records are looked up one by one, whatever the planner thinks of their number: before the first ANALYZE it
    /// takes tables for small, and would read them whole.
    pub fn scores(&mut self) {
        let vector = self.question.vector.map(halfvec);
        let (model, is_large) = (self.question.space.model, self.question.space.is_large());
        if is_large {
            // Frequent terms were read in part: what they are worth to these few records is looked up.
            self.push(", rest AS (SELECT t.memory_id, ").bm25("t");
            self.push(" AS score FROM found f CROSS JOIN weight w CROSS JOIN corpus c ");
            self.posting_of("f");
            self.push(" WHERE w.is_frequent AND NOT EXISTS (SELECT FROM readings p ");
            self.push("WHERE p.term = w.term AND p.memory_id = f.memory_id) GROUP BY t.memory_id)");
        }
        self.push(" SELECT m.*, f.is_near, ");
        self.push(if self.question.cosines.is_some() { "NULL::float8 AS cosine" } else { "v.cosine" });
        self.push(", coalesce((SELECT sum(idf) FROM weight), 0) AS ideal, ");
        self.push("coalesce(s.score, 0)").push(if is_large { " + coalesce(r.score, 0)" } else { "" });
        self.push(" AS lexical FROM found f CROSS JOIN ");
        self.record_of("f");
        if self.question.cosines.is_none() {
            self.push("LEFT JOIN LATERAL (SELECT 1 - (v.embedding <=> ").bind(vector);
            self.push("::halfvec) AS cosine FROM memory_vectors v WHERE ")
                .own("v")
                .push(" AND v.model = ")
                .bind(model);
            self.push(" AND v.memory_id = f.memory_id OFFSET 0) v ON true ");
        }
        self.push("LEFT JOIN scored s ON s.memory_id = f.memory_id");
        self.push(if is_large { " LEFT JOIN rest r ON r.memory_id = f.memory_id" } else { "" });
    }

    /// What ranking and the filter need of the record of `alias`, found by its key and in no other way, as `m`.
    fn record_of(&mut self, alias: &str) {
        let short = self.question.short_bytes;
        self.push("LATERAL (SELECT m.memory_id, m.thread_id, m.speaker, m.key, ");
        self.push("CASE WHEN m.thread_id IS NOT NULL THEN right(m.content, 400) END AS ending, ");
        self.push("CASE WHEN octet_length(m.content) <= ")
            .bind(short)
            .push(" THEN m.content END AS short_content, m.status, m.sensitivity, m.expires_at, ");
        self.push("m.category, m.scope_kind, m.scope_key, m.importance, m.confidence, m.updated_at ");
        self.push("FROM memories m WHERE ").own("m").push(" AND m.memory_id = ").push(alias);
        self.push(".memory_id OFFSET 0) m ");
    }

    pub async fn fetch(&mut self, tx: &mut TenantTx) -> Result<Vec<Found>> {
        let rows = self.query.build().fetch_all(&mut **tx).await?;
        let mut found = rows.iter().map(found).collect::<Result<Vec<Found>, sqlx::Error>>()?;
        if let Some(cosines) = self.question.cosines {
            for found in &mut found {
                found.cosine = cosines.of(found.id);
            }
        }
        Ok(found)
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
        is_near: row.try_get("is_near")?,
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

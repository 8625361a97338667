//! Namespaces of every size in one database: nothing is missed in the small ones, and no search reads a large one
//! as a whole (acceptance 8, C028).

use memtide::id::MemoryId;
use memtide::memory::terms::terms;
use pgvector::HalfVector;
use serde_json::{Value, json};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::support::{Client, TestApp};

/// Records of the namespaces, the largest last.
const SIZES: [usize; 4] = [3, 300, 3_000, 30_000];

/// How many of the largest are left for the service to put into the index; each costs it some milliseconds.
const UNMARKED: i64 = 200;

/// How many questions each namespace is asked.
const QUESTIONS: usize = 25;

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    /// From -1 to 1, zero most often.
    fn noise(&mut self) -> f32 {
        let mut one = || f32::from(u16::try_from(self.next() >> 48).unwrap()) / 65_536.0;
        one() + one() - 1.0
    }
}

/// A vector near the centre of a topic. Topics are near themes, as in the vectors of real texts.
fn near(topic: usize, dice: &mut Dice) -> Vec<f32> {
    let (mut theme, mut own) = (Dice(topic as u64 % 7), Dice(1_000 + topic as u64));
    (0..384).map(|_| theme.noise() + own.noise() + 0.8 * dice.noise()).collect()
}

const VERBS: [&str; 6] = ["ordered", "returned", "repaired", "painted", "sold", "measured"];
const THINGS: [&str; 8] = ["lamp", "table", "window", "bicycle", "kettle", "ladder", "carpet", "shelf"];

struct Row {
    id: Uuid,
    user: String,
    content: String,
    vector: Vec<f32>,
}

/// Records of many users about many topics. All hold the word `warehouse`, and one in forty is the special user's.
fn rows(size: usize) -> Vec<Row> {
    let mut dice = Dice(size as u64);
    let every = (size / 25).max(1);
    (0..size)
        .map(|n| {
            let topic = dice.below(200);
            let (verb, thing) = (VERBS[dice.below(6)], THINGS[dice.below(8)]);
            Row {
                id: MemoryId::new().uuid(),
                user: if n % every == 0 && n / every < 25 {
                    "narrow".to_owned()
                } else {
                    format!("user {}", n % 97)
                },
                content: format!("The warehouse {verb} {thing} number {n} of topic{topic}."),
                vector: near(topic, &mut dice),
            }
        })
        .collect()
}

/// Stores rows as the service would have, all at once.
async fn store(db: &mut PgConnection, tenant: Uuid, rows: &[Row], indexed: bool) {
    for part in rows.chunks(1_000) {
        let ids: Vec<Uuid> = part.iter().map(|row| row.id).collect();
        let users: Vec<&str> = part.iter().map(|row| row.user.as_str()).collect();
        let contents: Vec<&str> = part.iter().map(|row| row.content.as_str()).collect();
        let vectors: Vec<HalfVector> =
            part.iter().map(|row| HalfVector::from_f32_slice(&row.vector)).collect();
        let (mut words, mut word_of, mut length) = (Vec::new(), Vec::new(), Vec::new());
        for row in part {
            let terms = terms(&row.content, None, None);
            for word in terms.counts.keys() {
                words.push(word.clone());
                word_of.push(row.id);
                length.push(i32::from(terms.length));
            }
        }
        sqlx::query(
            "WITH records AS (
               INSERT INTO memories (tenant_id, ns, memory_id, identity, scope_kind, scope_key, category, content, status,
                 sensitivity, confidence, importance, provenance, observed_at, version, created_at, updated_at,
                 terms_version)
               SELECT $1, 1, id, uuid_send(id), 'user', who, 'custom', content, 'active', 'normal', 1, 0.5, '{}', now(), 1,
                 now(), now(), 1
               FROM unnest($2::uuid[], $3::text[], $4::text[]) AS r(id, who, content)
             ), vectors AS (
               INSERT INTO memory_vectors (tenant_id, ns, model, memory_id, indexed, embedding)
               SELECT $1, 1, 1, id, $6, l2_normalize(embedding) FROM unnest($2::uuid[], $5::halfvec[]) AS r(id, embedding)
             ), counts AS (
               INSERT INTO namespace_counts (tenant_id, ns, stripe, records, terms, writes)
               SELECT $1, 1, 99, cardinality($2), sum(length), 1 FROM (
                 SELECT DISTINCT id, length FROM unnest($8::uuid[], $9::int4[]) AS r(id, length)) l
               ON CONFLICT ON CONSTRAINT namespace_counts_pkey DO UPDATE
               SET records = namespace_counts.records + excluded.records,
                 terms = namespace_counts.terms + excluded.terms,
                 writes = namespace_counts.writes + 1
             )
             INSERT INTO memory_terms (tenant_id, ns, term, memory_id, occurrences, record_terms)
             SELECT $1, 1, word, id, 1, length FROM unnest($7::text[], $8::uuid[], $9::int4[]) AS r(word, id, length)",
        )
        .bind(tenant)
        .bind(&ids)
        .bind(&users)
        .bind(&contents)
        .bind(&vectors)
        .bind(indexed)
        .bind(&words)
        .bind(&word_of)
        .bind(&length)
        .execute(&mut *db)
        .await
        .unwrap();
    }
}

/// The ten closest records by comparing all, of everybody or of one user.
async fn exact(db: &mut PgConnection, tenant: Uuid, vector: &[f32], user: Option<&str>) -> Vec<MemoryId> {
    let ids: Vec<Uuid> = sqlx::query_scalar(
        "SELECT v.memory_id
         FROM memory_vectors v
         JOIN memories m USING (tenant_id, ns, memory_id)
         WHERE v.tenant_id = $1 AND ($3::text IS NULL OR m.scope_key = $3)
         ORDER BY (v.embedding <=> $2) + 0
         LIMIT 10",
    )
    .bind(tenant)
    .bind(HalfVector::from_f32_slice(vector))
    .bind(user)
    .fetch_all(db)
    .await
    .unwrap();
    ids.into_iter().map(MemoryId::from_uuid).collect()
}

fn ids(hits: &[Value]) -> Vec<MemoryId> {
    hits.iter().map(|hit| hit["record"]["id"].as_str().unwrap().parse().unwrap()).collect()
}

fn question(more: Value) -> Value {
    crate::support::with(json!({ "query": "warehouse" }), more)
}

fn scope_of(user: &str) -> Value {
    json!([{ "kind": "user", "key": user }])
}

/// Asks for k records in every mode, and for the closest ten.
async fn check(db: &mut PgConnection, client: &Client, tenant: Uuid, size: usize) {
    let narrow = if size < 25 { size } else { 25 };
    let mut dice = Dice(7);
    let vector = near(3, &mut dice);
    for mode in ["hybrid", "lexical", "semantic"] {
        for (k, filter, matching) in
            [(20, None, size), (100, None, size), (100, Some("narrow"), narrow), (10, Some("nobody"), 0)]
        {
            let mut search = question(json!({ "mode": mode, "limit": k, "query_embedding": vector }));
            if let Some(user) = filter {
                search["scopes"] = scope_of(user);
            }
            let hits = client.search(search).await.len();
            assert_eq!(hits, matching.min(k), "{size} records, {mode}, {k}, {filter:?}");
        }
    }
    let (mut found, mut wanted) = ([0; 2], [0; 2]);
    for at in 0..QUESTIONS {
        let vector = near(at * 8, &mut dice);
        for (place, user) in [None, Some("narrow")].into_iter().enumerate() {
            let closest = exact(db, tenant, &vector, user).await;
            let mut search = question(json!({ "mode": "semantic", "limit": 10, "query_embedding": vector }));
            if let Some(user) = user {
                search["scopes"] = scope_of(user);
            }
            let got = ids(&client.search(search).await);
            wanted[place] += closest.len();
            found[place] += closest.iter().filter(|id| got.contains(id)).count();
        }
    }
    for place in 0..2 {
        assert!(
            found[place] * 100 >= wanted[place] * 95,
            "{size} records: {} of {}",
            found[place],
            wanted[place]
        );
    }
}

#[tokio::test]
async fn every_size_of_namespace_is_searched_well_c028_acceptance_8() {
    let app = TestApp::start().await;
    let mut db = app.db.superuser().await;
    let mut tenants = Vec::new();
    sqlx::raw_sql("DROP INDEX memory_vectors_hnsw_1").execute(&mut db).await.unwrap();
    for size in SIZES {
        let made = app.tenant(&format!("size-{size}")).await;
        // The namespace is there once something was written.
        let first = made.client.remember(crate::support::placed("gone", 0)).await;
        let path = format!("/v1/memory/items/{}", first["id"].as_str().unwrap());
        made.client.delete(&path).await.expect(200);
        store(&mut db, made.id.uuid(), &rows(size), size == 30_000).await;
        tenants.push((made, size));
    }
    // The index is built over most of the large namespace at once, because row by row takes minutes.
    sqlx::query("UPDATE memory_vectors SET indexed = false WHERE memory_id IN (SELECT memory_id FROM memory_vectors WHERE indexed LIMIT $1)")
        .bind(UNMARKED)
        .execute(&mut db)
        .await
        .unwrap();
    sqlx::raw_sql(
        "SET maintenance_work_mem = '256MB';
         CREATE INDEX memory_vectors_hnsw_1 ON memory_vectors
           USING hnsw ((embedding::halfvec(384)) halfvec_cosine_ops) WITH (m = 16, ef_construction = 64)
           WHERE model = 1 AND indexed;
         ANALYZE",
    )
    .execute(&mut db)
    .await
    .unwrap();
    for (made, size) in &tenants {
        check(&mut db, &made.client, made.id.uuid(), *size).await;
    }
    wait_for_index(&app, &mut db).await;
    let (large, size) = tenants.last().unwrap();
    check(&mut db, &large.client, large.id.uuid(), *size).await;
    // What is written from now on is in the index at once.
    let new = large.client.remember(crate::support::placed("brand new", 5)).await;
    let vector: Vec<u8> = (0..384).map(|at| u8::from(at == 5)).collect();
    let search = question(json!({ "mode": "semantic", "limit": 1, "query_embedding": vector }));
    assert_eq!(large.client.search(search).await[0]["record"]["id"], new["id"]);
    assert_words_read_a_part(&mut db, &large.client).await;
}

/// Does housekeeping until the large namespace, and no other, is in the index. That takes until every transaction on
/// this Postgres that was under way has ended.
async fn wait_for_index(app: &TestApp, db: &mut PgConnection) {
    let mut states: Vec<String> = Vec::new();
    for _ in 0..1_500 {
        memtide::job::tidy(&app.app).await;
        let all = "SELECT vectors FROM namespaces JOIN tenants USING (tenant_id) ORDER BY tenants.created_at";
        states = sqlx::query_scalar(all).fetch_all(&mut *db).await.unwrap();
        if states[3] == "indexed" {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert_eq!(states, ["exact", "exact", "exact", "indexed"]);
}

/// Looks at what Postgres counts: a search by a word that every record has, and one of a single user's.
async fn assert_words_read_a_part(db: &mut PgConnection, client: &Client) {
    for filter in [json!({}), json!({ "scopes": scope_of("narrow") })] {
        // What others read before is reported when their connection ends, what this one read when told; and forgotten.
        for sql in [
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid()",
            "SELECT pg_stat_force_next_flush()",
            "SELECT pg_stat_reset()",
        ] {
            sqlx::raw_sql(sql).execute(&mut *db).await.unwrap();
        }
        let search =
            crate::support::with(json!({ "query": "warehouse lamp", "mode": "lexical" }), filter.clone());
        // Backends report what they did at most once a second, after a statement.
        let mut reads = (0, 0, 0);
        for _ in 0..300 {
            client.search(search.clone()).await;
            reads = counted(db).await;
            if reads.0 > 0 && reads.1 > 0 {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        let (searches, postings, records) = reads;
        assert!(searches > 0 && postings > 0, "{filter}");
        // Two terms, each read up to 5,001 times; the records of one page and its candidates.
        assert!(postings <= searches * 2 * 5_300, "{postings} postings in {searches} searches, {filter}");
        assert!(records <= searches * 3_000, "{records} records in {searches} searches, {filter}");
    }
}

/// How often the table of tenants was read, which is once a search, and how many postings and records were.
async fn counted(db: &mut PgConnection) -> (i64, i64, i64) {
    sqlx::query_as(
        "SELECT pg_stat_get_numscans('tenants'::regclass) + pg_stat_get_numscans('tenants_pkey'::regclass),
           (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'memory_terms')::int8
             + pg_stat_get_tuples_returned('memory_terms'::regclass),
           (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'memories')::int8
             + pg_stat_get_tuples_returned('memories'::regclass)",
    )
    .fetch_one(db)
    .await
    .unwrap()
}

/// Within the deadline of a request, also in a development build.
#[tokio::test]
async fn a_scope_of_ten_thousand_records_is_forgotten_at_once_c109() {
    let app = TestApp::start_lexical().await;
    let mut db = app.db.superuser().await;
    let made = app.tenant("large").await;
    let mut rows = rows(10_001);
    for row in &mut rows {
        row.user = "all".to_owned();
    }
    made.client.remember(crate::support::fact("there is a namespace now")).await;
    store(&mut db, made.id.uuid(), &rows, false).await;
    let target = json!({ "target": { "kind": "scope", "scope": { "kind": "user", "key": "all" } } });
    let details = made.client.post("/v1/memory/forget", target.clone()).await.names(400, "target.scope");
    assert_eq!((&details["limit"], &details["actual"]), (&json!(10_000), &json!(10_001)));
    let one = format!("/v1/memory/items/{}", MemoryId::from_uuid(rows[7].id));
    made.client.delete(&one).await.expect(200);
    let gone = made.client.post("/v1/memory/forget", target).await.expect(200);
    assert_eq!(gone["forgotten_memory_ids"].as_array().unwrap().len(), 10_000);
    let left: (i64, i64) = sqlx::query_as(
        "SELECT (SELECT count(*) FROM memory_vectors), (SELECT sum(records)::int8 FROM namespace_counts)",
    )
    .fetch_one(&mut db)
    .await
    .unwrap();
    assert_eq!(left, (0, 1));
}

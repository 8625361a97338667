//! A tenant with something to lose, and what others hold.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use memtide::id::{CandidateId, CapabilityId, JobId, KeyId, MemoryId, SessionId, TenantId};
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;

use super::routes::{SLOT, Target};
use crate::support::{Client, Made, TestApp, pending, redis};

/// What stands in every record of the tenant that is looked after.
pub const MARKER: &str = "kept-by-home";

/// A service with a tenant that is looked after, and a foreign one.
pub struct Stage {
    pub app: TestApp,
    pub home: Made,
    pub foreign: Made,
    planted: AtomicUsize,
}

impl Stage {
    pub async fn set() -> Self {
        let app = TestApp::start().await;
        // What captures ask for is not looked at here.
        app.leaves_jobs();
        let (home, foreign) = (app.tenant("home").await, app.tenant("foreign").await);
        let stage = Self { app, home, foreign, planted: AtomicUsize::new(0) };
        let own = json!({ "scope": { "kind": "user", "key": "alice" }, "category": "custom", "content": "The lighthouse of the foreign tenant stands on rock." });
        stage.foreign.client.post("/v1/memory/items", own).await.expect(201);
        stage
    }

    /// Records of the home tenant for a request to be aimed at, of this scope and sensitivity.
    pub async fn plant(&self, scope_key: &str, sensitivity: &str) -> Target {
        let client = &self.home.client;
        let memory = self.remember(client, scope_key, sensitivity).await;
        let forgotten = self.remember(client, scope_key, sensitivity).await;
        client.delete(&format!("/v1/memory/items/{forgotten}")).await.expect(200);
        let capability = self.holding(&self.home, json!({ "namespace": "default" })).await;
        // Scopes and sensitivities bind neither working memory nor sessions, so that only strangers must not see
        // this.
        let is_secret = scope_key == "alice" && sensitivity == "normal";
        let value = if is_secret { MARKER } else { "a note" };
        client
            .post("/v1/working-memory/slots/inject", json!({ "id": SLOT, "value": value }))
            .await
            .expect(200);
        let session = client.session(value).await;
        client.resolve(&session, value).await;
        let whoami = capability.get("/v1/auth/whoami").await.expect(200);
        let [job, failed_job] = self.jobs(scope_key, &memory).await;
        Target {
            tenant: self.home.id.to_string(),
            slug: "home".to_owned(),
            key: KeyId::new().to_string(),
            token: KeyId::new().to_string(),
            capability: whoami["jti"].as_str().unwrap().to_owned(),
            memory,
            forgotten,
            candidate: self.propose(client, scope_key, sensitivity).await,
            twin: self.propose(client, scope_key, sensitivity).await,
            session,
            job,
            failed_job,
            words: "lighthouse rock".to_owned(),
        }
    }

    async fn remember(&self, client: &Client, scope_key: &str, sensitivity: &str) -> String {
        let number = self.planted.fetch_add(1, Ordering::Relaxed);
        let body = json!({
            "scope": { "kind": "user", "key": scope_key },
            "category": "custom",
            "content": format!("The lighthouse of {MARKER} stands on rock {number}."),
            "key": format!("{MARKER}/{number}"),
            "sensitivity": sensitivity,
            "metadata": { "marker": MARKER },
            "context": { "thread_id": MARKER, "seq": number, "speaker": MARKER },
        });
        let made = client.post("/v1/memory/items", body).await.expect(201);
        made["record"]["id"].as_str().unwrap().to_owned()
    }

    async fn propose(&self, client: &Client, scope_key: &str, sensitivity: &str) -> String {
        let number = self.planted.fetch_add(1, Ordering::Relaxed);
        let mut body = pending(&format!("The lighthouse of {MARKER} shines {number} times."));
        body["scope"]["key"] = json!(scope_key);
        let made = client.post("/v1/memory/semantic_write", body).await.expect(200);
        let id = made["candidate"]["id"].as_str().unwrap().to_owned();
        if sensitivity != "normal" {
            // What is a secret by its own word is not kept, so that only the row can say it.
            let uuid = id.parse::<CandidateId>().unwrap().uuid();
            let mut superuser = self.app.db.superuser().await;
            for table in ["candidates", "events"] {
                let sql = format!("UPDATE {table} SET sensitivity = $2 WHERE candidate_id = $1");
                let update = sqlx::query(AssertSqlSafe(sql)).bind(uuid).bind(sensitivity);
                update.execute(&mut superuser).await.unwrap();
            }
        }
        id
    }

    /// A job of this scope that was done and made this record, and one that failed.
    async fn jobs(&self, scope_key: &str, memory: &str) -> [String; 2] {
        let mut superuser = self.app.db.superuser().await;
        let (memory, ids) = (memory.parse::<MemoryId>().unwrap().uuid(), [JobId::new(), JobId::new()]);
        let sql = "INSERT INTO jobs (tenant_id, ns, job_id, kind, status, scope_kind, scope_key, due_at, memory_ids,
                     note, created_at, updated_at)
                   SELECT tenant_id, ns, j.id, 'capture', j.status, 'user', $3, now(), ARRAY[memory_id], $5, now(), now()
                   FROM memories, unnest($1::uuid[], $2::text[]) AS j(id, status)
                   WHERE memory_id = $4";
        sqlx::query(sql)
            .bind(ids.map(memtide::id::Id::uuid))
            .bind(["done", "failed"])
            .bind(scope_key)
            .bind(memory)
            .bind(MARKER)
            .execute(&mut superuser)
            .await
            .unwrap();
        ids.map(|id| id.to_string())
    }

    /// A capability of this tenant, cut down as asked.
    pub async fn token(&self, tenant: &Made, request: Value) -> String {
        self.app.exchange(&tenant.key, request).await
    }

    /// A caller with a capability of this tenant, cut down as asked.
    pub async fn holding(&self, tenant: &Made, request: Value) -> Client {
        self.app.anyone().capability(&self.token(tenant, request).await)
    }

    /// Every row of the home tenant by table, and every key of its working memory.
    pub async fn rows(&self) -> BTreeMap<String, String> {
        let mut rows = self.rows_where(&["tenant_id"], "true").await;
        rows.extend(self.slots("").await);
        rows
    }

    /// The keys of the home tenant's working memory that have this in their names.
    pub async fn slots(&self, part: &str) -> BTreeMap<String, String> {
        let tenant = self.home.id.uuid().simple().to_string();
        let dump = redis::dump(&self.app).await;
        dump.into_iter().filter(|(key, _)| key.contains(&tenant) && key.contains(part)).collect()
    }

    /// The rows of the home tenant that these columns make out, in all tables that have them.
    pub async fn rows_where(&self, columns: &[&str], condition: &str) -> BTreeMap<String, String> {
        let mut superuser = self.app.db.superuser().await;
        // The dispatcher gives events their numbers a moment after they were written.
        while sqlx::query_scalar("SELECT EXISTS (SELECT FROM events WHERE seq IS NULL)")
            .fetch_one(&mut superuser)
            .await
            .unwrap()
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let sql = "SELECT c.relname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
                   WHERE c.relkind = 'r' AND a.attname = ANY ($1) GROUP BY 1 HAVING count(*) = cardinality($1)";
        let tables: Vec<String> =
            sqlx::query_scalar(sql).bind(columns).fetch_all(&mut superuser).await.unwrap();
        let tenant = self.home.id.uuid();
        let each = tables.iter().map(|table| {
            format!(
                "SELECT '{table}', coalesce(string_agg(t::text, E'\\n' ORDER BY t::text), '')
                 FROM {table} t WHERE tenant_id = '{tenant}' AND {condition}"
            )
        });
        let sql = each.collect::<Vec<_>>().join(" UNION ALL ");
        let rows: Vec<(String, String)> =
            sqlx::query_as(AssertSqlSafe(sql)).fetch_all(&mut superuser).await.unwrap();
        rows.into_iter().collect()
    }
}

/// The same request's target when there is nothing of the kind.
pub fn nothing() -> Target {
    Target {
        tenant: TenantId::new().to_string(),
        slug: "nobody".to_owned(),
        key: KeyId::new().to_string(),
        token: KeyId::new().to_string(),
        capability: CapabilityId::new().to_string(),
        memory: MemoryId::new().to_string(),
        forgotten: MemoryId::new().to_string(),
        candidate: CandidateId::new().to_string(),
        twin: CandidateId::new().to_string(),
        session: SessionId::new().to_string(),
        job: JobId::new().to_string(),
        failed_job: JobId::new().to_string(),
        words: "lighthouse rock".to_owned(),
    }
}

//! Erasing a tenant: nothing of it is left, whoever is at work meanwhile.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use crate::support::{Client, Made, TestApp};

fn note(content: &str) -> Value {
    json!({ "scope": { "kind": "user", "key": "alice" }, "category": "custom", "content": content })
}

/// Rows in every table with a `tenant_id`.
async fn fill(app: &TestApp, tenant: &Made) {
    let client = &tenant.client;
    let made =
        client.with("idempotency-key", "once").post("/v1/memory/items", note("A fact.")).await.expect(201);
    let path = format!("/v1/memory/items/{}", made["record"]["id"].as_str().unwrap());
    client.patch(&path, json!({ "content": "Another fact." })).await.expect(200);
    client.suppressed("Likes the sea.").await;
    let session = client.session("A goal.").await;
    client.think(&session, "A thought.").await;
    app.captured(client, "I prefer green tea.").await;
    client.save("A note.").await;
    while rows(app, tenant.id.uuid()).await["event_heads"] == 0 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let token =
        json!({ "name": "t", "namespace": "default", "capabilities": { "memory.durable": ["read"] } });
    app.personal_token(tenant.id, token).await;
    let other = app.exchange(&tenant.key, json!({ "namespace": "default" })).await;
    app.anyone().capability(&other).post("/v1/auth/revoke", json!({})).await.expect(200);
    client.configure(json!({})).await;
}

/// How many rows of a tenant each table has.
async fn rows(app: &TestApp, tenant: Uuid) -> BTreeMap<String, i64> {
    let mut superuser = app.db.superuser().await;
    let sql = "SELECT c.relname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
               WHERE a.attname = 'tenant_id' AND c.relkind IN ('r', 'p')";
    let tables: Vec<String> = sqlx::query_scalar(sql).fetch_all(&mut superuser).await.unwrap();
    let mut rows = BTreeMap::new();
    for table in tables {
        let sql = AssertSqlSafe(format!("SELECT count(*) FROM {table} WHERE tenant_id = $1"));
        let count = sqlx::query_scalar(sql).bind(tenant).fetch_one(&mut superuser).await.unwrap();
        rows.insert(table, count);
    }
    rows
}

fn left(rows: BTreeMap<String, i64>) -> Vec<(String, i64)> {
    rows.into_iter().filter(|(_, count)| *count > 0).collect()
}

/// That it was, and that it was erased: all that is kept.
fn tombstone() -> Vec<(String, i64)> {
    vec![("audit_log".to_owned(), 1), ("tenants".to_owned(), 1)]
}

#[tokio::test]
async fn no_row_of_an_erased_tenant_is_left_in_any_table() {
    let app = TestApp::start().await;
    let (tenant, other) = (app.tenant("gone").await, app.tenant("stays").await);
    fill(&app, &tenant).await;
    fill(&app, &other).await;
    let (before, of_other) = (rows(&app, tenant.id.uuid()).await, rows(&app, other.id.uuid()).await);
    for (table, count) in &before {
        assert!(*count > 0, "nothing to erase in {table}: give it a row in `fill`");
    }
    let operator = app.operator().await;
    let path = format!("/v1/admin/tenants/{}", tenant.id);
    for sure in ["", "?confirm=", "?confirm=stays", "?confirm=GONE"] {
        operator.delete(&format!("{path}{sure}")).await.refused(400, "invalid_request");
    }
    assert_eq!(rows(&app, tenant.id.uuid()).await, before);
    let erased = operator.delete(&format!("{path}?confirm=gone")).await.expect(200);
    assert_eq!(erased, json!({ "ok": true, "id": tenant.id }));
    assert_eq!(left(rows(&app, tenant.id.uuid()).await), tombstone());
    let sql = "SELECT slug || name || limits::text || settings::text FROM tenants WHERE tenant_id = $1";
    let mut superuser = app.db.superuser().await;
    let words: String =
        sqlx::query_scalar(sql).bind(tenant.id.uuid()).fetch_one(&mut superuser).await.unwrap();
    assert_eq!(words, "{}{}", "not even its name");
    assert_eq!(rows(&app, other.id.uuid()).await, of_other);
    // It is gone for operators too, and its slug is free.
    operator.get(&path).await.refused(404, "not_found");
    operator.delete(&format!("{path}?confirm=gone")).await.refused(404, "not_found");
    operator.post("/v1/admin/tenants", json!({ "slug": "gone", "name": "Again" })).await.expect(201);
}

#[tokio::test]
async fn every_token_of_an_erased_tenant_is_refused_on_every_node() {
    let app = TestApp::start_lexical().await;
    let tenant = app.tenant("gone").await;
    let token =
        json!({ "name": "t", "namespace": "default", "capabilities": { "memory.durable": ["read"] } });
    let token = app.personal_token(tenant.id, token).await.1;
    let (node, router) = app.second_node().await;
    let holders: Vec<Client> = [app.anyone(), Client::new(router)]
        .iter()
        .flat_map(|node| [node.capability(&tenant.capability), node.bearer(&token)])
        .collect();
    for holder in &holders {
        holder.get("/v1/memory/items").await.expect(200);
    }
    let operator = app.operator().await;
    operator.delete(&format!("/v1/admin/tenants/{}?confirm=gone", tenant.id)).await.expect(200);
    let start = std::time::Instant::now();
    for holder in &holders {
        loop {
            let reply = holder.get("/v1/memory/items").await;
            if reply.status.as_u16() == 401 {
                break;
            }
            // Until a node knows, there is nothing to see and nowhere to write.
            assert_eq!(reply.expect(200)["records"], json!([]));
            assert!(start.elapsed().as_secs() < 5);
        }
    }
    let key = app.anyone().bearer(&tenant.key);
    key.post("/v1/auth/token", json!({ "namespace": "default" })).await.refused(401, "unauthorized");
    node.stop();
}

/// On both nodes, so that one of them has not heard of the end yet.
#[tokio::test]
async fn writers_at_work_leave_nothing_behind_and_are_told_no_fault() {
    let app = TestApp::start_lexical().await;
    let tenant = app.tenant("gone").await;
    tenant.client.post("/v1/memory/items", note("The first.")).await.expect(201);
    let (node, router) = app.second_node().await;
    let done = Arc::new(AtomicBool::new(false));
    let callers = [app.anyone(), Client::new(router)].map(|node| node.capability(&tenant.capability));
    let writers: Vec<_> = (0..8)
        .map(|number| {
            let (caller, done) = (callers[number % 2].clone(), Arc::clone(&done));
            tokio::spawn(async move {
                let mut statuses = BTreeMap::new();
                for turn in 0.. {
                    let body = note(&format!("Fact {turn} of writer {number}."));
                    let key = format!("{number}-{turn}");
                    let reply = caller.with("idempotency-key", &key).post("/v1/memory/items", body).await;
                    *statuses.entry(reply.status.as_u16()).or_insert(0) += 1;
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                    // A refusal waits for nothing, and the others want to go on too.
                    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
                }
                statuses
            })
        })
        .collect();
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    let operator = app.operator().await;
    operator.delete(&format!("/v1/admin/tenants/{}?confirm=gone", tenant.id)).await.expect(200);
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    done.store(true, Ordering::Relaxed);
    for writer in writers {
        let statuses = writer.await.unwrap();
        assert!(statuses.contains_key(&201) && statuses.contains_key(&401), "{statuses:?}");
        // 404: the tenant went away between the check of the token and the write.
        assert!(statuses.keys().all(|status| [201, 401, 404, 503].contains(status)), "{statuses:?}");
    }
    // What was under way is swept up.
    memtide::job::tidy(&app.app).await;
    assert_eq!(left(rows(&app, tenant.id.uuid()).await), tombstone());
    node.stop();
}

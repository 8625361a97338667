//! What is erased is gone from candidates, suppressions, events and kept answers too (XC-18, C171).

use serde_json::{Value, json};

use crate::support::{Follower, Made, TestApp, pending, with};

const SECRET: &str = "heliotrope";

/// Every row of the tenant that still says the word.
async fn traces(app: &TestApp) -> Vec<String> {
    let mut superuser = app.db.superuser().await;
    let sql = "SELECT c.relname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
               WHERE a.attname = 'tenant_id' AND c.relkind = 'r'";
    let tables: Vec<String> = sqlx::query_scalar(sql).fetch_all(&mut superuser).await.unwrap();
    let mut found = Vec::new();
    for table in tables {
        let sql = format!("SELECT t::text FROM {table} t WHERE t::text ILIKE '%{SECRET}%'");
        let rows: Vec<String> =
            sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).fetch_all(&mut superuser).await.unwrap();
        found.extend(rows.into_iter().map(|row| format!("{table}: {row}")));
    }
    found
}

async fn start() -> (TestApp, Made) {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("erase").await;
    (app, made)
}

#[tokio::test]
async fn erasing_a_record_erases_the_candidate_it_came_from() {
    let (app, made) = start().await;
    let keyed = with(pending(&format!("The code is {SECRET}.")), json!({ "idempotency_key": "k" }));
    let id = made.client.propose(keyed).await["candidate"]["id"].as_str().unwrap().to_owned();
    let decided =
        made.client.with("idempotency-key", "k").review(&id, "approve", json!({})).await.expect(200);
    assert!(traces(&app).await.len() >= 6, "there is something to erase");
    let target = json!({ "kind": "id", "memory_id": decided["record"]["id"] });
    made.client.post("/v1/memory/forget", json!({ "target": target, "erase": true })).await.expect(200);
    assert_eq!(traces(&app).await, Vec::<String>::new());
    made.client.get(&format!("/v1/memory/candidates/{id}")).await.refused(404, "not_found");
}

#[tokio::test]
async fn erasing_a_scope_erases_its_candidates_and_suppressions() {
    let (app, made) = start().await;
    let address = app.serve().await;
    // Somebody follows, so that the node has all of it in memory.
    let mut live = Follower::open(true, address, &made.capability, None).await;
    made.client.suppressed(&format!("Likes {SECRET}.")).await;
    made.client.candidate(&format!("Loves {SECRET}.")).await;
    let bob = json!({ "scope": { "kind": "user", "key": "bob" } });
    let of_bob = made.client.propose(with(pending("Likes the sea."), bob)).await["candidate"]["id"].clone();
    let target = json!({ "kind": "scope", "scope": { "kind": "user", "key": "alice" } });
    let dry = json!({ "target": target, "erase": true, "dry_run": true });
    made.client.post("/v1/memory/forget", dry).await.expect(200);
    assert!(!traces(&app).await.is_empty(), "a dry run changes nothing");
    made.client.post("/v1/memory/forget", json!({ "target": target, "erase": true })).await.expect(200);
    assert_eq!(traces(&app).await, Vec::<String>::new());
    let left = made.client.get("/v1/memory/candidates").await.expect(200);
    assert_eq!(
        left["candidates"].as_array().unwrap().iter().map(|c| &c["id"]).collect::<Vec<&Value>>(),
        [&of_bob]
    );
    assert_eq!(made.client.propose(pending(&format!("Likes {SECRET}."))).await["relation"], "novel");
    for _ in 0..4 {
        live.told().await;
    }
    // Their numbers stay, and nobody is told anything of them.
    let mut replay = Follower::open(true, address, &made.capability, Some(0)).await;
    assert_eq!(replay.told().await["params"]["candidate"]["id"], of_bob);
}

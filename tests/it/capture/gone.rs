//! A forgotten record can be taken back at day 29.9, and is as if it had never been at day 30.1 (D-032, XD-12, XC-18).

use chrono::TimeDelta;
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;

use crate::support::{Client, Made, TestApp, fact, id};

const CANARY: &str = "heliotrope";

async fn fresh(app: &TestApp, made: &Made) -> Client {
    app.anyone().capability(&app.exchange(&made.key, json!({ "namespace": "default" })).await)
}

/// A record of each way to make one, and what asks for it.
async fn forgotten(app: &TestApp, client: &Client) -> Vec<String> {
    let text = format!("I prefer {CANARY} tea.");
    let job = app.captured(client, &text).await;
    let mut ids = vec![job["memory_ids"][0].as_str().unwrap().to_owned()];
    let candidate = client.candidate(&format!("Likes {CANARY} in the garden.")).await;
    let approved = client.review(&candidate, "approve", json!({})).await.expect(200);
    ids.push(id(&approved["record"]).to_owned());
    let said = client.remember(fact(&format!("The code is {CANARY}."))).await;
    ids.push(id(&said).to_owned());
    for id in &ids {
        client.delete(&format!("/v1/memory/items/{id}")).await.expect(200);
    }
    // A machine tries to bring it back.
    assert_eq!(app.captured(client, &text).await["memory_ids"], json!([]));
    ids
}

/// What a client is told of a record. What a machine proposed later and was refused goes with the purge.
async fn answers(client: &Client, id: &str, candidates: &str) -> Vec<String> {
    let path = format!("/v1/memory/items/{id}");
    let mut texts = Vec::new();
    for path in [
        path.clone(),
        format!("{path}/history"),
        "/v1/memory/items?limit=100".to_owned(),
        "/v1/memory/items?status=deleted&limit=100".to_owned(),
        format!("/v1/memory/items?query={CANARY}&status=deleted"),
        format!("/v1/memory/candidates?limit=100{candidates}"),
    ] {
        texts.push(client.get(&path).await.text);
    }
    texts.push(client.post("/v1/memory/search", json!({ "query": CANARY })).await.text);
    texts.push(client.post("/v1/memory/context", json!({ "query": CANARY })).await.text);
    for include_deleted in [true, false] {
        let params = json!({ "memory_id": id, "include_deleted": include_deleted });
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "memory/get", "params": params });
        texts.push(client.post("/v1/rpc", request).await.text);
    }
    texts.push(client.get("/v1/memory/events?after=0").await.text);
    texts
}

#[tokio::test]
async fn what_was_forgotten_can_be_taken_back_on_day_29_and_is_gone_on_day_30_d032_xd12_xc18() {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("alice").await;
    let ids = forgotten(&app, &made.client).await;
    app.app.clock.shift(TimeDelta::minutes(30 * 24 * 60 - 144));
    memtide::job::tidy(&app.app).await;
    let client = fresh(&app, &made).await;
    let restored = client.post(&format!("/v1/memory/items/{}/restore", ids[2]), json!({})).await.expect(200);
    assert_eq!(restored["record"]["content"], format!("The code is {CANARY}."));
    client.delete(&format!("/v1/memory/items/{}", ids[2])).await.expect(200);

    // Before the purge has run, and after.
    app.app.clock.shift(TimeDelta::minutes(2 * 144));
    for is_purged in [false, true] {
        if is_purged {
            memtide::job::tidy(&app.app).await;
        }
        let client = fresh(&app, &made).await;
        let candidates = if is_purged { "" } else { "&status=approved" };
        for id in &ids[..2] {
            let path = format!("/v1/memory/items/{id}");
            client.post(&format!("{path}/restore"), json!({})).await.refused(404, "not_found");
            client.delete(&path).await.refused(404, "not_found");
            for path in [path.clone(), format!("{path}/history")] {
                client.get(&path).await.refused(404, "not_found");
            }
            for text in answers(&client, id, candidates).await {
                for said in [format!("I prefer {CANARY} tea."), format!("Likes {CANARY} in the garden.")] {
                    assert!(!text.contains(&said), "{is_purged}: {text}");
                }
            }
        }
    }
    // The third was forgotten again a few hours ago.
    let tables = rows_with(&app, CANARY).await;
    assert!(tables.iter().all(|(_, row)| row.contains("The code is")), "{tables:?}");
    app.app.clock.shift(TimeDelta::days(31));
    memtide::job::tidy(&app.app).await;
    assert_eq!(rows_with(&app, CANARY).await, []);
}

/// Every row of every table that holds a text.
async fn rows_with(app: &TestApp, text: &str) -> Vec<(String, String)> {
    let mut superuser = app.db.superuser().await;
    let sql =
        "SELECT relname::text FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace";
    let tables: Vec<String> = sqlx::query_scalar(sql).fetch_all(&mut superuser).await.unwrap();
    let mut found = Vec::new();
    for table in tables {
        let sql = format!("SELECT to_jsonb(t) FROM {table} t WHERE t::text ILIKE '%{text}%'");
        let rows: Vec<Value> =
            sqlx::query_scalar(AssertSqlSafe(sql)).fetch_all(&mut superuser).await.unwrap();
        found.extend(rows.into_iter().map(|row| (table.clone(), row.to_string())));
    }
    found
}

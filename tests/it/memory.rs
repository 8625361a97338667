//! Remember, find, correct, forget: the main job.

use serde_json::{Value, json};

use crate::support::TestApp;

fn fact(content: &str) -> Value {
    json!({ "scope": { "kind": "user", "key": "alice" }, "category": "custom", "content": content })
}

#[tokio::test]
async fn what_is_remembered_is_found_and_what_is_forgotten_is_not() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;

    let made = alice.post("/v1/memory/items", fact("Alice is allergic to penicillin.")).await.expect(201);
    alice.post("/v1/memory/items", fact("The office has a green door.")).await.expect(201);
    let id = made["record"]["id"].as_str().unwrap();

    let search = json!({ "query": "which medicine must not be given to alice" });
    let found = alice.post("/v1/memory/search", search.clone()).await.expect(200);
    assert_eq!(found["hits"][0]["record"]["id"], id);

    let path = format!("/v1/memory/items/{id}");
    alice.delete(&path).await.expect(200);
    let found = alice.post("/v1/memory/search", search.clone()).await.expect(200);
    assert!(found["hits"].as_array().unwrap().iter().all(|hit| hit["record"]["id"] != id));

    alice.post(&format!("{path}/restore"), json!({})).await.expect(200);
    let found = alice.post("/v1/memory/search", search).await.expect(200);
    assert_eq!(found["hits"][0]["record"]["id"], id);
}

#[tokio::test]
async fn how_often_a_record_was_read_is_written_down_later() {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("alice").await;
    let other = app.exchange(&made.key, json!({ "namespace": "other" })).await;
    let other = app.anyone().capability(&other);
    let (read, found) =
        (made.client.remember(fact("a red door")).await, other.remember(fact("a red door")).await);
    let unread = made.client.remember(fact("a green window")).await;
    let path = |record: &Value| format!("/v1/memory/items/{}", record["id"].as_str().unwrap());
    for _ in 0..3 {
        made.client.get(&path(&read)).await.expect(200);
    }
    other.found("red").await;
    memtide::job::tidy(&app.app).await;
    let now = app.app.clock.now().timestamp();
    for (caller, record, count) in [(&made.client, &read, 3), (&other, &found, 0), (&made.client, &unread, 0)]
    {
        let record = caller.get(&path(record)).await.expect(200)["record"].clone();
        assert_eq!(record["access_count"], count, "{record}");
        let last = record["last_accessed_at"].as_i64();
        assert_eq!(
            last.is_some_and(|at| (now - at).abs() < 60),
            record["content"] == "a red door",
            "{record}"
        );
    }
}

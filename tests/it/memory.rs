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

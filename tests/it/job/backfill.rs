//! Records that were stored while the embedder was off (C032).

use std::sync::Arc;

use chrono::TimeDelta;
use memtide::embed::Embedder;
use serde_json::json;

use crate::support::stub::EmbeddingStub;
use crate::support::{TestApp, fact};

#[tokio::test]
async fn records_without_a_vector_get_one_once_there_is_an_embedder_c032() {
    let app = TestApp::start().await;
    let made = app.tenant("alice").await;
    let off = app.second_node_with(Arc::new(Embedder::Off)).await;
    let lexical = crate::support::Client::new(off.1).capability(&made.capability);
    for number in 0..70 {
        lexical.post("/v1/memory/items", fact(&format!("A small dog, number {number}."))).await.expect(201);
    }
    let semantic = json!({ "query": "puppy", "mode": "semantic" });
    assert_eq!(made.client.search(semantic.clone()).await.len(), 0);
    memtide::job::tidy(&app.app).await;
    memtide::job::tidy(&app.app).await;
    assert_eq!(app.work().await, 1, "one job for the namespace");
    assert!(!made.client.search(semantic).await.is_empty());
    let sql = "SELECT count(*) FROM memory_vectors";
    let vectors: i64 = sqlx::query_scalar(sql).fetch_one(&mut app.db.superuser().await).await.unwrap();
    assert_eq!(vectors, 70);
    // There is nothing more to do.
    app.app.clock.shift(TimeDelta::hours(2));
    memtide::job::tidy(&app.app).await;
    assert_eq!(app.work().await, 0);
    off.0.stop();
}

#[tokio::test]
async fn a_model_that_a_tenant_is_not_searched_with_fills_nothing() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("alice").await.client;
    client.remember(fact("A small dog.")).await;
    let stub = EmbeddingStub::start([]).await;
    let (node, _) = app.second_node_with(stub.embedder("another").await).await;
    memtide::job::tidy(&node).await;
    assert_eq!(memtide::job::work(&node).await, 0);
    assert_eq!(stub.requests().len(), 0);
    node.stop();
}

//! Another embedding model than the one a tenant's memory was made with (C032, R-15).

use std::time::Duration;

use serde_json::Value;
use sqlx::PgConnection;

use crate::support::TestDb;
use crate::support::process::Settings;
use crate::support::stub::EmbeddingStub;
use crate::support::wire::{self, Wire};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c032_another_model_is_never_mixed_in_and_a_tenant_moves_to_it_online() {
    let db = TestDb::create().await;
    let mut superuser = db.superuser().await;
    let small = EmbeddingStub::slow(2, Duration::ZERO).await;
    let settings = provided(&db, &small, "small", 2);
    let key = settings.make_tenant("move").await;
    let server = settings.serve().await;
    let caller = wire::caller(&server.url, &key).await;
    for number in 0..100 {
        caller.remember(&format!("old text number {number}")).await.unwrap().expect(201);
    }
    assert_eq!(found(&caller, "semantic").await, (20, Vec::new()));
    drop(server);

    let large = EmbeddingStub::slow(3, Duration::ZERO).await;
    let settings = provided(&db, &large, "large", 3);
    let server = settings.serve().await;
    let caller = wire::caller(&server.url, &key).await;
    assert_eq!(found(&caller, "hybrid").await, (20, vec!["semantic".to_owned()]));
    let refused = caller.search("text", "semantic").await.unwrap();
    assert!(refused.status == 503 && refused.retry_after.is_some(), "{refused:?}");
    let made = caller.remember("new text number 100").await.unwrap().expect(201);
    let id = made["record"]["id"].as_str().unwrap();
    caller.get(&format!("/v1/memory/items/{id}")).await.unwrap().expect(200);
    caller.get("/v1/memory/items").await.unwrap().expect(200);
    assert_eq!(vectors(&mut superuser).await, [("large".into(), 3, 1), ("small".into(), 2, 100)]);

    let moved = settings.run(&["admin", "reembed", "move"]).await;
    assert_eq!(moved.code, Some(0), "{moved:?}");
    assert!(moved.stdout.contains("100"), "{moved:?}");
    assert_eq!(vectors(&mut superuser).await, [("large".into(), 3, 101)]);
    assert_eq!(found(&caller, "semantic").await, (20, Vec::new()));
    assert_eq!(found(&caller, "hybrid").await.1, Vec::<String>::new());
    let is_valid: Vec<bool> = sqlx::query_scalar(
        "SELECT i.indisvalid FROM pg_index i JOIN models m ON m.name = 'large'
         WHERE i.indexrelid = to_regclass('memory_vectors_hnsw_' || m.model)",
    )
    .fetch_all(&mut superuser)
    .await
    .unwrap();
    assert_eq!(is_valid, [true]);

    let again = settings.run(&["admin", "reembed", "move"]).await;
    assert_eq!(again.code, Some(0), "{again:?}");
    let nobody = settings.run(&["admin", "reembed", "nobody"]).await;
    assert!(nobody.code != Some(0) && nobody.stderr.contains("nobody"), "{nobody:?}");
    let off = Settings::of(&db.config()).run(&["admin", "reembed", "move"]).await;
    assert!(off.code != Some(0) && off.stderr.contains("MEMTIDE_EMBEDDER"), "{off:?}");
}

#[tokio::test]
async fn a_model_of_the_same_name_with_other_vectors_is_refused() {
    let db = TestDb::create().await;
    let provider = EmbeddingStub::slow(2, Duration::ZERO).await;
    provided(&db, &provider, "same", 2).serve().await;
    let ended = provided(&db, &provider, "same", 3).run(&["serve"]).await;
    assert!(ended.code.is_some_and(|code| code != 0), "{ended:?}");
    assert!(ended.stderr.contains("give it another name"), "{ended:?}");
}

fn provided(db: &TestDb, provider: &EmbeddingStub, model: &str, dimensions: usize) -> Settings {
    Settings::of(&db.config())
        .with("MEMTIDE_EMBEDDER", "http")
        .with("MEMTIDE_EMBED_URL", &provider.base_url)
        .with("MEMTIDE_EMBED_MODEL", model)
        .with("MEMTIDE_EMBED_DIMENSIONS", dimensions)
}

/// How many hits a search has, and what it had to do without.
async fn found(caller: &Wire, mode: &str) -> (usize, Vec<String>) {
    let body = caller.search("text", mode).await.unwrap().expect(200);
    let degraded = body["degraded"].as_array().map_or(&[] as &[Value], Vec::as_slice);
    let degraded = degraded.iter().map(|word| word.as_str().unwrap().to_owned()).collect();
    (body["hits"].as_array().unwrap().len(), degraded)
}

/// How many vectors there are of each model, and how long they are.
async fn vectors(superuser: &mut PgConnection) -> Vec<(String, i32, i64)> {
    sqlx::query_as(
        "SELECT m.name, vector_dims(v.embedding), count(*)
         FROM memory_vectors v JOIN models m USING (model)
         GROUP BY m.name, vector_dims(v.embedding)
         ORDER BY m.name",
    )
    .fetch_all(superuser)
    .await
    .unwrap()
}

//! The orderly end (C146).

use std::time::{Duration, Instant};

use crate::support::TestDb;
use crate::support::process::Settings;
use crate::support::stub::EmbeddingStub;
use crate::support::wire::{self, Wire};

/// What orchestrators give a process, as a rule.
const GRACE: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c146_requests_under_way_are_finished_and_no_new_ones_taken() {
    let db = TestDb::create().await;
    let provider = EmbeddingStub::slow(2, Duration::from_secs(2)).await;
    let settings = Settings::of(&db.config())
        .with("MEMTIDE_EMBEDDER", "http")
        .with("MEMTIDE_EMBED_URL", &provider.base_url)
        .with("MEMTIDE_EMBED_DIMENSIONS", 2);
    let key = settings.make_tenant("stop").await;
    let mut server = settings.serve().await;
    let caller = wire::caller(&server.url, &key).await;

    let remember = move |number: usize| {
        let caller = caller.clone();
        async move { caller.remember(&format!("text {number}")).await }
    };
    let under_way = tokio::spawn(wire::at_once((0..20).map(remember)));
    let idle = server.wire();
    idle.get("/readyz").await.unwrap().expect(200);
    while provider.requests().len() < 20 {
        assert!(!under_way.is_finished(), "some requests never got to the embedder");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let told = Instant::now();
    server.terminate();
    tokio::time::sleep(Duration::from_millis(300)).await;
    // A load balancer sees it on its old connection, if it still has one, and on a new one.
    for probe in [idle, Wire::new(&server.url)] {
        assert!(!matches!(probe.get("/readyz").await, Ok(reply) if reply.status == 200));
    }
    for reply in under_way.await.unwrap() {
        reply.unwrap().expect(201);
    }
    let status = server.ended(GRACE).await;
    assert_eq!(status.code(), Some(0), "{}", server.log());
    assert!(told.elapsed() < Duration::from_secs(10), "it took {:?}", told.elapsed());
    let stored: i64 = sqlx::query_scalar("SELECT count(*) FROM memories")
        .fetch_one(&mut db.superuser().await)
        .await
        .unwrap();
    assert_eq!(stored, 20);
}

#[tokio::test]
async fn an_idle_server_with_open_connections_ends_at_once() {
    let db = TestDb::create().await;
    let mut server = Settings::of(&db.config()).serve().await;
    let silent = tokio::net::TcpStream::connect(server.url.trim_start_matches("http://")).await.unwrap();
    server.wire().get("/livez").await.unwrap().expect(200);
    server.terminate();
    assert_eq!(server.ended(Duration::from_secs(5)).await.code(), Some(0), "{}", server.log());
    drop(silent);
}

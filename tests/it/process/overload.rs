//! More work than can be done (C152, C154).

use std::time::{Duration, Instant};

use sqlx::PgConnection;

use crate::support::TestDb;
use crate::support::process::Settings;
use crate::support::stub::EmbeddingStub;
use crate::support::wire;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c152_a_burst_on_a_small_pool_gets_answers_or_busy_and_leaves_nothing_behind() {
    let db = TestDb::create().await;
    let settings = Settings::of(&db.config()).with("MEMTIDE_DB_POOL", 5);
    let key = settings.make_tenant("burst").await;
    let server = settings.serve().await;
    let caller = wire::caller(&server.url, &key).await;

    let request = |number: usize| {
        let caller = caller.clone();
        async move {
            let mut served = 0;
            for round in 0..4 {
                let text = format!("text {number} of round {round}");
                let reply = match number % 2 {
                    0 => caller.remember(&text).await.unwrap(),
                    _ => caller.search(&text, "hybrid").await.unwrap(),
                };
                assert!(reply.is_served_or_busy(), "{reply:?}");
                served += usize::from(reply.status < 300);
            }
            served
        }
    };
    let served: usize = wire::at_once((0..500).map(request)).await.into_iter().sum();
    eprintln!("{served} of 2000 were served");
    assert!(served > 0);
    let after = Instant::now();
    for number in 0..20 {
        let reply = caller.remember(&format!("after the burst {number}")).await.unwrap();
        assert!(reply.took < Duration::from_millis(500), "{reply:?}");
        reply.expect(201);
        caller.search("after", "hybrid").await.unwrap().expect(200);
    }
    assert!(after.elapsed() < Duration::from_secs(5));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c154_a_slow_embedder_keeps_nobody_waiting_who_does_not_need_it() {
    let db = TestDb::create().await;
    let provider = EmbeddingStub::slow(2, Duration::from_secs(5)).await;
    let settings = Settings::of(&db.config())
        .with("MEMTIDE_EMBEDDER", "http")
        .with("MEMTIDE_EMBED_URL", &provider.base_url)
        .with("MEMTIDE_EMBED_DIMENSIONS", 2)
        .with("MEMTIDE_EMBED_TIMEOUT_MS", 8_000);
    let key = settings.make_tenant("slow").await;
    let server = settings.serve().await;
    let caller = wire::caller(&server.url, &key).await;

    let saver = caller.clone();
    let remember = move |number: usize| {
        let caller = saver.with("idempotency-key", &format!("save-{number}"));
        async move { caller.remember(&format!("text {number}")).await.unwrap() }
    };
    let saves = tokio::spawn(wire::at_once((0..50).map(remember)));
    while provider.requests().len() < 50 {
        assert!(!saves.is_finished(), "some saves never got to the embedder");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let mut superuser = db.superuser().await;
    while !saves.is_finished() {
        for path in ["/v1/memory/items", "/livez", "/readyz"] {
            let reply = caller.get(path).await.unwrap();
            assert!(reply.status == 200 && reply.took < Duration::from_millis(500), "{path}: {reply:?}");
        }
        let reply = caller.search("text", "lexical").await.unwrap();
        assert!(reply.status == 200 && reply.took < Duration::from_millis(500), "{reply:?}");
        nobody_holds_a_transaction(&mut superuser).await;
    }
    for reply in saves.await.unwrap() {
        reply.expect(201);
    }
}

/// The case says 100 ms; a busy machine may need longer to get to the next statement, but not for seconds.
async fn nobody_holds_a_transaction(superuser: &mut PgConnection) {
    let idle: Vec<(String, f64)> = sqlx::query_as(
        "SELECT query, extract(epoch FROM clock_timestamp() - state_change)::float8
         FROM pg_stat_activity
         WHERE datname = current_database() AND state LIKE 'idle in transaction%'
           AND clock_timestamp() - state_change > interval '300 ms'",
    )
    .fetch_all(superuser)
    .await
    .unwrap();
    assert!(idle.is_empty(), "{idle:?}");
}

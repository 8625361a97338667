//! Services that go away and come back (C156, F-5).

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::process::{Server, Settings};
use crate::support::wire::{self, Wire};
use crate::support::{Proxy, TestDb, TestPostgres, env};

/// The figure is 1.5 s (F-5); the rest is for a debug build on a machine that does other things.
const REFUSED_WITHIN: Duration = Duration::from_secs(2);

/// Full service after the return (F-5).
const BACK_WITHIN: Duration = Duration::from_secs(5);

/// How long it takes until another server has the address of the lost one (C156).
const FAILOVER: Duration = Duration::from_secs(10);

/// What is left to a request whose statement was under way: the deadline of requests.
const DEADLINE: Duration = Duration::from_secs(12);

/// A server behind a proxy, with a caller.
struct Cut {
    proxy: Proxy,
    server: Server,
    caller: Wire,
    _db: TestDb,
}

async fn behind_a_proxy(variable: &'static str) -> Cut {
    let db = TestDb::create().await;
    let settings = Settings::of(&db.config());
    let key = settings.make_tenant("cut").await;
    let url = match variable {
        "DATABASE_URL" => db.config().url.expose().to_owned(),
        _ => env(variable),
    };
    let port = reqwest::Url::parse(&url).unwrap().port().unwrap();
    let proxy = Proxy::start(port).await;
    let server = settings.with(variable, proxy.lead(&url)).with("MEMTIDE_DB_POOL", 4).serve().await;
    let caller = wire::caller(&server.url, &key).await;
    caller.remember("before the outage").await.unwrap().expect(201);
    Cut { proxy, server, caller, _db: db }
}

/// One of each sort of durable request.
async fn one_of_each(caller: &Wire) -> [wire::Reply; 3] {
    let listed = caller.get("/v1/memory/items").await.unwrap();
    let searched = caller.search("outage", "hybrid").await.unwrap();
    [caller.remember("another text").await.unwrap(), listed, searched]
}

/// Durable requests are refused in time and politely, and the process says that it lives and is not ready.
async fn is_away(caller: &Wire, server: &Server) {
    for reply in one_of_each(caller).await {
        assert_eq!(
            (reply.status, reply.body["error"]["code"].as_str()),
            (503, Some("unavailable")),
            "{reply:?}"
        );
        assert!(reply.retry_after.is_some() && reply.took < REFUSED_WITHIN, "{reply:?}");
    }
    let readiness = server.wire().get("/readyz").await.unwrap();
    assert!(readiness.status == 503 && readiness.took < REFUSED_WITHIN, "{readiness:?}");
    assert_eq!(readiness.body["ready"], false);
    let alive = server.wire().get("/livez").await.unwrap();
    assert!(alive.status == 200 && alive.took < Duration::from_millis(500), "{alive:?}");
}

/// Full service: 20 requests in a row, on whichever connections of the pool, all served.
async fn is_back(caller: &Wire, server: &Server, since: Instant) {
    let mut served = 0;
    while served < 20 {
        let all_served = one_of_each(caller).await.iter().all(|reply| reply.status < 300);
        served = if all_served { served + 1 } else { 0 };
        assert!(since.elapsed() < BACK_WITHIN, "{served} in a row after {:?}", since.elapsed());
    }
    server.wire().get("/readyz").await.unwrap().expect(200);
    eprintln!("back after {:?}", since.elapsed());
}

/// Eight writers, each of whom sends some texts: each is stored, or refused politely and not too late.
async fn write_from_eight(caller: Wire, texts: usize) {
    let writer = |number: usize| {
        let caller = caller.clone();
        async move {
            for text in 0..texts {
                let reply = caller.remember(&format!("text {text} of {number}")).await.unwrap();
                assert!(reply.is_served_or_busy() && reply.took < DEADLINE, "{reply:?}");
            }
        }
    };
    wire::at_once((0..8).map(writer)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c156_postgres_is_stopped_and_comes_back() {
    let Some(mut postgres) = TestPostgres::start().await else { return };
    let settings = Settings::of(&postgres.config());
    assert_eq!(settings.run(&["migrate"]).await.code, Some(0));
    let key = settings.make_tenant("stop").await;
    let server = settings.serve().await;
    let caller = wire::caller(&server.url, &key).await;
    for _ in 0..2 {
        postgres.stop();
        is_away(&caller, &server).await;
        // Long enough for everything that waits to have given up.
        tokio::time::sleep(Duration::from_secs(2)).await;
        is_away(&caller, &server).await;
        postgres.restart().await;
        is_back(&caller, &server, Instant::now()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c156_all_connections_are_cut_and_nobody_notices_for_long() {
    let Cut { proxy, server, caller, _db } = behind_a_proxy("DATABASE_URL").await;
    for _ in 0..3 {
        // So that the pool is full.
        let caller_of = |_| caller.clone();
        wire::at_once((0..8).map(caller_of).map(|caller| async move { one_of_each(&caller).await })).await;
        proxy.cut();
        // Every idle connection is broken, and no request pays for it.
        for reply in one_of_each(&caller).await {
            assert!(reply.status < 300, "{reply:?}");
        }
        is_back(&caller, &server, Instant::now()).await;
    }
    proxy.close();
    is_away(&caller, &server).await;
    proxy.open();
    is_back(&caller, &server, Instant::now()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c156_connections_cut_in_the_middle_of_requests_cost_no_more_than_a_503() {
    let Cut { proxy, server, caller, _db } = behind_a_proxy("DATABASE_URL").await;
    let load = tokio::spawn(write_from_eight(caller.clone(), 40));
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        proxy.cut();
    }
    load.await.unwrap();
    is_back(&caller, &server, Instant::now()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c156_a_database_that_says_nothing_is_given_up_in_time() {
    let Cut { proxy, server, caller, _db } = behind_a_proxy("DATABASE_URL").await;
    proxy.block();
    for _ in 0..3 {
        is_away(&caller, &server).await;
    }
    proxy.open();
    is_back(&caller, &server, Instant::now()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c156_after_a_failover_no_connection_to_the_lost_server_is_used() {
    let Cut { proxy, server, caller, _db } = behind_a_proxy("DATABASE_URL").await;
    let load = tokio::spawn(write_from_eight(caller.clone(), 20));
    tokio::time::sleep(Duration::from_millis(100)).await;
    proxy.block();
    tokio::time::sleep(FAILOVER).await;
    is_away(&caller, &server).await;
    // The old server is gone for good, in the middle of statements; the new one has its address.
    proxy.strand();
    is_back(&caller, &server, Instant::now()).await;
    load.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn durable_memory_does_without_redis() {
    let Cut { proxy, server, caller, _db } = behind_a_proxy("REDIS_URL").await;
    let degraded = |body: Value| body["degraded"].as_array().unwrap().contains(&"working_memory".into());
    assert!(!degraded(server.wire().get("/readyz").await.unwrap().expect(200)));
    for lose in [Proxy::close, Proxy::block, Proxy::cut] {
        lose(&proxy);
        if !std::ptr::fn_addr_eq(lose, Proxy::cut as fn(&Proxy)) {
            let readiness = server.wire().get("/readyz").await.unwrap();
            assert!(readiness.took < REFUSED_WITHIN, "{readiness:?}");
            assert!(degraded(readiness.expect(200)));
        }
        for reply in one_of_each(&caller).await {
            assert!(reply.status < 300 && reply.took < Duration::from_secs(1), "{reply:?}");
        }
        proxy.open();
        let back = Instant::now();
        while degraded(server.wire().get("/readyz").await.unwrap().expect(200)) {
            assert!(back.elapsed() < BACK_WITHIN, "redis is back, and not used");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

//! Redis goes away, forgets, fills up, or is told to be read only (C119, C121, C123, A-023).

use std::time::{Duration, Instant};

use redis::cmd;
use serde_json::json;

use super::SLOTS;
use crate::support::process::free_port;
use crate::support::redis::{TestRedis, dump};
use crate::support::wire::at_once;
use crate::support::{Client, Proxy, TestApp};

/// The figure is 250 ms; the rest is for a debug build on a busy machine.
const REFUSED_WITHIN: Duration = Duration::from_millis(500);

/// Normal again after the return of Redis.
const BACK_WITHIN: Duration = Duration::from_secs(5);

struct Stage {
    app: TestApp,
    redis: TestRedis,
    proxy: Proxy,
    client: Client,
}

/// A service whose Redis is its own, behind a proxy; nothing where the tests skip those.
async fn stage(settings: &[&str]) -> Option<Stage> {
    let redis = TestRedis::start(settings).await?;
    let proxy = Proxy::start(redis.port).await;
    let app = TestApp::start_on_redis(&proxy.lead(&redis.url())).await;
    let client = app.tenant("alice").await.client;
    client.inject("before", json!(1)).await.expect(200);
    Some(Stage { app, redis, proxy, client })
}

/// Every working route is 503 in time, and durable memory does not care.
async fn is_away(client: &Client) {
    for (path, body) in [
        ("/v1/working-memory/slots/inject", Some(json!({ "id": "a", "value": 1 }))),
        ("/v1/working-memory/slots/clear", Some(json!({ "id": "a" }))),
        ("/v1/working-memory/workspace/offer", Some(json!({ "items": [{ "id": "a", "value": 1 }] }))),
        ("/v1/working-memory/slots/rehearse", Some(json!({ "id": "a" }))),
        (SLOTS, None),
        ("/v1/working-memory/stats", None),
        ("/v1/working-memory/workspace", None),
        ("/v1/working-memory/events", None),
    ] {
        let start = Instant::now();
        let reply = match body {
            Some(body) => client.post(path, body).await,
            None => client.get(path).await,
        };
        let took = start.elapsed();
        assert!(took < REFUSED_WITHIN, "{path} after {took:?}");
        assert_eq!(reply.headers["retry-after"], "1");
        reply.refused(503, "unavailable");
    }
    client.get("/v1/working-memory/config").await.expect(200);
    let note = json!({ "scope": { "kind": "user", "key": "u" }, "category": "custom", "content": "durable" });
    assert!(client.post("/v1/memory/items", note).await.status.is_success());
    sessions_go_on(client).await;
}

/// A session says which part of its context is missing, and is not closed before its slots are seen to (B-037).
async fn sessions_go_on(client: &Client) {
    let id = client.session("A goal.").await;
    client.resolve(&id, "A decision.").await;
    let path = format!("/v1/memory/cognitive/session/{id}");
    let context = client.get(&format!("{path}/context")).await.expect(200);
    assert_eq!(context["left_out"], json!([{ "part": "slots", "reason": "unavailable" }]));
    assert_eq!(context["decisions"][0]["text"], "A decision.");
    for slots in [json!({ "clear": ["before"] }), json!({ "consolidate": ["before"] })] {
        let close = client.close_session(&id, json!({ "slots": slots })).await;
        close.refused(503, "unavailable");
    }
    assert_eq!(client.look_at(&id).await["status"], "active");
    client.close_session(&id, json!({})).await.expect(200);
}

/// An acknowledged slot is in the list, ten times in a row.
async fn is_back(client: &Client) {
    let start = Instant::now();
    let mut served = 0;
    while served < 10 {
        let id = format!("s{}", served % 3);
        let reply = client.inject(&id, json!(served)).await;
        if reply.status == 200 {
            assert!(client.ids().await.contains(&id));
            served += 1;
        } else {
            reply.refused(503, "unavailable");
            served = 0;
        }
        assert!(start.elapsed() < BACK_WITHIN, "not back after {:?}", start.elapsed());
    }
    eprintln!("back after {:?}", start.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_is_killed_and_comes_back_empty_c119_a023() {
    let Some(mut stage) = stage(&[]).await else { return };
    for _ in 0..2 {
        stage.redis.kill();
        is_away(&stage.client).await;
        is_away(&stage.client).await;
        stage.redis.restart().await;
        is_back(&stage.client).await;
        assert!(!stage.client.ids().await.contains(&"before".to_owned()), "a list, not an error");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_forgets_every_script_c119() {
    let Some(stage) = stage(&[]).await else { return };
    for _ in 0..3 {
        stage.redis.ask::<()>(cmd("SCRIPT").arg("FLUSH")).await;
        stage.client.inject("a", json!(1)).await.expect(200);
        assert_eq!(stage.client.ids().await, ["a", "before"]);
        stage.redis.ask::<()>(cmd("SCRIPT").arg("FLUSH")).await;
        assert!(stage.client.clear("a").await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_way_to_redis_is_cut_closed_and_blocked_c121() {
    let Some(stage) = stage(&[]).await else { return };
    for _ in 0..5 {
        stage.proxy.cut();
        is_back(&stage.client).await;
    }
    for lose in [Proxy::close, Proxy::block] {
        lose(&stage.proxy);
        is_away(&stage.client).await;
        stage.proxy.open();
        is_back(&stage.client).await;
    }
    // As after a failover: the old connections say nothing ever more.
    stage.proxy.block();
    is_away(&stage.client).await;
    stage.proxy.strand();
    is_back(&stage.client).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_survives_the_loss_of_redis() {
    let Some(stage) = stage(&[]).await else { return };
    let mut events = stage.client.events("/v1/working-memory/events").await;
    events.until("workspace").await;
    stage.proxy.cut();
    is_back(&stage.client).await;
    // Whatever was missed, the whole workspace is told again.
    let told = events.until("workspace").await;
    assert!(told["items"].as_array().unwrap().iter().any(|item| item["id"] == "before"));
}

/// The one connection that listens for all falls silent while something is asked of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_survives_a_line_that_falls_silent() {
    let Some(stage) = stage(&[]).await else { return };
    let key = stage.app.tenant("bob").await.key;
    let mut events = stage.client.events("/v1/working-memory/events").await;
    events.until("workspace").await;
    stage.proxy.block();
    stage.app.within(&key, "other").await.get("/v1/working-memory/events").await.refused(503, "unavailable");
    stage.proxy.strand();
    is_back(&stage.client).await;
    let told = tokio::time::timeout(BACK_WITHIN, events.until("workspace")).await.expect("told again");
    assert!(told["items"].as_array().unwrap().iter().any(|item| item["id"] == "before"));
    stage.client.inject("after", json!(1)).await.expect(200);
    assert_eq!(events.until("admitted").await["id"], "after");
    stage.app.within(&key, "other").await.events("/v1/working-memory/events").await.until("workspace").await;
}

/// A node of a Cluster does what it was told, and the way breaks before it has answered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_may_have_been_done_is_not_done_twice_on_a_cluster_r16() {
    let bus = free_port().to_string();
    let settings = ["--cluster-enabled", "yes", "--cluster-port", &bus, "--cluster-announce-ip", "127.0.0.1"];
    let Some(redis) = TestRedis::start(&settings).await else { return };
    let proxy = Proxy::start(redis.port).await;
    redis.ask::<()>(cmd("CONFIG").arg("SET").arg("cluster-announce-port").arg(proxy.port)).await;
    redis.ask::<()>(cmd("CLUSTER").arg("ADDSLOTSRANGE").arg(0).arg(16_383)).await;
    let app = TestApp::start_on_cluster(&proxy.lead(&redis.url())).await;
    let client = app.tenant("alice").await.client;
    is_back(&client).await;
    // So that the node knows the script.
    client.rehearse("s0").await.expect(200);
    let version = async || -> u64 {
        let dump = dump(&app).await;
        let header = dump.iter().find(|(key, _)| key.ends_with(":workspace")).unwrap().1;
        header.split(r#"["h", "["#).nth(1).unwrap().split(',').next().unwrap().parse().unwrap()
    };
    for _ in 0..3 {
        let (before, calls) = (version().await, redis.script_calls().await);
        proxy.mute();
        let rehearse = tokio::spawn({
            let client = client.clone();
            async move { client.rehearse("s0").await }
        });
        while redis.script_calls().await == calls {
            tokio::task::yield_now().await;
        }
        proxy.cut();
        proxy.open();
        rehearse.await.unwrap().refused(503, "unavailable");
        assert_eq!(version().await, before + 1);
        is_back(&client).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_may_not_write_is_503_and_comes_back() {
    let Some(stage) = stage(&[]).await else { return };
    stage.redis.ask::<()>(cmd("REPLICAOF").arg("127.0.0.1").arg(1)).await;
    stage.client.inject("a", json!(1)).await.refused(503, "unavailable");
    stage.redis.ask::<()>(cmd("REPLICAOF").arg("NO").arg("ONE")).await;
    is_back(&stage.client).await;
}

async fn fill(stage: &Stage, key: &str) -> (usize, usize) {
    let mut spaces = Vec::new();
    for number in 0..40 {
        spaces.push(stage.app.within(key, &format!("space-{number}")).await);
    }
    let inject = |number: usize| {
        let client = spaces[number % spaces.len()].clone();
        let id = format!("s{}", number / 40 % 5);
        async move { client.inject(&id, json!("x".repeat(20_000))).await.status.as_u16() }
    };
    let mut statuses = Vec::new();
    for round in 0..5 {
        statuses.extend(at_once((round * 200..round * 200 + 200).map(inject)).await);
    }
    assert!(statuses.iter().all(|status| [200, 503, 409].contains(status)), "{statuses:?}");
    for space in &spaces {
        let (stats, list) = (space.get("/v1/working-memory/stats").await, space.get(SLOTS).await);
        if stats.status == 200 && list.status == 200 {
            assert_eq!(stats.body["slotCount"], list.body["count"]);
            for slot in list.body["slots"].as_array().unwrap() {
                assert_eq!(slot["value"].as_str().unwrap().len(), 20_000, "no half a slot");
            }
            space.get("/v1/working-memory/workspace").await.expect(200);
        }
    }
    (statuses.len(), statuses.iter().filter(|&&status| status == 200).count())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_redis_is_503_and_holds_no_half_slots_c123() {
    let Some(stage) = stage(&[]).await else { return };
    let key = stage.app.tenant("bob").await.key;
    let used: String = stage.redis.ask(cmd("INFO").arg("memory")).await;
    let used: u64 =
        used.lines().find_map(|line| line.strip_prefix("used_memory:")).unwrap().trim().parse().unwrap();
    let limit = used + 1_500_000;
    stage.redis.ask::<()>(cmd("CONFIG").arg("SET").arg("maxmemory").arg(limit)).await;
    let (all, done) = fill(&stage, &key).await;
    assert!(done > 0 && done < all, "{done} of {all}");
    stage.redis.ask::<()>(cmd("CONFIG").arg("SET").arg("maxmemory").arg(0)).await;
    is_back(&stage.client).await;
    // The same where the server helps itself: what it drops, it drops whole.
    stage.redis.ask::<()>(cmd("CONFIG").arg("SET").arg("maxmemory-policy").arg("allkeys-lru")).await;
    stage.redis.ask::<()>(cmd("CONFIG").arg("SET").arg("maxmemory").arg(limit)).await;
    let (_, done) = fill(&stage, &key).await;
    assert!(done > 0);
    stage.redis.ask::<()>(cmd("CONFIG").arg("SET").arg("maxmemory").arg(0)).await;
    is_back(&stage.client).await;
}

/// The service itself, as it is started: without Redis, and with it again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_starts_without_redis_and_finds_it_later_c164() {
    use crate::support::process::Settings;
    use crate::support::{TestDb, wire};
    let Some(mut redis) = TestRedis::start(&[]).await else { return };
    redis.kill();
    let db = TestDb::create().await;
    let settings = Settings::of(&db.config()).with("REDIS_URL", redis.url());
    let key = settings.make_tenant("late").await;
    let server = settings.serve().await;
    let caller = wire::caller(&server.url, &key).await;
    let inject = json!({ "id": "a", "value": 1 });
    let reply = caller.post("/v1/working-memory/slots/inject", &inject).await.unwrap();
    assert!(reply.status == 503 && reply.retry_after.is_some() && reply.took < REFUSED_WITHIN, "{reply:?}");
    redis.restart().await;
    let start = Instant::now();
    while caller.post("/v1/working-memory/slots/inject", &inject).await.unwrap().status != 200 {
        assert!(start.elapsed() < BACK_WITHIN);
    }
    assert_eq!(caller.get(SLOTS).await.unwrap().expect(200)["count"], 1);
}

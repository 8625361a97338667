//! The stream of what happens: everything, in order, in time, and only to whom it may be told.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::engine::slow;
use crate::support::{Events, TestApp};

const EVENTS: &str = "/v1/working-memory/events";

/// From the change to its event (issue: 250 ms); the rest is for a debug build on a busy machine.
const IN_TIME: Duration = Duration::from_millis(500);

async fn soon(events: &mut Events) -> (String, Value) {
    tokio::time::timeout(IN_TIME, events.next()).await.expect("an event in time").expect("the stream goes on")
}

#[tokio::test]
async fn everything_that_happens_is_told_in_order_and_in_time() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await;
    let client = &alice.client;
    let engine = json!({ "decay": slow("Exponential", 0.01) });
    client.configure(json!({ "max_slots": 2, "engine": engine })).await;
    client.inject("a", json!("secret")).await.expect(200);
    let mut events = client.events(EVENTS).await;
    let (name, standing) = soon(&mut events).await;
    assert_eq!((name.as_str(), &standing["capacity"]), ("workspace", &json!(2)));
    let bar = &standing["items"][0];
    assert_eq!((&bar["id"], &bar["activation"], &bar["injected"]), (&json!("a"), &json!(1.0), &json!(true)));
    assert_eq!(bar["decay"], slow("Exponential", 0.01));
    assert!(bar["since_ms"].as_i64().unwrap() < bar["ends_at_ms"].as_i64().unwrap());
    let mut version = standing["version"].as_u64().unwrap();
    let mut expect = async |events: &mut Events, expected: &[(&str, &str)], raises: u64| {
        version += raises;
        for (kind, id) in expected {
            let (name, data) = soon(events).await;
            assert_eq!(
                (name.as_str(), data["type"].as_str(), data["id"].as_str()),
                (*kind, Some(*kind), Some(*id)),
                "{data}"
            );
            assert_eq!(data["version"], version, "{data}");
            assert!(data["at_ms"].is_i64() && !data.to_string().contains("secret"));
        }
    };
    client.inject("b", json!("secret")).await.expect(200);
    expect(&mut events, &[("admitted", "b")], 1).await;
    client.offer(json!([{ "id": "c", "value": 1 }])).await;
    expect(&mut events, &[("refused", "c")], 0).await;
    client.clear("a").await;
    expect(&mut events, &[("cleared", "a")], 1).await;
    let poor =
        json!({ "id": "d", "value": 1, "importance": 0, "relevance": 0, "activation": 0, "observed_at": 0 });
    client.offer(json!([{ "id": "c", "value": 1 }, poor])).await;
    expect(&mut events, &[("admitted", "c"), ("refused", "d")], 1).await;
    client.rehearse("c").await.expect(200);
    expect(&mut events, &[("rehearsed", "c")], 1).await;
    client.offer(json!([{ "id": "e", "value": 1 }])).await;
    expect(&mut events, &[("evicted", "c"), ("admitted", "e")], 1).await;
    client.post("/v1/working-memory/focus", json!({ "id": "e" })).await.expect(200);
    expect(&mut events, &[("focused", "e")], 1).await;
    client.post("/v1/working-memory/focus/release", json!({})).await.expect(200);
    expect(&mut events, &[("released", "e")], 1).await;
    app.pass(300.0);
    client.ids().await;
    expect(&mut events, &[("evicted", "e")], 1).await;
    client.post("/v1/working-memory/clear", json!({})).await.expect(200);
    expect(&mut events, &[("cleared", "b")], 1).await;
    client.inject("f", json!(1)).await.expect(200);
    expect(&mut events, &[("admitted", "f")], 1).await;
    // Another namespace is another stream.
    let other = app.within(&alice.key, "other").await;
    other.inject("x", json!(1)).await.expect(200);
    client.inject("g", json!(1)).await.expect(200);
    expect(&mut events, &[("admitted", "g")], 1).await;
}

/// Nobody touches the workspace: the watcher's own clock finds out.
#[tokio::test]
async fn what_ends_by_itself_is_told_when_it_ends_b002_b018() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    let engine =
        json!({ "decay": { "function": "Linear", "rate": 1.0, "tick_ms": 50 }, "gate": { "type": "Open" } });
    alice.configure(json!({ "ttl_seconds": 2, "engine": engine })).await;
    let mut events = alice.events(EVENTS).await;
    alice.inject("expires", json!(1)).await.expect(200);
    alice.offer(json!([{ "id": "fades", "value": 1 }])).await;
    let start = Instant::now();
    let evicted = events.until("evicted").await;
    assert_eq!((&evicted["id"], &evicted["reason"]), (&json!("fades"), &json!("faded")));
    let late = start.elapsed().saturating_sub(Duration::from_millis(950));
    assert!(late < IN_TIME, "{late:?} late");
    assert_eq!(events.until("expired").await["id"], "expires");
    let late = start.elapsed().saturating_sub(Duration::from_secs(2));
    assert!(late < IN_TIME, "{late:?} late");
}

#[tokio::test]
async fn every_node_tells_what_happens_on_any() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await;
    let (node, router) = app.second_node().await;
    let there = crate::support::Client::new(router).capability(&alice.capability);
    let mut streams =
        [there.events(EVENTS).await, alice.client.events(EVENTS).await, there.events(EVENTS).await];
    for number in 0..5 {
        let id = format!("s{number}");
        let writer = if number % 2 == 0 { &alice.client } else { &there };
        writer.inject(&id, json!(1)).await.expect(200);
        for stream in &mut streams {
            assert_eq!(stream.until("admitted").await["id"], id);
        }
    }
    node.stop();
    assert!(
        tokio::time::timeout(IN_TIME, streams[0].next()).await.unwrap().is_none(),
        "streams end with the process"
    );
}

#[tokio::test]
async fn a_stream_ends_with_its_token_c088() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await;
    let short = app.exchange(&alice.key, json!({ "namespace": "default", "ttl_seconds": 60 })).await;
    let revoked = app.exchange(&alice.key, json!({ "namespace": "default" })).await;
    let revoked = app.anyone().capability(&revoked);
    let mut ends = app.anyone().capability(&short).events(EVENTS).await;
    let mut ended = revoked.events(EVENTS).await;
    let mut stays = alice.client.events(EVENTS).await;
    for stream in [&mut ends, &mut ended, &mut stays] {
        stream.until("workspace").await;
    }
    revoked.post("/v1/auth/revoke", json!({})).await.expect(200);
    let limit = Duration::from_secs(5);
    assert!(tokio::time::timeout(limit, ended.next()).await.expect("ended").is_none());
    app.pass(70.0);
    assert!(tokio::time::timeout(limit, ends.next()).await.expect("ended").is_none());
    alice.client.inject("a", json!(1)).await.expect(200);
    assert_eq!(stays.until("admitted").await["id"], "a");
}

#[tokio::test]
async fn a_slow_reader_is_cut_and_disturbs_nobody() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    alice.configure(json!({ "max_slots": 1_000 })).await;
    let mut slow = alice.events(EVENTS).await;
    let mut quick = alice.events(EVENTS).await;
    let reader = tokio::spawn(async move {
        let mut seen = 0;
        while seen < 200 {
            quick.until("admitted").await;
            seen += 1;
        }
    });
    for number in 0..200 {
        alice.inject(&number.to_string(), json!(1)).await.expect(200);
    }
    reader.await.unwrap();
    tokio::time::sleep(Duration::from_secs(6)).await;
    let mut taken = 0;
    while slow.next().await.is_some() {
        taken += 1;
    }
    assert!(taken < 100, "{taken} were kept for it");
}

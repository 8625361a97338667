//! What may not be told any more is not told from a node's memory either (XC-18, R-29).

use std::net::SocketAddr;

use memtide::http;
use serde_json::{Value, json};

use super::{holding, served};
use crate::support::{Follower, TestApp, fact, with};

/// A second node on a port of its own.
async fn another(app: &TestApp) -> SocketAddr {
    let (node, router) = app.second_node().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(http::serve(node, listener, router));
    address
}

/// What a replay tells up to the record with this content.
async fn replayed(address: SocketAddr, capability: &str, last: &str) -> Vec<Value> {
    let mut replay = Follower::open(false, address, capability, Some(0)).await;
    let mut told = Vec::new();
    loop {
        let next = replay.told().await;
        let is_last = next["params"]["record"]["content"] == last;
        told.push(next);
        if is_last {
            return told;
        }
    }
}

/// Somebody follows on both nodes, so that both have the latest events in memory.
#[tokio::test]
async fn what_is_erased_is_told_from_the_memory_of_no_node_xc18() {
    let (app, made, address) = served().await;
    let addresses = [address, another(&app).await];
    let mut live = Vec::new();
    for address in addresses {
        live.push(Follower::open(false, address, &made.capability, None).await);
    }
    made.client.candidate("Likes heliotrope.").await;
    let record = made.client.remember(with(fact("Grows."), json!({ "key": "k" }))).await;
    let target = json!({ "kind": "id", "memory_id": record["id"] });
    let because = json!({ "target": target, "reason": "no heliotrope here" });
    made.client.post("/v1/memory/forget", because).await.expect(200);
    for reader in &mut live {
        for _ in 0..4 {
            reader.told().await;
        }
    }
    made.client.post("/v1/memory/forget", json!({ "target": target, "erase": true })).await.expect(200);
    let scope = json!({ "kind": "scope", "scope": { "kind": "user", "key": "alice" } });
    made.client.post("/v1/memory/forget", json!({ "target": scope, "erase": true })).await.expect(200);
    made.client.remember(fact("After.")).await;
    for (reader, address) in live.iter_mut().zip(addresses) {
        assert_eq!(reader.told().await["params"]["record"]["content"], "After.");
        let told = replayed(address, &made.capability, "After.").await;
        assert!(!json!(told).to_string().contains("heliotrope"), "{told:?}");
    }
}

/// A record that is personal by now is not shown as it was before to whoever may not see personal records.
#[tokio::test]
async fn what_became_personal_is_not_told_from_memory_as_it_was_r29() {
    let (app, made, address) = served().await;
    let normal = json!({ "sensitivity": ["normal"], "capabilities": { "memory.events": ["read"], "memory.durable": ["read"] } });
    let normal = holding(&app, &made, normal).await;
    let mut live = Follower::open(false, address, &made.capability, None).await;
    let record = made.client.remember(with(fact("Grows heliotrope."), json!({ "key": "k" }))).await;
    let path = format!("/v1/memory/items/{}", record["id"].as_str().unwrap());
    made.client.patch(&path, json!({ "sensitivity": "personal" })).await.expect(200);
    made.client.remember(fact("After.")).await;
    for _ in 0..3 {
        live.told().await;
    }
    let told = replayed(address, &normal, "After.").await;
    assert_eq!(told.len(), 1, "{told:?}");
}

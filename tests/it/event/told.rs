//! What is told, and to whom: C-030 to C-033, XC-50, XC-51, R-29.

use std::time::Duration;

use serde_json::{Value, json};

use super::{holding, served, short};
use crate::support::{Follower, fact, with};

const SOON: Duration = Duration::from_secs(5);
const QUIET: Duration = Duration::from_millis(400);

/// Every sort of change, over both transports: in order, with numbers from 1 without gaps.
#[tokio::test]
async fn every_change_is_told_once_and_in_order_c030_c032_xc51() {
    for is_socket in [false, true] {
        let (_app, made, address) = served().await;
        let client = &made.client;
        let mut reader = Follower::open(is_socket, address, &made.capability, None).await;
        let first = client.remember(with(fact("Tea."), json!({ "key": "drink" }))).await;
        client.remember(with(fact("Coffee."), json!({ "key": "drink" }))).await;
        let heir = client.remember(with(fact("Water."), json!({ "supersedes": first["id"] }))).await;
        let path = format!("/v1/memory/items/{}", heir["id"].as_str().unwrap());
        client.delete(&path).await.expect(200);
        client.post(&format!("{path}/restore"), json!({})).await.expect(200);
        let mut told = Vec::new();
        for seq in 1..=7 {
            let next = reader.told_within(SOON).await.unwrap_or_else(|| panic!("{seq} is missing: {told:?}"));
            assert_eq!(next["params"]["seq"], seq, "{next}");
            assert_eq!(next["params"]["namespace"], "default");
            assert!(next["params"]["at"].is_i64());
            told.push(short(&next));
        }
        let changed = |kind: &str| ("memory/changed".to_owned(), json!(kind));
        let expected = [
            changed("created"),
            changed("updated"),
            changed("superseded"),
            changed("created"),
            changed("deleted"),
            ("memory/forgotten".to_owned(), json!([heir["id"]])),
            changed("restored"),
        ];
        assert_eq!(told, expected);
        assert_eq!(reader.told_within(QUIET).await, None);
    }
}

/// A dry run and a forget of nothing tell nothing (PC-27).
#[tokio::test]
async fn what_did_not_happen_is_not_told() {
    let (_app, made, address) = served().await;
    let mut reader = Follower::open(false, address, &made.capability, None).await;
    let record = made.client.remember(fact("Tea.")).await;
    let target = json!({ "kind": "id", "memory_id": record["id"] });
    made.client.post("/v1/memory/forget", json!({ "target": target, "dry_run": true })).await.expect(200);
    let unknown = json!({ "kind": "id", "memory_id": "mem_00000000000000000000000000" });
    made.client.post("/v1/memory/forget", json!({ "target": unknown })).await.expect(200);
    made.client.post("/v1/memory/items", fact("")).await.refused(400, "invalid_request");
    made.client.remember(fact("Tea.")).await;
    assert_eq!(short(&reader.told().await).1, json!("created"));
    assert_eq!(reader.told_within(QUIET).await, None);
}

/// Many records forgotten together are one `memory/forgotten`, with the reason.
#[tokio::test]
async fn a_scope_is_forgotten_in_one_notification_c032() {
    let (_app, made, address) = served().await;
    let mut ids = Vec::new();
    for content in ["One.", "Two.", "Three."] {
        ids.push(made.client.remember(fact(content)).await["id"].clone());
    }
    let mut reader = Follower::open(true, address, &made.capability, Some(0)).await;
    let target = json!({ "kind": "scope", "scope": { "kind": "user", "key": "alice" } });
    made.client.post("/v1/memory/forget", json!({ "target": target, "reason": "asked" })).await.expect(200);
    let mut forgotten = None;
    for _ in 0..7 {
        let told = reader.told().await;
        if told["method"] == "memory/forgotten" {
            assert!(forgotten.replace(told).is_none(), "one for all");
        }
    }
    let forgotten = forgotten.unwrap();
    assert_eq!(
        (&forgotten["params"]["memory_ids"], &forgotten["params"]["reason"]),
        (&json!(ids), &json!("asked"))
    );
}

/// R-29, C148: each token is told what it may see, and of a foreign tenant nothing.
#[tokio::test]
async fn events_are_cut_to_scope_sensitivity_and_rights_c148() {
    let (app, made, address) = served().await;
    let foreign = app.tenant("foreign").await;
    let all = json!({ "memory.events": ["read"], "memory.durable": ["read"] });
    let alice = json!({ "scopes": [{ "kind": "user", "key": "alice" }], "capabilities": all });
    let alice = holding(&app, &made, alice).await;
    let bare = holding(&app, &made, json!({ "capabilities": { "memory.events": ["read"] } })).await;
    let normal = holding(&app, &made, json!({ "sensitivity": ["normal"], "capabilities": all })).await;
    let mut readers = Vec::new();
    for token in [&made.capability, &alice, &bare, &normal, &foreign.capability] {
        for is_socket in [false, true] {
            readers.push(Follower::open(is_socket, address, token, None).await);
        }
    }
    let bob = json!({ "scope": { "kind": "user", "key": "bob" }, "category": "custom", "content": "Bob's." });
    made.client.remember(bob).await;
    made.client.remember(with(fact("Private."), json!({ "sensitivity": "personal" }))).await;
    made.client.remember(fact("Plain.")).await;
    foreign.client.remember(fact("Foreign.")).await;
    let mut heard: Vec<Vec<Value>> = Vec::new();
    for reader in &mut readers {
        let mut told = Vec::new();
        while let Some(next) = reader.told_within(Duration::from_millis(700)).await {
            told.push(next["params"].clone());
        }
        heard.push(told);
    }
    let seqs = |told: &[Value]| told.iter().map(|params| params["seq"].as_i64().unwrap()).collect::<Vec<_>>();
    for (at, expected) in [vec![1, 2, 3], vec![2, 3], vec![1, 2, 3], vec![1, 3], vec![1]].iter().enumerate() {
        assert_eq!(seqs(&heard[2 * at]), *expected, "reader {at}");
        assert_eq!(heard[2 * at], heard[2 * at + 1], "the same over both");
    }
    assert_eq!(heard[0][0]["record"]["content"], "Bob's.");
    for params in &heard[4] {
        assert!(params.get("record").is_none() && params["scope"]["kind"] == "user", "{params}");
    }
    assert_eq!(heard[8][0]["record"]["content"], "Foreign.");
}

/// C103: what was forgotten is not shown again by a replay, nor what was erased.
#[tokio::test]
async fn a_replay_does_not_show_what_was_forgotten_c103() {
    let (_app, made, address) = served().await;
    let mut live = Follower::open(false, address, &made.capability, None).await;
    let record = made.client.remember(fact("A secret plan.")).await;
    assert_eq!(live.told().await["params"]["record"]["content"], "A secret plan.");
    let path = format!("/v1/memory/items/{}", record["id"].as_str().unwrap());
    made.client.delete(&path).await.expect(200);
    live.told().await;
    live.told().await;
    for is_socket in [false, true] {
        let mut replay = Follower::open(is_socket, address, &made.capability, Some(0)).await;
        for _ in 0..3 {
            let told = replay.told().await;
            assert!(!told.to_string().contains("secret plan"), "{told}");
        }
    }
    let target = json!({ "kind": "id", "memory_id": record["id"] });
    made.client.post("/v1/memory/forget", json!({ "target": target, "erase": true })).await.expect(200);
    let mut replay = Follower::open(true, address, &made.capability, Some(0)).await;
    while let Some(told) = replay.told_within(QUIET).await {
        assert!(!told.to_string().contains("secret plan"), "{told}");
    }
}

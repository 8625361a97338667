//! From the workspace into durable memory (B-013, XB-19, XB-55).

use ::redis::cmd;
use serde_json::{Value, json};

use super::CONSOLIDATE;
use crate::support::{Client, TestApp, redis};

async fn record(client: &Client, reply: &Value) -> Value {
    let path = format!("/v1/memory/items/{}", reply["memory_id"].as_str().unwrap());
    client.get(&path).await.expect(200)["record"].clone()
}

#[tokio::test]
async fn a_slot_becomes_a_durable_record_b013_b056_xb55() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    let bindings = json!([{ "variable": "who", "value": "Bob" }]);
    let item =
        json!({ "id": "a", "value": "The pilot starts on Monday.", "importance": 0.9, "bindings": bindings });
    alice.offer(json!([item])).await;
    alice.inject("b", json!({ "n": 1 })).await.expect(200);
    let reply = alice.post(CONSOLIDATE, json!({ "id": "a" })).await.expect(200);
    assert_eq!(reply.as_object().unwrap().keys().collect::<Vec<_>>(), ["memory_id", "ok"]);
    let kept = record(&alice, &reply).await;
    assert_eq!(kept["content"], "The pilot starts on Monday.");
    assert_eq!(
        (&kept["scope"], &kept["importance"]),
        (&json!({ "kind": "agent", "key": "default" }), &json!(0.9))
    );
    assert_eq!(kept["metadata"]["working_memory"]["slot_id"], "a");
    assert_eq!(kept["metadata"]["working_memory"]["bindings"][0]["value"], "Bob", "XB-45: bindings go along");
    assert_eq!(alice.ids().await, ["b"], "cleared unless told otherwise");
    let body = json!({ "id": "b", "clear": false, "scope": { "kind": "thread", "key": "t1" }, "category": "project_fact" });
    let reply = alice.post(CONSOLIDATE, body.clone()).await.expect(200);
    let kept = record(&alice, &reply).await;
    assert_eq!((&kept["content"], &kept["category"]), (&json!(r#"{"n":1}"#), &json!("project_fact")));
    assert_eq!(alice.ids().await, ["b"]);
    let again = alice.post(CONSOLIDATE, body).await.expect(200);
    assert_eq!(again["memory_id"], reply["memory_id"], "the same text is the same record");
    alice.post(CONSOLIDATE, json!({ "id": "none" })).await.refused(404, "not_found");
    let body = json!({ "id": "b", "scope": { "kind": "user", "key": "u" } });
    alice.post(CONSOLIDATE, body).await.refused(400, "invalid_request");
    alice.inject("blank", json!(" ")).await.expect(200);
    alice.post(CONSOLIDATE, json!({ "id": "blank" })).await.refused(400, "invalid_request");
    assert_eq!(alice.ids().await, ["b", "blank"], "what cannot be remembered stays");
}

#[tokio::test]
async fn it_needs_two_rights_and_to_clear_a_third_xb55_r30() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await;
    alice.client.inject("a", json!("text")).await.expect(200);
    let hold = async |working: Value, durable: Value| {
        let request = json!({ "namespace": "default", "capabilities": { "memory.working": working, "memory.durable": durable } });
        app.anyone().capability(&app.exchange(&alice.key, request).await)
    };
    let keep = json!({ "id": "a", "clear": false });
    hold(json!(["read"]), json!(["read"]))
        .await
        .post(CONSOLIDATE, keep.clone())
        .await
        .refused(403, "forbidden");
    hold(json!(["write", "delete"]), json!(["write"]))
        .await
        .post(CONSOLIDATE, keep.clone())
        .await
        .refused(403, "forbidden");
    let enough = hold(json!(["read"]), json!(["write"])).await;
    enough.post(CONSOLIDATE, json!({ "id": "a" })).await.refused(403, "forbidden");
    enough.post(CONSOLIDATE, keep).await.expect(200);
    let all = hold(json!(["read", "delete"]), json!(["write"])).await;
    all.post(CONSOLIDATE, json!({ "id": "a" })).await.expect(200);
    assert_eq!(alice.client.ids().await, Vec::<String>::new());
}

#[tokio::test]
async fn the_same_key_gives_the_first_answer_though_the_slot_is_gone_r11_xb55() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    alice.inject("a", json!("a thought")).await.expect(200);
    let once = alice.with("idempotency-key", "k");
    let first = once.post(CONSOLIDATE, json!({ "id": "a" })).await;
    assert!(!first.headers.contains_key("idempotent-replayed"));
    let first = first.expect(200);
    assert_eq!(alice.ids().await, Vec::<String>::new());
    // Another slot under the same id is not what was meant.
    for _ in 0..2 {
        let again = once.post(CONSOLIDATE, json!({ "id": "a" })).await;
        assert_eq!(again.headers["idempotent-replayed"], "true");
        assert_eq!(again.expect(200), first);
        alice.inject("a", json!("another thought")).await.expect(200);
    }
    assert_eq!((alice.listed("").await.len(), alice.ids().await), (1, vec!["a".to_owned()]));
    once.post(CONSOLIDATE, json!({ "id": "b" })).await.refused(422, "idempotency_mismatch");
    let lost = alice.with("idempotency-key", "lost");
    for _ in 0..2 {
        lost.post(CONSOLIDATE, json!({ "id": "none" })).await.refused(404, "not_found");
    }
}

#[tokio::test]
async fn old_slots_are_remembered_by_themselves_when_the_tenant_says_so_xb19() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    alice.inject("old", json!("an old thought")).await.expect(200);
    app.pass(100.0);
    alice.inject("new", json!("a new thought")).await.expect(200);
    memtide::job::tidy(&app.app).await;
    assert_eq!(alice.listed("").await.len(), 0, "never, unless told");
    alice.engine(json!({ "consolidate_after_seconds": 60 })).await;
    for _ in 0..2 {
        memtide::job::tidy(&app.app).await;
        let list = alice.get("/v1/memory/items").await.expect(200);
        let contents: Vec<&Value> =
            list["records"].as_array().unwrap().iter().map(|record| &record["content"]).collect();
        assert_eq!(contents, ["an old thought"]);
    }
    assert_eq!(alice.ids().await, ["new", "old"], "they stay where they are");
    app.pass(60.0);
    memtide::job::tidy(&app.app).await;
    assert_eq!(alice.listed("").await.len(), 2);
}

#[tokio::test]
async fn what_cannot_be_read_keeps_nothing_else_from_being_remembered_xb19() {
    let app = TestApp::start_lexical().await;
    let (alice, bob) = (app.tenant("alice").await, app.tenant("bob").await);
    for tenant in [&alice, &bob] {
        tenant.client.engine(json!({ "consolidate_after_seconds": 60 })).await;
        for space in ["a", "b", "c"] {
            let client = app.within(&tenant.key, space).await;
            client.inject("old", json!(format!("thought in {space}"))).await.expect(200);
        }
    }
    app.pass(60.0);
    let spaces = [app.within(&alice.key, "b").await, app.within(&alice.key, "c").await];
    spaces[1].inject("new", json!("not yet")).await.expect(200);
    let dump = redis::dump(&app).await;
    let tenant =
        dump.keys().find(|key| key.ends_with(":b}:workspace") && dump[*key].contains("old")).unwrap();
    let owner = tenant.split(':').nth(1).unwrap().to_owned();
    let key = |space: &str| format!("{}wm:{owner}:{space}}}:workspace", app.app.config.redis.prefix);
    redis::tell_keeper(&app, cmd("HSET").arg(key("b")).arg("m:old").arg("[broken")).await;
    // Values are read of what is due, and of nothing else.
    redis::tell_keeper(&app, cmd("HDEL").arg(key("c")).arg("v:new")).await;
    memtide::job::tidy(&app.app).await;
    let mut counts = vec![];
    for tenant in [&alice, &bob] {
        for space in ["a", "b", "c"] {
            counts.push(app.within(&tenant.key, space).await.listed("").await.len());
        }
    }
    let (whole, broken) = ([1, 1, 1], [1, 0, 1]);
    assert!(counts == [broken, whole].concat() || counts == [whole, broken].concat(), "{counts:?}");
}

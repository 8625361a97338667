//! The methods of durable records: C-010 to C-014, and the same through REST and JSON-RPC.

use serde_json::{Value, json};

use crate::support::{TestApp, fact, id, with};

#[tokio::test]
async fn search_finds_active_memory_in_allowed_scopes_c010() {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("rpc").await;
    let client = &made.client;
    let kept = client.call("memory/remember", fact("The lighthouse stands on rock.")).await;
    let bob = json!({ "scope": { "kind": "user", "key": "bob" }, "category": "custom", "content": "Bob's lighthouse." });
    client.call("memory/remember", bob).await;
    let gone = client.call("memory/remember", fact("The lighthouse is green.")).await;
    let target = json!({ "kind": "id", "memory_id": gone["record"]["id"] });
    client.call("memory/forget", json!({ "target": target })).await;
    let alice = json!({ "namespace": "default", "scopes": [{ "kind": "user", "key": "alice" }] });
    let alice = app.anyone().capability(&app.exchange(&made.key, alice).await);
    let reply = alice.call("memory/search", json!({ "query": "lighthouse" })).await;
    let found: Vec<&Value> =
        reply["hits"].as_array().unwrap().iter().map(|hit| &hit["record"]["id"]).collect();
    assert_eq!(found, [&kept["record"]["id"]]);
    client
        .refused("memory/search", json!({ "query": "x", "statuses": ["deleted"] }), -32602, "invalid_request")
        .await;
}

#[tokio::test]
async fn get_takes_an_id_or_a_scoped_key_and_gives_nothing_for_an_unknown_one_c011() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("rpc").await.client;
    let made = client.call("memory/remember", with(fact("Tea."), json!({ "key": "drink" }))).await;
    let record = &made["record"];
    let scope = json!({ "kind": "user", "key": "alice" });
    assert_eq!(
        client.call("memory/get", json!({ "memory_id": record["id"] })).await["record"]["id"],
        record["id"]
    );
    let by_key = client.call("memory/get", json!({ "scope": scope, "key": "drink" })).await;
    assert_eq!(by_key["record"]["id"], record["id"]);
    assert_eq!(
        client.call("memory/get", json!({ "memory_id": "mem_00000000000000000000000000" })).await,
        json!({})
    );
    assert_eq!(client.call("memory/get", json!({ "scope": scope, "key": "other" })).await, json!({}));
    for params in [json!({}), json!({ "memory_id": record["id"], "key": "drink" }), json!({ "scope": scope })]
    {
        client.refused("memory/get", params, -32602, "invalid_request").await;
    }
    let target = json!({ "kind": "scoped_key", "scope": scope, "key": "drink" });
    let gone = client.call("memory/forget", json!({ "target": target, "reason": "asked" })).await;
    assert_eq!(gone, json!({ "forgotten_memory_ids": [record["id"]], "dry_run": false }));
    assert_eq!(client.call("memory/get", json!({ "memory_id": record["id"] })).await, json!({}));
    let tombstone = json!({ "memory_id": record["id"], "include_deleted": true });
    assert_eq!(client.call("memory/get", tombstone).await["record"]["delete_reason"], "asked");
}

#[tokio::test]
async fn errors_have_their_numbers_xc04() {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("rpc").await;
    let client = &made.client;
    let turn = |content: &str| with(fact(content), json!({ "context": { "thread_id": "t", "seq": 1 } }));
    client.call("memory/remember", turn("one")).await;
    client.refused("memory/remember", turn("other"), -32009, "conflict").await;
    let keyed = |content: &str| with(fact(content), json!({ "idempotency_key": "k" }));
    let first = client.call("memory/remember", keyed("Once.")).await;
    assert_eq!(client.call("memory/remember", keyed("Once.")).await, first, "XC-17");
    client.refused("memory/remember", keyed("Twice."), -32009, "idempotency_mismatch").await;
    let error =
        client.refused("memory/remember", fact(&"x".repeat(65_537)), -32013, "payload_too_large").await;
    assert_eq!(error["data"]["details"], json!({ "field": "content", "limit": 65_536, "actual": 65_537 }));
    let unknown = json!({ "memory_id": "mem_00000000000000000000000000" });
    client.refused("memory/restore", unknown, -32602, "not_found").await;
    let foreign = with(fact("x"), json!({ "namespace": "other" }));
    client.refused("memory/remember", foreign, -32003, "forbidden").await;
    let semantic = json!({ "query": "x", "mode": "semantic" });
    client.refused("memory/search", semantic, -32050, "unavailable").await;
}

/// the header is for a single call, under the method's name.
#[tokio::test]
async fn an_idempotency_key_may_come_as_header() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("rpc").await.client;
    let keyed = client.with("idempotency-key", "k");
    let first = keyed.call("memory/remember", fact("Once.")).await;
    assert_eq!(
        (&first["created"], keyed.call("memory/remember", fact("Once.")).await),
        (&json!(true), first.clone())
    );
    let target = json!({ "target": { "kind": "id", "memory_id": first["record"]["id"] } });
    let gone = keyed.call("memory/forget", target.clone()).await;
    assert_eq!(keyed.call("memory/forget", target).await, gone, "another method, another key");
    assert_eq!(gone["forgotten_memory_ids"], json!([first["record"]["id"]]));
    let batch = json!([{ "jsonrpc": "2.0", "id": 1, "method": "memory/list" }]);
    let answer = keyed.post("/v1/rpc", batch).await.expect(200);
    assert_eq!(answer["error"]["code"], -32600);
    let both = with(fact("Both."), json!({ "idempotency_key": "own" }));
    keyed.refused("memory/remember", both, -32602, "invalid_request").await;
}

#[tokio::test]
async fn forget_tombstones_and_tells_what_it_would_do_c014_c109() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("rpc").await.client;
    let made = client.call("memory/remember", fact("Tea.")).await;
    let wanted = json!([id(&made["record"])]);
    let target = json!({ "kind": "scope", "scope": { "kind": "user", "key": "alice" } });
    let dry = client.call("memory/forget", json!({ "target": target, "dry_run": true })).await;
    assert_eq!(dry, json!({ "forgotten_memory_ids": wanted, "dry_run": true }));
    let real = client.call("memory/forget", json!({ "target": target })).await;
    assert_eq!(real, json!({ "forgotten_memory_ids": wanted, "dry_run": false }));
    let again = client.call("memory/forget", json!({ "target": target })).await;
    assert_eq!(again, json!({ "forgotten_memory_ids": [], "dry_run": false }), "XC-19");
    let back = client.call("memory/restore", json!({ "memory_id": wanted[0] })).await;
    assert_eq!((&back["record"]["status"], &back["record"]["id"]), (&json!("active"), &wanted[0]));
}

//! What a token does not reach is as if it were not there: scopes, sensitivities, rights.

use serde_json::{Value, json};

use crate::support::{Client, Made, TestApp, fact, id, with};

const ITEMS: &str = "/v1/memory/items";

async fn with_token(app: &TestApp, made: &Made, request: Value) -> Client {
    let request = with(json!({ "namespace": "default" }), request);
    app.anyone().capability(&app.exchange(&made.key, request).await)
}

fn of(key: &str, content: &str) -> Value {
    with(fact(content), json!({ "scope": { "kind": "user", "key": key } }))
}

/// Asks for a record in every way, and checks that it is not there.
async fn assert_hidden(client: &Client, record: &Value) {
    let path = format!("{ITEMS}/{}", id(record));
    client.get(&path).await.refused(404, "not_found");
    client.get(&format!("{path}/history")).await.refused(404, "not_found");
    client.patch(&path, json!({ "importance": 1 })).await.refused(404, "not_found");
    client.delete(&path).await.refused(404, "not_found");
    client.post(&format!("{path}/restore"), json!({})).await.refused(404, "not_found");
    let target = json!({ "target": { "kind": "id", "memory_id": id(record) } });
    let gone = client.post("/v1/memory/forget", target).await.expect(200);
    assert_eq!(gone["forgotten_memory_ids"], json!([]));
    let target = json!({ "target": { "kind": "scope", "scope": record["scope"] } });
    let gone = client.post("/v1/memory/forget", target).await.expect(200);
    assert!(!gone["forgotten_memory_ids"].as_array().unwrap().contains(&record["id"]));
    for question in ["limit=100", "limit=100&status=deleted&status=superseded&status=active", "query=secret"]
    {
        assert!(!client.listed(question).await.contains(&id(record).to_owned()), "{question}");
    }
    for mode in ["hybrid", "lexical", "semantic"] {
        let search =
            json!({ "query": record["content"], "mode": mode, "limit": 100, "include_similar": true });
        let hits = client.search(search.clone()).await;
        assert!(hits.iter().all(|hit| hit["record"]["id"] != record["id"]), "{mode}");
        let scoped = with(search, json!({ "scopes": [record["scope"]] }));
        assert!(client.search(scoped).await.iter().all(|hit| hit["record"]["id"] != record["id"]));
    }
    let context = json!({ "query": record["content"], "limit": 100 });
    let context = client.post("/v1/memory/context", context).await.expect(200);
    assert!(!context["text"].as_str().unwrap().contains(id(record)));
}

#[tokio::test]
async fn a_token_of_some_scopes_sees_and_writes_only_there_r32() {
    let app = TestApp::start().await;
    let made = app.tenant("acme").await;
    let theirs = made.client.remember(with(of("bob", "Bob's secret"), json!({ "key": "k" }))).await;
    let scopes = json!({ "scopes": [{ "kind": "user", "key": "alice" }, { "kind": "user", "key": "al" }] });
    let alice = with_token(&app, &made, scopes).await;
    let own = alice.remember(of("alice", "Alice's secret")).await;
    assert_hidden(&alice, &theirs).await;
    assert_eq!(alice.listed("").await, [id(&own)]);
    assert_eq!(alice.listed("scope=user:bob&key=k").await.len(), 0);
    assert_eq!(alice.listed("scope=user:bob").await.len(), 0);
    alice.post(ITEMS, of("bob", "x")).await.refused(403, "forbidden");
    let supersede = with(of("alice", "x"), json!({ "supersedes": theirs["id"] }));
    alice.post(ITEMS, supersede).await.refused(404, "not_found");
    let batch = json!({ "items": [of("bob", "x"), of("al", "y")] });
    let reply = alice.post("/v1/memory/items/batch", batch).await.expect(200);
    assert_eq!(reply["results"][0]["error"]["code"], "forbidden");
    assert_eq!(reply["results"][1]["created"], true);
    assert_eq!(
        made.client.get(&format!("{ITEMS}/{}", id(&theirs))).await.expect(200)["record"]["version"],
        1
    );
}

#[tokio::test]
async fn records_above_the_ceiling_are_as_if_absent_r49_r57_pc32() {
    let app = TestApp::start().await;
    let made = app.tenant("acme").await;
    let mut records = Vec::new();
    for sensitivity in ["normal", "personal", "secret_like", "regulated"] {
        let body = with(fact(&format!("the {sensitivity} secret")), json!({ "sensitivity": sensitivity }));
        records.push(made.client.remember(body).await);
    }
    let low = with_token(&app, &made, json!({ "sensitivity": ["normal", "personal"] })).await;
    assert_eq!(low.listed("").await.len(), 2);
    assert_hidden(&low, &records[2]).await;
    assert_hidden(&low, &records[3]).await;
    let write = with(fact("x"), json!({ "sensitivity": "regulated" }));
    low.post(ITEMS, write).await.refused(403, "forbidden");
    let own = low.remember(fact("mine")).await;
    let raise = json!({ "sensitivity": "secret_like" });
    low.patch(&format!("{ITEMS}/{}", id(&own)), raise.clone()).await.refused(403, "forbidden");
    // Once raised by somebody else, it is gone for the token, with the versions it could see.
    made.client.patch(&format!("{ITEMS}/{}", id(&own)), raise).await.expect(200);
    assert_hidden(&low, &own).await;
    // And what was lowered shows no version above the ceiling.
    let lower = json!({ "sensitivity": "normal" });
    made.client.patch(&format!("{ITEMS}/{}", id(&records[2])), lower).await.expect(200);
    let history = low.get(&format!("{ITEMS}/{}/history", id(&records[2]))).await.expect(200);
    assert_eq!(history["versions"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_cursor_of_a_wide_token_shows_a_narrow_one_nothing_more_c143() {
    let app = TestApp::start().await;
    let made = app.tenant("acme").await;
    for n in 0..10 {
        made.client.remember(with(fact(&format!("secret {n}")), json!({ "sensitivity": "regulated" }))).await;
    }
    let low = with_token(&app, &made, json!({ "sensitivity": ["normal"] })).await;
    let list = made.client.get(&format!("{ITEMS}?limit=2")).await.expect(200);
    let next = low.get(&format!("{ITEMS}?limit=2&cursor={}", list["next_cursor"].as_str().unwrap())).await;
    assert!(next.status != 200 || next.body["records"] == json!([]));
    let search = json!({ "query": "secret", "limit": 2 });
    let found = made.client.post("/v1/memory/search", search.clone()).await.expect(200);
    let next = low.post("/v1/memory/search", with(search, json!({ "cursor": found["next_cursor"] }))).await;
    assert!(next.status != 200 || next.body["hits"] == json!([]));
}

#[tokio::test]
async fn each_operation_needs_its_right_c090_r30_r31() {
    let app = TestApp::start().await;
    let made = app.tenant("acme").await;
    let record = made.client.remember(fact("x")).await;
    let path = format!("{ITEMS}/{}", id(&record));
    let token = |rights: Value| json!({ "capabilities": { "memory.durable": rights } });
    let read = with_token(&app, &made, token(json!(["read"]))).await;
    let write = with_token(&app, &made, token(json!(["write"]))).await;
    let delete = with_token(&app, &made, token(json!(["delete"]))).await;
    read.get(&path).await.expect(200);
    read.found("x").await;
    read.post(ITEMS, fact("y")).await.refused(403, "forbidden");
    read.patch(&path, json!({ "importance": 1 })).await.refused(403, "forbidden");
    read.delete(&path).await.refused(403, "forbidden");
    write.get(&path).await.refused(403, "forbidden");
    write.post("/v1/memory/search", json!({ "query": "x" })).await.refused(403, "forbidden");
    write.post("/v1/memory/context", json!({ "query": "x" })).await.refused(403, "forbidden");
    write.delete(&path).await.refused(403, "forbidden");
    write.post(ITEMS, fact("y")).await.expect(201);
    delete.post(ITEMS, fact("z")).await.refused(403, "forbidden");
    delete.get(ITEMS).await.refused(403, "forbidden");
    delete.delete(&path).await.expect(200);
    write.post(&format!("{path}/restore"), json!({})).await.expect(200);
    // the body is decoded before rights are looked at, and rights before its values.
    read.post(ITEMS, json!({})).await.refused(422, "unprocessable");
    read.post(ITEMS, fact(" ")).await.refused(403, "forbidden");
    app.anyone().post(ITEMS, json!({})).await.refused(401, "unauthorized");
}

#[tokio::test]
async fn namespaces_of_one_tenant_share_nothing_r20() {
    let app = TestApp::start().await;
    let made = app.tenant("acme").await;
    let other = app.exchange(&made.key, json!({ "namespace": "team/b" })).await;
    let other = app.anyone().capability(&other);
    let record = made.client.remember(with(fact("The secret of default"), json!({ "key": "k" }))).await;
    assert_hidden(&other, &record).await;
    let twin = other.post(ITEMS, with(fact("another"), json!({ "key": "k" }))).await.expect(201);
    assert_eq!(twin["record"]["namespace"], "team/b");
    assert_ne!(twin["record"]["id"], record["id"]);
    // C084: no word of the client's moves it elsewhere.
    let told = made.client.with("x-akasha-namespace", "team/b").with("x-tenant-id", "x");
    assert_eq!(told.listed("").await, [id(&record)]);
    let search = json!({ "query": "x", "namespace": "team/b" });
    made.client.post("/v1/memory/search", search).await.refused(403, "forbidden");
}

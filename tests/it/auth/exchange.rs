//! An API key buys capabilities, never more than its ceiling.

use chrono::TimeDelta;
use serde_json::{Value, json};

use super::whoami;
use crate::support::{Client, TestApp};

/// A key with a ceiling on everything.
async fn limited(app: &TestApp) -> (Client, String) {
    let tenant = app.tenant("limited").await;
    let new = json!({
        "name": "limited",
        "namespaces": ["default", "team-*"],
        "capabilities": { "memory.durable": ["read", "write"], "memory.events": ["read"] },
        "actor": { "kind": "assistant", "id": "helper-7" },
    });
    let (_, secret) = app.api_key(tenant.id, new).await;
    (app.anyone().bearer(&secret), secret)
}

async fn buy(key: &Client, request: Value) -> Value {
    key.post("/v1/auth/token", request).await.expect(200)
}

#[tokio::test]
async fn what_is_left_out_is_the_keys_and_what_is_asked_for_is_cut_to_it() {
    let app = TestApp::start_lexical().await;
    let (key, _) = limited(&app).await;
    let all = buy(&key, json!({ "namespace": "default" })).await;
    let ceiling = json!({ "memory.durable": ["read", "write"], "memory.events": ["read"] });
    assert_eq!(all["capabilities"], ceiling);
    assert_eq!(
        (&all["control"], &all["namespace"], &all["scopes"]),
        (&json!(false), &json!("default"), &Value::Null)
    );
    let caller = app.anyone().capability(all["capability"].as_str().unwrap());
    let said = whoami(&caller).await;
    assert_eq!(said["sensitivity"], json!(["normal", "personal"]));
    assert_eq!(said["actor"], json!({ "kind": "assistant", "id": "helper-7" }));

    let wide = json!({
        "namespace": "team-a",
        "capabilities": { "memory.durable": ["read", "delete"], "memory.working": ["read"] },
        "sensitivity": ["normal", "regulated"],
        "scopes": [{ "kind": "user", "key": "alice" }],
        "control": true,
    });
    let cut = buy(&key, wide).await;
    assert_eq!(cut["capabilities"], json!({ "memory.durable": ["read"] }));
    assert_eq!(cut["control"], false);
    assert_eq!(cut["scopes"], json!([{ "kind": "user", "key": "alice" }]));
    let said = whoami(&app.anyone().capability(cut["capability"].as_str().unwrap())).await;
    assert_eq!((&said["sensitivity"], &said["namespace"]), (&json!(["normal"]), &json!("team-a")));
}

#[tokio::test]
async fn a_cut_that_leaves_nothing_is_forbidden() {
    let app = TestApp::start_lexical().await;
    let (key, _) = limited(&app).await;
    for request in [
        json!({ "namespace": "default", "capabilities": { "memory.durable": ["delete"] } }),
        json!({ "namespace": "default", "capabilities": { "memory.working": ["read"] } }),
        json!({ "namespace": "default", "sensitivity": ["regulated"] }),
        json!({ "namespace": "other" }),
        json!({ "namespace": "team" }),
        json!({ "namespace": "defaults" }),
        json!({ "namespace": "Default" }),
    ] {
        key.post("/v1/auth/token", request).await.refused(403, "forbidden");
    }
}

#[tokio::test]
async fn a_request_that_names_nothing_or_something_unknown_is_invalid() {
    let app = TestApp::start_lexical().await;
    let (key, _) = limited(&app).await;
    for (more, status, code) in [
        (json!({ "capabilities": {} }), 400, "invalid_request"),
        (json!({ "capabilities": { "memory.durable": [] } }), 400, "invalid_request"),
        (json!({ "capabilities": { "memory.durable": ["review"] } }), 400, "invalid_request"),
        (json!({ "capabilities": { "memory.durable": ["own"] } }), 400, "invalid_request"),
        (json!({ "capabilities": { "memory.other": ["read"] } }), 400, "invalid_request"),
        (json!({ "scopes": [] }), 400, "invalid_request"),
        (json!({ "scopes": [{ "kind": "user", "key": "" }] }), 400, "invalid_request"),
        (json!({ "scopes": [{ "kind": "planet", "key": "x" }] }), 400, "invalid_request"),
        (json!({ "sensitivity": [] }), 400, "invalid_request"),
        (json!({ "ttl_seconds": 59 }), 400, "invalid_request"),
        (json!({ "ttl_seconds": 3601 }), 400, "invalid_request"),
        (json!({ "namespace": "" }), 400, "invalid_request"),
        (json!({ "namespace": "a b" }), 400, "invalid_request"),
        (json!({ "namespace": null }), 422, "unprocessable"),
        (json!({ "ttl_seconds": "60" }), 422, "unprocessable"),
        (json!({ "tenant": "ten_00000000000000000000000000" }), 422, "unprocessable"),
    ] {
        let mut request = json!({ "namespace": "default" });
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        key.post("/v1/auth/token", request).await.refused(status, code);
    }
}

#[tokio::test]
async fn a_capability_lives_as_long_as_asked_and_never_longer_than_its_key() {
    let app = TestApp::start_lexical().await;
    let tenant = app.tenant("brief").await;
    let now = app.app.clock.now().timestamp();
    let ends = now + 1_800;
    let new = json!({ "name": "brief", "namespaces": ["*"], "capabilities": super::read_only(), "expires_at": ends });
    let (_, secret) = app.api_key(tenant.id, new).await;
    let key = app.anyone().bearer(&secret);
    let life = async |request: Value| buy(&key, request).await["expires_at"].as_i64().unwrap() - now;
    assert!((898..=903).contains(&life(json!({ "namespace": "a" })).await));
    assert!((58..=63).contains(&life(json!({ "namespace": "a", "ttl_seconds": 60 })).await));
    assert_eq!(life(json!({ "namespace": "a", "ttl_seconds": 3600 })).await, 1_800);
    let capability = app.exchange(&secret, json!({ "namespace": "a", "ttl_seconds": 3600 })).await;
    let caller = app.anyone().capability(&capability);
    app.app.clock.shift(TimeDelta::seconds(1_790));
    whoami(&caller).await;
    // Five seconds of leeway, for clocks that differ.
    app.app.clock.shift(TimeDelta::seconds(17));
    caller.get("/v1/auth/whoami").await.refused(401, "unauthorized");
    key.post("/v1/auth/token", json!({ "namespace": "a" })).await.refused(401, "unauthorized");
    caller.bearer(&secret).get("/v1/auth/whoami").await.refused(401, "unauthorized");
}

#[tokio::test]
async fn only_a_good_key_buys_and_every_bad_one_is_told_the_same() {
    let app = TestApp::start_lexical().await;
    let (good, secret) = limited(&app).await;
    let other = memtide::auth::secret::Bearer::new(memtide::auth::secret::Sort::ApiKey).unwrap();
    let ask = json!({ "namespace": "default" });
    good.post("/v1/auth/token", ask.clone()).await.expect(200);
    // A key nobody has, and the right id with another secret, whose checksum is right.
    let stranger = app.anyone().bearer(other.expose());
    let unknown = stranger.post("/v1/auth/token", ask.clone()).await.refused(401, "unauthorized");
    let mistyped = app.anyone().bearer(&secret[..secret.len() - 1]);
    mistyped.post("/v1/auth/token", ask.clone()).await.refused(401, "unauthorized");
    let mut superuser = app.db.superuser().await;
    let lookup = other.lookup().to_owned();
    sqlx::query("UPDATE api_keys SET lookup = $1 WHERE name = 'limited'")
        .bind(lookup)
        .execute(&mut superuser)
        .await
        .unwrap();
    let wrong = stranger.post("/v1/auth/token", ask.clone()).await.refused(401, "unauthorized");
    assert_eq!(unknown, wrong);
    app.anyone().post("/v1/auth/token", ask).await.refused(401, "unauthorized");
}

/// a token's limits hold for what it writes.
#[tokio::test]
async fn a_write_beyond_the_tokens_sensitivity_or_scopes_is_forbidden() {
    let app = TestApp::start_lexical().await;
    let (_, secret) = limited(&app).await;
    let request = json!({ "namespace": "default", "scopes": [{ "kind": "user", "key": "alice" }] });
    let caller = app.anyone().capability(&app.exchange(&secret, request).await);
    let note = |key: &str, sensitivity: &str| json!({ "scope": { "kind": "user", "key": key }, "category": "custom", "content": "x", "sensitivity": sensitivity });
    caller.post("/v1/memory/items", note("bob", "normal")).await.refused(403, "forbidden");
    caller.post("/v1/memory/items", note("alice", "regulated")).await.refused(403, "forbidden");
    let made = caller.post("/v1/memory/items", note("alice", "personal")).await.expect(201);
    let path = format!("/v1/memory/items/{}", made["record"]["id"].as_str().unwrap());
    caller.patch(&path, json!({ "sensitivity": "secret_like" })).await.refused(403, "forbidden");
    let batch =
        json!({ "items": [note("bob", "normal"), note("alice", "regulated"), note("alice", "normal")] });
    let results = caller.post("/v1/memory/items/batch", batch).await.expect(200);
    let codes: Vec<&Value> = (0..3).map(|at| &results["results"][at]["error"]["code"]).collect();
    assert_eq!(codes, [&json!("forbidden"), &json!("forbidden"), &Value::Null]);
}

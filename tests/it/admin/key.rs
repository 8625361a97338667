//! A tenant's API keys and personal tokens.

use chrono::TimeDelta;
use serde_json::{Value, json};

use crate::support::{Client, Made, TestApp};

struct Stage {
    app: TestApp,
    operator: Client,
    tenant: Made,
}

impl Stage {
    async fn set() -> Self {
        let app = TestApp::start_lexical().await;
        let (operator, tenant) = (app.operator().await, app.tenant("holder").await);
        Self { app, operator, tenant }
    }

    fn path(&self, end: &str) -> String {
        format!("/v1/admin/tenants/{}{end}", self.tenant.id)
    }
}

fn key() -> Value {
    json!({ "name": "a key", "namespaces": ["default", "team-*"], "capabilities": { "memory.durable": ["read"] } })
}

fn token() -> Value {
    json!({ "name": "a token", "namespace": "default", "capabilities": { "memory.durable": ["read"] } })
}

fn with(base: Value, more: &Value) -> Value {
    let mut whole = base;
    whole.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    whole
}

#[tokio::test]
async fn the_secret_is_shown_once() {
    let stage = Stage::set().await;
    for (list, new, what, start) in
        [("/keys", key(), "key", "mt_key_"), ("/tokens", token(), "token", "mt_pat_")]
    {
        let made = stage.operator.post(&stage.path(list), new).await.expect(201);
        let secret = made["secret"].as_str().unwrap();
        assert!(secret.starts_with(start), "{secret}");
        assert_eq!(made[what]["sensitivity"], json!(["normal", "personal"]), "R-49");
        assert_eq!(made[what]["actor"], json!({ "kind": "user" }), "R-39");
        let listed = stage.operator.get(&stage.path(list)).await;
        assert!(listed.text.contains(made[what]["id"].as_str().unwrap()));
        // Neither the secret nor what is kept of it, but for the part that is not secret.
        for part in [&secret[20..], "argon2", "hash", "sha256", "lookup"] {
            assert!(!listed.text.contains(part), "{part}: {}", listed.text);
        }
        let items = listed.expect(200)["items"].clone();
        assert!(items.as_array().unwrap().contains(&made[what]));
    }
    // What is kept in the database is no secret either.
    let made = stage.operator.post(&stage.path("/keys"), key()).await.expect(201);
    let secret = made["secret"].as_str().unwrap();
    let sql = "SELECT string_agg(k::text, '') FROM api_keys k";
    let kept: String = sqlx::query_scalar(sql).fetch_one(&mut stage.app.db.superuser().await).await.unwrap();
    assert!(kept.contains("$argon2id$v=19$m=19456,t=2,p=1$") && !kept.contains(&secret[20..52]));
}

#[tokio::test]
async fn what_cannot_be_a_key_or_token_is_refused() {
    let stage = Stage::set().await;
    let now = stage.app.app.clock.now();
    let both = [
        (json!({ "name": "" }), 400),
        (json!({ "name": "a\u{0}" }), 400),
        (json!({ "capabilities": {} }), 400),
        (json!({ "capabilities": { "memory.durable": ["review"] } }), 400),
        (json!({ "capabilities": { "memory.everything": ["read"] } }), 400),
        (json!({ "sensitivity": [] }), 400),
        (json!({ "sensitivity": ["secret"] }), 400),
        (json!({ "actor": { "kind": "user", "id": "" } }), 400),
        (json!({ "actor": { "kind": "robot" } }), 400),
        (json!({ "expires_at": now.timestamp() }), 400),
        (json!({ "expires_at": "2026-12-01T00:00:00" }), 400),
        (json!({ "capabilities": null }), 422),
        (json!({ "secret": "mine" }), 422),
    ];
    for (more, status) in both {
        for (list, base) in [("/keys", key()), ("/tokens", token())] {
            let reply = stage.operator.post(&stage.path(list), with(base, &more)).await;
            assert_eq!(reply.status.as_u16(), status, "{list} {more} {}", reply.text);
        }
    }
    let many: Vec<String> = (0..65).map(|n| format!("n{n}")).collect();
    for namespaces in [json!([]), json!([""]), json!(["a*b"]), json!(["a b"]), json!(["**"]), json!(many)] {
        let new = with(key(), &json!({ "namespaces": namespaces }));
        stage.operator.post(&stage.path("/keys"), new).await.refused(400, "invalid_request");
    }
    let many: Vec<Value> = (0..65).map(|n| json!({ "kind": "user", "key": n.to_string() })).collect();
    for scopes in [json!([]), json!([{ "kind": "user", "key": "" }]), json!(many)] {
        let new = with(token(), &json!({ "scopes": scopes }));
        stage.operator.post(&stage.path("/tokens"), new).await.refused(400, "invalid_request");
    }
    // a personal token has one namespace and no control.
    for more in [json!({ "control": true }), json!({ "namespaces": ["*"] })] {
        stage.operator.post(&stage.path("/tokens"), with(token(), &more)).await.refused(422, "unprocessable");
    }
}

#[tokio::test]
async fn revoking_twice_keeps_the_first_time() {
    let stage = Stage::set().await;
    for (list, new, what) in [("/keys", key(), "key"), ("/tokens", token(), "token")] {
        let made = stage.operator.post(&stage.path(list), new).await.expect(201);
        assert_eq!(made[what]["revoked_at"], Value::Null);
        let path = stage.path(&format!("{list}/{}", made[what]["id"].as_str().unwrap()));
        let first = stage.operator.delete(&path).await.expect(200)[what].clone();
        assert!(first["revoked_at"].is_i64());
        stage.app.app.clock.shift(TimeDelta::seconds(10));
        assert_eq!(stage.operator.delete(&path).await.expect(200)[what], first);
    }
}

/// The path says whose key it is.
#[tokio::test]
async fn a_key_of_another_tenant_is_not_found() {
    let stage = Stage::set().await;
    let other = stage.app.tenant("other").await;
    for (list, new, what) in [("/keys", key(), "key"), ("/tokens", token(), "token")] {
        let made = stage.operator.post(&stage.path(list), new).await.expect(201);
        let id = made[what]["id"].as_str().unwrap();
        let path = format!("/v1/admin/tenants/{}{list}/{id}", other.id);
        stage.operator.delete(&path).await.refused(404, "not_found");
        for id in ["key_x", "x", &memtide::id::KeyId::new().to_string()] {
            stage.operator.delete(&stage.path(&format!("{list}/{id}"))).await.refused(404, "not_found");
        }
        let listed = stage.operator.get(&stage.path(list)).await.expect(200);
        assert!(listed["items"].as_array().unwrap().iter().all(|item| item["revoked_at"].is_null()));
    }
    // A key's id is no token's, although both begin alike.
    let made = stage.operator.post(&stage.path("/keys"), key()).await.expect(201);
    let path = stage.path(&format!("/tokens/{}", made["key"]["id"].as_str().unwrap()));
    stage.operator.delete(&path).await.refused(404, "not_found");
}

#[tokio::test]
async fn keys_are_listed_in_pages_oldest_first() {
    let stage = Stage::set().await;
    for number in 0..4 {
        let new = with(token(), &json!({ "name": format!("t{number}") }));
        stage.operator.post(&stage.path("/tokens"), new).await.expect(201);
    }
    let page = stage.operator.get(&stage.path("/tokens?limit=3")).await.expect(200);
    let cursor = page["next_cursor"].as_str().unwrap();
    let rest = stage.operator.get(&stage.path(&format!("/tokens?limit=3&cursor={cursor}"))).await.expect(200);
    let names = |page: &Value| {
        let items = page["items"].as_array().unwrap();
        items.iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        (names(&page), names(&rest)),
        (vec!["t0".into(), "t1".into(), "t2".into()], vec!["t3".into()])
    );
    assert!(rest.get("next_cursor").is_none());
}

//! Tenants: made, listed, changed.

use serde_json::{Value, json};
use sqlx::Row;

use crate::support::{Client, TestApp};

async fn create(operator: &Client, slug: &str) -> Value {
    let new = json!({ "slug": slug, "name": slug.to_uppercase() });
    operator.post("/v1/admin/tenants", new).await.expect(201)["tenant"].clone()
}

#[tokio::test]
async fn a_tenant_is_made_with_everything_it_was_given() {
    let app = TestApp::start_lexical().await;
    let operator = app.operator().await;
    let new = json!({
        "slug": "acme",
        "name": "Acme Corporation",
        "limits": { "requests_per_second": 50, "burst": 100, "max_memories": 18_446_744_073_709_551_615_u64 },
        "settings": { "colour": "green" },
    });
    let tenant = operator.post("/v1/admin/tenants", new).await.expect(201)["tenant"].clone();
    let id = tenant["id"].as_str().unwrap();
    assert!(id.starts_with("ten_"));
    assert_eq!((&tenant["slug"], &tenant["name"]), (&json!("acme"), &json!("Acme Corporation")));
    assert_eq!((&tenant["status"], &tenant["settings"]), (&json!("active"), &json!({ "colour": "green" })));
    let limits = json!({
        "requests_per_second": 50, "burst": 100, "max_in_flight": null,
        "max_memories": 18_446_744_073_709_551_615_u64, "max_bytes": null, "max_namespaces": null,
        "max_streams": null, "max_queued_jobs": null,
    });
    assert_eq!(tenant["limits"], limits, "null is no limit");
    assert!(tenant["created_at"].is_i64() && tenant["created_at"] == tenant["updated_at"]);
    let again = operator.get(&format!("/v1/admin/tenants/{id}")).await.expect(200);
    assert_eq!(again["tenant"], tenant);
}

#[tokio::test]
async fn a_slug_is_taken_once_also_by_two_at_the_same_time() {
    let app = TestApp::start_lexical().await;
    let operator = app.operator().await;
    let new = || operator.post("/v1/admin/tenants", json!({ "slug": "taken", "name": "x" }));
    let (a, b, c) = tokio::join!(new(), new(), new());
    let mut statuses = [a, b, c].map(|reply| reply.status.as_u16());
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409, 409]);
    new().await.refused(409, "conflict");
}

#[tokio::test]
async fn what_is_no_tenant_is_refused() {
    let app = TestApp::start_lexical().await;
    let operator = app.operator().await;
    for slug in ["", "Acme", "a b", "-a", "a-", "ä", "a:b", "a/b", "a_b", &"a".repeat(64)] {
        let new = json!({ "slug": slug, "name": "x" });
        operator.post("/v1/admin/tenants", new).await.refused(400, "invalid_request");
    }
    let base = json!({ "slug": "fine", "name": "x" });
    for (more, status, code) in [
        (json!({ "name": "" }), 400, "invalid_request"),
        (json!({ "name": "\u{0}" }), 400, "invalid_request"),
        (json!({ "name": "x".repeat(257) }), 400, "invalid_request"),
        (json!({ "settings": { "a": "x".repeat(20_000) } }), 400, "invalid_request"),
        (json!({ "settings": { "a": ["\u{0}"] } }), 400, "invalid_request"),
        (json!({ "settings": { "\u{0}": 1 } }), 400, "invalid_request"),
        (json!({ "settings": [] }), 422, "unprocessable"),
        (json!({ "limits": { "burst": -1 } }), 422, "unprocessable"),
        (json!({ "limits": { "speed": 1 } }), 422, "unprocessable"),
        (json!({ "name": null }), 422, "unprocessable"),
        (json!({ "id": "ten_00000000000000000000000000" }), 422, "unprocessable"),
    ] {
        let mut new = base.clone();
        new.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        operator.post("/v1/admin/tenants", new).await.refused(status, code);
    }
    assert_eq!(operator.get("/v1/admin/tenants").await.expect(200)["items"], json!([]));
}

#[tokio::test]
async fn a_change_touches_what_it_names_and_is_checked_like_a_new_tenant() {
    let app = TestApp::start_lexical().await;
    let operator = app.operator().await;
    let before = create(&operator, "changing").await;
    let path = format!("/v1/admin/tenants/{}", before["id"].as_str().unwrap());
    app.app.clock.shift(chrono::TimeDelta::seconds(5));
    let change = async |body: Value| operator.patch(&path, body).await;
    let renamed = change(json!({ "name": "New name" })).await.expect(200)["tenant"].clone();
    assert_eq!(renamed["name"], "New name");
    assert!(renamed["updated_at"].as_i64() > before["updated_at"].as_i64());
    for what in ["id", "slug", "status", "limits", "settings", "created_at"] {
        assert_eq!(renamed[what], before[what], "{what}");
    }
    let limited = change(json!({ "limits": { "burst": 7 }, "settings": { "a": 1 } })).await.expect(200);
    assert_eq!(
        (&limited["tenant"]["limits"]["burst"], &limited["tenant"]["settings"]),
        (&json!(7), &json!({ "a": 1 }))
    );
    let emptied = change(json!({ "limits": {}, "settings": {} })).await.expect(200);
    assert_eq!(
        (&emptied["tenant"]["limits"]["burst"], &emptied["tenant"]["settings"]),
        (&Value::Null, &json!({}))
    );
    for (body, status, code) in [
        (json!({ "status": "deleted" }), 400, "invalid_request"),
        (json!({ "status": "paused" }), 400, "invalid_request"),
        (json!({ "slug": "other" }), 422, "unprocessable"),
        (json!({ "name": "" }), 400, "invalid_request"),
        (json!({ "settings": { "a": "\u{0}" } }), 400, "invalid_request"),
    ] {
        change(body).await.refused(status, code);
    }
}

#[tokio::test]
async fn the_list_has_pages_and_every_tenant_once() {
    let app = TestApp::start_lexical().await;
    let operator = app.operator().await;
    for slug in ["one", "two", "three", "four", "five"] {
        create(&operator, slug).await;
    }
    let mut seen = Vec::new();
    let mut path = "/v1/admin/tenants?limit=2".to_owned();
    loop {
        let page = operator.get(&path).await.expect(200);
        seen.extend(page["items"].as_array().unwrap().iter().map(|t| t["slug"].as_str().unwrap().to_owned()));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        path = format!("/v1/admin/tenants?limit=2&cursor={cursor}");
    }
    assert_eq!(seen, ["one", "two", "three", "four", "five"]);
    for query in ["limit=0", "limit=-1", "limit=x", "cursor=x", "page=2"] {
        operator.get(&format!("/v1/admin/tenants?{query}")).await.refused(400, "invalid_request");
    }
    // A cursor of one list opens no other.
    let tenant = operator.get("/v1/admin/tenants?limit=1").await.expect(200);
    let id = tenant["items"][0]["id"].as_str().unwrap();
    let cursor = tenant["next_cursor"].as_str().unwrap();
    let path = format!("/v1/admin/tenants/{id}/keys?cursor={cursor}");
    operator.get(&path).await.refused(400, "invalid_request");
}

#[tokio::test]
async fn a_tenant_that_does_not_exist_is_not_found() {
    let app = TestApp::start_lexical().await;
    let operator = app.operator().await;
    let unknown = memtide::id::TenantId::new().to_string();
    for id in [unknown.as_str(), "ten_x", "x", "mem_01m8pexhave2gbdbpv17gyzeby", "%00", "..%2f"] {
        let path = format!("/v1/admin/tenants/{id}");
        let keys =
            json!({ "name": "k", "namespaces": ["*"], "capabilities": { "memory.durable": ["read"] } });
        operator.get(&path).await.refused(404, "not_found");
        operator.patch(&path, json!({ "name": "x" })).await.refused(404, "not_found");
        operator.delete(&format!("{path}?confirm=x")).await.refused(404, "not_found");
        operator.post(&format!("{path}/revoke_all"), json!({})).await.refused(404, "not_found");
        operator.get(&format!("{path}/keys")).await.refused(404, "not_found");
        operator.get(&format!("{path}/tokens")).await.refused(404, "not_found");
        operator.post(&format!("{path}/keys"), keys).await.refused(404, "not_found");
    }
}

/// Who did what to which tenant; never a secret.
#[tokio::test]
async fn everything_an_operator_does_is_in_the_audit_log() {
    let app = TestApp::start_lexical().await;
    let (key_id, secret) = app.operator_key().await;
    let operator = app.anyone().bearer(&secret);
    let id = create(&operator, "watched").await["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/admin/tenants/{id}");
    let rights = json!({ "memory.durable": ["read"] });
    let key = json!({ "name": "k", "namespaces": ["*"], "capabilities": rights });
    let token = json!({ "name": "t", "namespace": "default", "capabilities": rights });
    let key = operator.post(&format!("{path}/keys"), key).await.expect(201);
    let token = operator.post(&format!("{path}/tokens"), token).await.expect(201);
    let key_path = format!("{path}/keys/{}", key["key"]["id"].as_str().unwrap());
    operator.delete(&key_path).await.expect(200);
    operator.delete(&format!("{path}/tokens/{}", token["token"]["id"].as_str().unwrap())).await.expect(200);
    operator.patch(&path, json!({ "status": "suspended" })).await.expect(200);
    operator.patch(&path, json!({ "status": "active" })).await.expect(200);
    operator.patch(&path, json!({ "name": "x" })).await.expect(200);
    operator.post(&format!("{path}/revoke_all"), json!({})).await.expect(200);
    operator.post("/v1/admin/signing_keys/rotate", json!({})).await.expect(200);
    let sql = "SELECT action, t::text AS whole FROM audit_log t WHERE actor = $1 ORDER BY audit_id";
    let rows =
        sqlx::query(sql).bind(key_id.to_string()).fetch_all(&mut app.db.superuser().await).await.unwrap();
    let actions: Vec<String> = rows.iter().map(|row| row.get("action")).collect();
    let wanted = [
        "tenant.create",
        "key.create",
        "token.create",
        "key.revoke",
        "token.revoke",
        "tenant.suspend",
        "tenant.resume",
        "tenant.change",
        "tenant.revoke_all",
        "signing_key.rotate",
    ];
    assert_eq!(actions, wanted);
    for row in rows {
        let whole: String = row.get("whole");
        for secret in [&secret, key["secret"].as_str().unwrap(), token["secret"].as_str().unwrap()] {
            assert!(!whole.contains(&secret[20..]), "{whole}");
        }
    }
}

//! A child of a capability is never wider than its parent.

use serde_json::{Value, json};

use super::{attenuated, read_only, whoami};
use crate::support::TestApp;

#[tokio::test]
async fn a_child_has_at_most_what_its_parent_has() {
    let app = TestApp::start_lexical().await;
    let tenant = app.tenant("family").await;
    let parent = json!({
        "namespace": "default",
        "capabilities": { "memory.durable": ["read", "write"] },
        "scopes": [{ "kind": "user", "key": "alice" }, { "kind": "task", "key": "t" }],
        "sensitivity": ["normal", "personal"],
        "ttl_seconds": 300,
    });
    let parent = app.anyone().capability(&app.exchange(&tenant.key, parent).await);
    let of_parent = whoami(&parent).await;
    let same = whoami(&app.anyone().capability(&attenuated(&parent, json!({})).await)).await;
    for what in ["tenant", "namespace", "capabilities", "scopes", "sensitivity", "control", "actor"] {
        assert_eq!(same[what], of_parent[what], "{what}");
    }
    assert_ne!(same["jti"], of_parent["jti"]);

    let wide = json!({
        "capabilities": { "memory.durable": ["read", "delete"], "memory.events": ["read"] },
        "scopes": [{ "kind": "user", "key": "alice" }, { "kind": "user", "key": "bob" }],
        "sensitivity": ["personal", "regulated"],
        "control": true,
        "ttl_seconds": 3600,
    });
    let child = app.anyone().capability(&attenuated(&parent, wide).await);
    let said = whoami(&child).await;
    assert_eq!(said["capabilities"], read_only());
    assert_eq!(said["scopes"], json!([{ "kind": "user", "key": "alice" }]));
    assert_eq!((&said["sensitivity"], &said["control"]), (&json!(["personal"]), &json!(false)));
    assert_eq!(said["expires_at"], of_parent["expires_at"]);
    for request in [
        json!({ "namespace": "other" }),
        json!({ "capabilities": { "memory.durable": ["write"] } }),
        json!({ "scopes": [{ "kind": "task", "key": "t" }] }),
        json!({ "sensitivity": ["normal"] }),
    ] {
        child.post("/v1/auth/attenuate", request).await.refused(403, "forbidden");
    }
    child.post("/v1/auth/attenuate", json!({ "scopes": [] })).await.refused(400, "invalid_request");
}

#[tokio::test]
async fn three_attenuations_in_a_row_are_enough() {
    let app = TestApp::start_lexical().await;
    let tenant = app.tenant("deep").await;
    let mut caller = tenant.client;
    for _ in 0..3 {
        caller = app.anyone().capability(&attenuated(&caller, json!({})).await);
        whoami(&caller).await;
    }
    caller.post("/v1/auth/attenuate", json!({})).await.refused(403, "forbidden");
}

/// R-13b: a personal token is an authority like a capability, for one namespace.
#[tokio::test]
async fn a_personal_token_works_alone_and_can_be_attenuated() {
    let app = TestApp::start_lexical().await;
    let tenant = app.tenant("person").await;
    let new = json!({
        "name": "editor",
        "namespace": "notes",
        "capabilities": { "memory.durable": ["read", "write"] },
        "scopes": [{ "kind": "user", "key": "alice" }],
        "actor": { "kind": "tool", "id": "editor" },
    });
    let (id, secret) = app.personal_token(tenant.id, new).await;
    assert!(secret.starts_with("mt_pat_"));
    let holder = app.anyone().bearer(&secret);
    let said = whoami(&holder).await;
    assert_eq!(
        (&said["namespace"], &said["jti"], &said["expires_at"]),
        (&json!("notes"), &Value::Null, &Value::Null)
    );
    assert_eq!((&said["control"], &said["actor"]["id"]), (&json!(false), &json!("editor")));
    let note =
        |key: &str| json!({ "scope": { "kind": "user", "key": key }, "category": "custom", "content": "x" });
    let made = holder.post("/v1/memory/items", note("alice")).await.expect(201);
    assert_eq!(made["record"]["namespace"], "notes");
    holder.post("/v1/memory/items", note("bob")).await.refused(403, "forbidden");
    let child = app.anyone().capability(&attenuated(&holder, json!({ "capabilities": read_only() })).await);
    assert_eq!(whoami(&child).await["scopes"], json!([{ "kind": "user", "key": "alice" }]));
    child.post("/v1/memory/items", note("alice")).await.refused(403, "forbidden");
    // What ends the token ends its children, although it is no capability itself.
    let operator = app.operator().await;
    operator.delete(&format!("/v1/admin/tenants/{}/tokens/{id}", tenant.id)).await.expect(200);
    for caller in [holder, child] {
        caller.get("/v1/auth/whoami").await.refused(401, "unauthorized");
    }
}

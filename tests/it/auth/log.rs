//! What is logged: ids, and nothing that opens or tells anything (C080).

use chrono::TimeDelta;
use serde_json::json;

use crate::support::{Log, TestApp};

/// At the most talkative level, with whatever the libraries have to say.
#[tokio::test]
async fn no_token_key_or_memory_is_ever_logged() {
    let listening = Log::listen();
    let app = TestApp::start_lexical().await;
    let tenant = app.tenant("quiet").await;
    let (_, operator) = app.operator_key().await;
    let rights = json!({ "memory.durable": ["read"] });
    let token = json!({ "name": "t", "namespace": "default", "capabilities": rights });
    let token = app.personal_token(tenant.id, token).await.1;
    let note = json!({
        "scope": { "kind": "user", "key": "xanthippe" },
        "category": "custom",
        "content": "The quick zebra keeps quiet.",
        "key": "secret-place",
    });
    tenant
        .client
        .with("idempotency-key", "opensesame")
        .post("/v1/memory/items", note.clone())
        .await
        .expect(201);
    tenant.client.post("/v1/memory/search", json!({ "query": "zebra" })).await.expect(200);
    tenant.client.get("/v1/memory/items?query=zebra").await.expect(200);
    tenant.client.post("/v1/memory/items", json!({ "content": "zebra" })).await.refused(422, "unprocessable");
    app.anyone().bearer(&token).get("/v1/auth/whoami").await.expect(200);
    app.anyone().bearer(&operator).get("/v1/admin/tenants").await.expect(200);
    let forged = format!("{}A", tenant.capability);
    app.anyone().capability(&forged).get("/v1/auth/whoami").await.refused(401, "unauthorized");
    app.anyone().bearer(&tenant.key).get("/v1/auth/whoami").await.refused(401, "unauthorized");
    app.app.clock.shift(TimeDelta::hours(2));
    tenant.client.get("/v1/auth/whoami").await.refused(401, "unauthorized");
    let said = listening.end();
    assert!(said.contains("answered") && said.contains("/v1/memory/search"), "the test hears nothing");
    let signature = tenant.capability.rsplit('.').next().unwrap();
    for secret in [signature, &tenant.key[20..], &operator[20..], &token[20..], "opensesame"] {
        assert!(!said.contains(secret), "{secret} is in the log");
    }
    for word in ["zebra", "xanthippe", "secret-place", "argon2id"] {
        let line = said.lines().find(|line| line.contains(word));
        assert!(line.is_none(), "{word} is in the log: {line:?}");
    }
}

//! A tenant is what the token says, whatever else a request says (C084, C092).

use serde_json::{Value, json};

use crate::support::{Client, TestApp};

fn note(content: &str) -> Value {
    json!({ "scope": { "kind": "user", "key": "alice" }, "category": "custom", "content": content })
}

async fn contents(caller: &Client) -> Vec<String> {
    let page = caller.get("/v1/memory/items").await.expect(200);
    let records = page["records"].as_array().unwrap();
    records.iter().map(|record| record["content"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_tenant_named_in_body_query_or_header_changes_nothing() {
    let app = TestApp::start_lexical().await;
    let (ann, ben) = (app.tenant("ann").await, app.tenant("ben").await);
    ann.client.post("/v1/memory/items", note("Ann's.")).await.expect(201);
    ben.client.post("/v1/memory/items", note("Ben's.")).await.expect(201);
    let ben_id = ben.id.to_string();
    for name in ["tenant", "tenant_id", "tenantId", "tid", "db"] {
        let mut body = note("Whose?");
        body[name] = json!(ben_id);
        ann.client.post("/v1/memory/items", body).await.refused(422, "unprocessable");
        let mut body = json!({ "query": "whose" });
        body[name] = json!(ben_id);
        ann.client.post("/v1/memory/search", body).await.refused(422, "unprocessable");
        let path = format!("/v1/memory/items?{name}={ben_id}");
        ann.client.get(&path).await.refused(400, "invalid_request");
    }
    // a namespace is the token's or none.
    let mut body = note("Whose?");
    body["namespace"] = json!("other");
    ann.client.post("/v1/memory/items", body.clone()).await.refused(403, "forbidden");
    let search = json!({ "query": "whose", "namespace": "other" });
    ann.client.post("/v1/memory/search", search).await.refused(403, "forbidden");
    body["namespace"] = json!("default");
    body["scope"]["key"] = json!(ben_id);
    let made = ann.client.post("/v1/memory/items", body).await.expect(201);
    assert_eq!(made["record"]["namespace"], "default");
    let headers = [
        "x-tenant-id",
        "x-tenant",
        "x-akasha-namespace",
        "x-akasha-tenant",
        "x-forwarded-user",
        "x-akasha-db",
    ];
    for header in headers {
        let caller = ann.client.with(header, &ben_id);
        assert_eq!(contents(&caller).await, ["Whose?", "Ann's."], "{header}");
    }
    assert_eq!(contents(&ben.client).await, ["Ben's."]);
}

/// Names that would run into each other if keys were strung together.
#[tokio::test]
async fn namespaces_and_scopes_with_separators_in_them_stay_apart() {
    let app = TestApp::start_lexical().await;
    let mut callers = Vec::new();
    for slug in ["a", "a-b", "b"] {
        let tenant = app.tenant(slug).await;
        for namespace in ["b:c", "c", "b/c", "a:b:c", "a:b", "default", "Default"] {
            let token = app.exchange(&tenant.key, json!({ "namespace": namespace })).await;
            callers.push((format!("{slug} {namespace}"), app.anyone().capability(&token)));
        }
    }
    for (name, caller) in &callers {
        for key in ["x:y", "{x}", "a:slots"] {
            let mut body = note(&format!("{name} {key}"));
            body["key"] = json!(key);
            body["scope"]["key"] = json!(key);
            caller.post("/v1/memory/items", body).await.expect(201);
        }
    }
    for (name, caller) in &callers {
        let wanted: Vec<String> =
            ["a:slots", "{x}", "x:y"].iter().map(|key| format!("{name} {key}")).collect();
        assert_eq!(contents(caller).await, wanted);
        let found =
            caller.post("/v1/memory/search", json!({ "query": "slots", "limit": 100 })).await.expect(200);
        let hits = found["hits"].as_array().unwrap();
        assert!(!hits.is_empty());
        assert!(hits.iter().all(|hit| hit["record"]["content"].as_str().unwrap().starts_with(name.as_str())));
        let one = caller.get("/v1/memory/items?scope=user:x:y&key=x:y").await.expect(200);
        assert_eq!(one["records"][0]["content"], format!("{name} x:y"), "the first colon splits (R-26)");
    }
}

//! What ends a token ends it everywhere, within seconds, and nothing else (C088, figure F-4).

use memtide::id::CapabilityId;
use serde_json::json;

use super::{attenuated, read_only, until_refused, whoami};
use crate::support::{Client, Made, TestApp};

/// The same caller on two nodes.
async fn both(app: &TestApp, token: &str) -> ([Client; 2], memtide::app::App) {
    let (second, router) = app.second_node().await;
    ([app.anyone().capability(token), Client::new(router).capability(token)], second)
}

async fn of_key(app: &TestApp, tenant: &Made, name: &str) -> (memtide::id::KeyId, String) {
    let new = json!({ "name": name, "namespaces": ["*"], "capabilities": read_only() });
    app.api_key(tenant.id, new).await
}

#[tokio::test]
async fn a_revoked_capability_and_its_descendants_end_on_every_node() {
    let app = TestApp::start_lexical().await;
    let tenant = app.tenant("line").await;
    let root = app.anyone().capability(&app.exchange(&tenant.key, json!({ "namespace": "default" })).await);
    let first = attenuated(&root, json!({})).await;
    let second = attenuated(&app.anyone().capability(&first), json!({})).await;
    let sibling = attenuated(&root, json!({})).await;
    let (middle, node) = both(&app, &first).await;
    let other_node = |token: &str| Client::new(memtide::http::router(&node)).capability(token);
    let descendant = other_node(&second);
    for caller in middle.iter().chain([&descendant]) {
        whoami(caller).await;
    }
    let jti = whoami(&middle[0]).await["jti"].clone();
    let answer = middle[0].post("/v1/auth/revoke", json!({})).await.expect(200);
    assert_eq!(answer, json!({ "ok": true, "jti": jti }));
    for caller in middle.iter().chain([&descendant, &app.anyone().capability(&second)]) {
        until_refused(caller, 401, "unauthorized").await;
    }
    // Neither its parent nor its sibling, on neither node.
    whoami(&root).await;
    whoami(&app.anyone().capability(&sibling)).await;
    whoami(&other_node(&sibling)).await;
    node.stop();
}

#[tokio::test]
async fn another_capability_is_revoked_with_control_and_only_of_the_own_tenant() {
    let app = TestApp::start_lexical().await;
    let (mine, theirs) = (app.tenant("mine").await, app.tenant("theirs").await);
    let victim = app.anyone().capability(&app.exchange(&mine.key, json!({ "namespace": "other" })).await);
    let jti = whoami(&victim).await["jti"].clone();
    let plain = app.anyone().capability(&app.exchange(&mine.key, json!({ "namespace": "default" })).await);
    plain.post("/v1/auth/revoke", json!({ "jti": jti })).await.refused(403, "forbidden");
    // The foreign tenant gets the same answer as for an id that nobody has, and ends nothing.
    theirs.client.post("/v1/auth/revoke", json!({ "jti": jti })).await.expect(200);
    theirs.client.post("/v1/auth/revoke", json!({ "jti": CapabilityId::new() })).await.expect(200);
    whoami(&victim).await;
    mine.client.post("/v1/auth/revoke", json!({ "jti": jti })).await.expect(200);
    victim.get("/v1/auth/whoami").await.refused(401, "unauthorized");
    for bad in ["", "cap_x", "mem_01m8pexhave2gbdbpv17gyzeby"] {
        let status = mine.client.post("/v1/auth/revoke", json!({ "jti": bad })).await.status.as_u16();
        assert_eq!(status, 400, "{bad}");
    }
}

#[tokio::test]
async fn a_revoked_key_takes_its_capabilities_along_on_every_node() {
    let app = TestApp::start_lexical().await;
    let tenant = app.tenant("keys").await;
    let (id, secret) = of_key(&app, &tenant, "first").await;
    let (_, other) = of_key(&app, &tenant, "second").await;
    let token = app.exchange(&secret, json!({ "namespace": "default" })).await;
    let (callers, node) = both(&app, &token).await;
    let kept = app.anyone().capability(&app.exchange(&other, json!({ "namespace": "default" })).await);
    for caller in &callers {
        whoami(caller).await;
        // As a bearer beside the capability, the secret is remembered, and has to be forgotten.
        whoami(&caller.bearer(&secret)).await;
    }
    let operator = app.operator().await;
    operator.delete(&format!("/v1/admin/tenants/{}/keys/{id}", tenant.id)).await.expect(200);
    for caller in &callers {
        until_refused(caller, 401, "unauthorized").await;
    }
    let beside = Client::new(memtide::http::router(&node)).capability(&tenant.capability).bearer(&secret);
    until_refused(&beside, 401, "unauthorized").await;
    let key = app.anyone().bearer(&secret);
    key.post("/v1/auth/token", json!({ "namespace": "default" })).await.refused(401, "unauthorized");
    whoami(&kept).await;
    node.stop();
}

/// The epoch of a key is raised by hand, when its capabilities have to end and the key has to stay.
#[tokio::test]
async fn a_raised_epoch_of_a_key_ends_the_capabilities_made_before() {
    let app = TestApp::start_lexical().await;
    let tenant = app.tenant("epoch").await;
    let (id, secret) = of_key(&app, &tenant, "turned").await;
    let (callers, node) = both(&app, &app.exchange(&secret, json!({ "namespace": "default" })).await).await;
    whoami(&callers[1]).await;
    let mut superuser = app.db.superuser().await;
    let sql = "UPDATE api_keys SET epoch = epoch + 1 WHERE key_id = $1";
    sqlx::query(sql).bind(id.uuid()).execute(&mut superuser).await.unwrap();
    for caller in &callers {
        until_refused(caller, 401, "unauthorized").await;
    }
    let new = app.exchange(&secret, json!({ "namespace": "default" })).await;
    whoami(&app.anyone().capability(&new)).await;
    whoami(&Client::new(memtide::http::router(&node)).capability(&new)).await;
    node.stop();
}

#[tokio::test]
async fn a_personal_token_that_revokes_itself_ends_on_every_node() {
    let app = TestApp::start_lexical().await;
    let tenant = app.tenant("self").await;
    let new = json!({ "name": "t", "namespace": "default", "capabilities": read_only() });
    let (_, secret) = app.personal_token(tenant.id, new).await;
    let (node, router) = app.second_node().await;
    let callers = [app.anyone().bearer(&secret), Client::new(router).bearer(&secret)];
    for caller in &callers {
        whoami(caller).await;
    }
    assert_eq!(callers[0].post("/v1/auth/revoke", json!({})).await.expect(200), json!({ "ok": true }));
    for caller in &callers {
        until_refused(caller, 401, "unauthorized").await;
    }
    whoami(&tenant.client).await;
    node.stop();
}

#[tokio::test]
async fn revoke_all_ends_every_token_of_the_tenant_and_leaves_its_keys() {
    let app = TestApp::start_lexical().await;
    let (tenant, other) = (app.tenant("all").await, app.tenant("none").await);
    let new = json!({ "name": "t", "namespace": "default", "capabilities": read_only() });
    let personal = app.anyone().bearer(&app.personal_token(tenant.id, new).await.1);
    let (callers, node) = both(&app, &tenant.capability).await;
    for caller in callers.iter().chain([&personal]) {
        whoami(caller).await;
    }
    let operator = app.operator().await;
    operator.post(&format!("/v1/admin/tenants/{}/revoke_all", tenant.id), json!({})).await.expect(200);
    for caller in callers.iter().chain([&personal]) {
        until_refused(caller, 401, "unauthorized").await;
    }
    let new = app.exchange(&tenant.key, json!({ "namespace": "default" })).await;
    whoami(&app.anyone().capability(&new)).await;
    whoami(&Client::new(memtide::http::router(&node)).capability(&new)).await;
    whoami(&other.client).await;
    node.stop();
}

/// refused within five seconds, and let in again.
#[tokio::test]
async fn a_suspended_tenant_is_refused_on_every_node_until_it_is_resumed() {
    let app = TestApp::start_lexical().await;
    let (tenant, other) = (app.tenant("pause").await, app.tenant("play").await);
    let (callers, node) = both(&app, &tenant.capability).await;
    let operator = app.operator().await;
    let path = format!("/v1/admin/tenants/{}", tenant.id);
    let set = async |status: &str| operator.patch(&path, json!({ "status": status })).await.expect(200);
    whoami(&callers[1]).await;
    assert_eq!(set("suspended").await["tenant"]["status"], "suspended");
    for caller in &callers {
        until_refused(caller, 403, "tenant_suspended").await;
    }
    let key = app.anyone().bearer(&tenant.key);
    key.post("/v1/auth/token", json!({ "namespace": "default" })).await.refused(403, "tenant_suspended");
    whoami(&other.client).await;
    set("active").await;
    whoami(&callers[0]).await;
    key.post("/v1/auth/token", json!({ "namespace": "default" })).await.expect(200);
    node.stop();
}

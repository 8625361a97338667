//! Deleting.

use chrono::{DateTime, TimeDelta};
use serde_json::json;

use super::found;
use crate::support::{TestApp, id};

const MANAGE: &str = "manage_memory";

/// D-030 to D-032, XD-12, XD-13.
#[tokio::test]
async fn a_note_is_deleted_and_the_same_again_is_answered_alike_d030_d032_xd12() {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("acme").await;
    let client = &made.client;
    let note = client.save("the harbour is cold").await.remove(0);
    let delete = json!({ "action": "delete", "id": note["id"] });
    let first = client.tool(MANAGE, delete.clone()).await;
    assert_eq!(
        (&first["id"], &first["action"], &first["deleted"]),
        (&note["id"], &json!("delete"), &json!(true))
    );
    let until = DateTime::parse_from_rfc3339(first["recoverable_until"].as_str().unwrap()).unwrap();
    let left = until.to_utc() - app.app.clock.now();
    assert!((left - TimeDelta::days(30)).abs() < TimeDelta::minutes(1), "{left}");
    app.app.clock.shift(TimeDelta::minutes(3));
    assert_eq!(client.tool(MANAGE, delete.clone()).await, first);
    let reply = client.tool("search_memory", json!({ "query": "harbour" })).await;
    assert!(found(&reply["relevant"]).is_empty() && found(&reply["recent"]).is_empty());
    client.post(&format!("/v1/memory/items/{}/restore", id(&note)), json!({})).await.expect(200);
    let reply = client.tool("search_memory", json!({ "query": "harbour", "dedupe_recent": false })).await;
    assert_eq!(found(&reply["relevant"]), ["the harbour is cold"]);
}

/// XD-12: after 30 days it is as if it had never been.
#[tokio::test]
async fn after_thirty_days_a_deleted_note_is_gone_xd12() {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("acme").await;
    let token = json!({ "name": "t", "namespace": "default", "capabilities": memtide::auth::Rights::all() });
    let client = app.anyone().bearer(&app.personal_token(made.id, token).await.1);
    let note = client.save("the harbour is cold").await.remove(0);
    let delete = json!({ "action": "delete", "id": note["id"] });
    let first = client.tool(MANAGE, delete.clone()).await;
    app.app.clock.shift(TimeDelta::days(30) - TimeDelta::minutes(1));
    assert_eq!(client.tool(MANAGE, delete.clone()).await, first);
    app.app.clock.shift(TimeDelta::minutes(2));
    client.tool_fails(MANAGE, delete, "not_found").await;
}

/// XD-12, R-07: an unknown id, another tenant's and one of another kind look the same.
#[tokio::test]
async fn what_is_not_there_is_not_found_xd12_d031() {
    let app = TestApp::start_lexical().await;
    let (acme, other) = (app.tenant("acme").await, app.tenant("other").await);
    let foreign = other.client.save("the harbour is cold").await.remove(0);
    for id in
        [foreign["id"].clone(), json!(memtide::id::MemoryId::new()), json!(memtide::id::SourceId::new())]
    {
        let error =
            acme.client.tool_fails(MANAGE, json!({ "action": "delete", "id": id }), "not_found").await;
        assert_eq!(error["message"], "memory not found");
    }
    for (arguments, field) in [
        (json!({ "action": "delete", "id": "no id" }), "id"),
        (json!({ "action": "delete" }), "id"),
        (json!({ "action": "erase", "id": foreign["id"] }), "action"),
        (json!({ "id": foreign["id"] }), "action"),
        (json!({ "action": "delete", "id": 7 }), "id"),
    ] {
        let error = acme.client.tool_fails(MANAGE, arguments, "invalid_request").await;
        assert_eq!(error["details"]["field"], field);
    }
    assert_eq!(other.client.listed("").await.len(), 1);
}

//! Arguments, and failures that a model can act on.

use memtide::auth::Rights;
use serde_json::json;

use crate::support::TestApp;

/// XD-04, R-17: a tool that fails says why in its result, with the code of REST.
#[tokio::test]
async fn a_tool_that_fails_says_why_in_its_result_xd04_r17() {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("acme").await;
    let error = made.client.tool_fails("search_memory", json!({ "query": " " }), "invalid_request").await;
    let rest = made.client.post("/v1/memory/search", json!({ "query": " " })).await;
    assert_eq!(rest.body["error"]["code"], error["code"]);
    assert_eq!(rest.body["error"]["message"], error["message"]);
    assert_eq!(rest.body["error"]["details"], error["details"]);
    let reader = json!({ "namespace": "default", "capabilities": { "memory.durable": ["read"] } });
    let reader = app.anyone().capability(&app.exchange(&made.key, reader).await);
    reader.tool_fails("save_memory", json!({ "text": "x" }), "forbidden").await;
    // the right is asked for before the arguments.
    reader.tool_fails("save_memory", json!({}), "forbidden").await;
}

/// XD-19, D-009: members that nobody knows are ignored at the top and refused in `client`.
#[tokio::test]
async fn unknown_arguments_are_ignored_and_unknown_members_of_the_client_are_not_d009_xd19() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("acme").await.client;
    client.tool("save_memory", json!({ "text": "x", "importance": 9, "client": null })).await;
    client.tool("search_memory", json!({ "query": "x", "limit": "many" })).await;
    for (name, mut arguments) in
        [("save_memory", json!({ "text": "y" })), ("search_memory", json!({ "query": "y" }))]
    {
        arguments["client"] = json!({ "conversation_id": "c", "thread": 1 });
        let error = client.tool_fails(name, arguments, "invalid_request").await;
        assert_eq!(error["details"]["field"], "client.thread");
    }
    assert_eq!(client.listed("").await.len(), 1);
}

/// C053: values of another type are named, never taken for absent.
#[tokio::test]
async fn arguments_of_another_type_are_named_c053_c069() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("acme").await.client;
    let cases = [
        ("save_memory", json!({}), "text"),
        ("save_memory", json!({ "text": 7 }), "text"),
        ("save_memory", json!({ "text": null }), "text"),
        ("save_memory", json!({ "text": ["x"] }), "text"),
        ("save_memory", json!({ "text": "x", "client": "{\"conversation_id\":\"c1\"}" }), "client"),
        ("save_memory", json!({ "text": "x", "client": ["c1"] }), "client"),
        ("save_memory", json!({ "text": "x", "client": { "conversation_id": 1 } }), "client.conversation_id"),
        ("search_memory", json!({ "query": {} }), "query"),
        ("search_memory", json!({ "query": "x", "dedupe_recent": "no" }), "dedupe_recent"),
        ("search_memory", json!({ "query": "x", "conversation_id": 7 }), "conversation_id"),
    ];
    for (name, arguments, field) in cases {
        let error = client.tool_fails(name, arguments.clone(), "invalid_request").await;
        assert_eq!(error["details"]["field"], field, "{arguments}");
    }
    assert_eq!(client.listed("").await.len(), 0, "nothing was saved");
    for arguments in [json!("{\"text\":\"x\"}"), json!(["x"]), json!(7)] {
        let reply = client
            .mcp("tools/call", json!({ "name": "save_memory", "arguments": arguments }))
            .await
            .expect(200);
        assert_eq!(reply["error"]["code"], -32602, "{reply}");
        assert_eq!(reply["error"]["data"]["details"]["field"], "params.arguments", "{reply}");
    }
    client.save("the next one works").await;
}

/// D-053, XD-01: there are no aliases.
#[tokio::test]
async fn other_names_are_no_tools_d053() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("acme").await.client;
    for name in ["save", "memory_save", "manage", "delete_memory", ""] {
        let reply = client.mcp("tools/call", json!({ "name": name, "arguments": {} })).await.expect(200);
        assert_eq!(reply["error"]["code"], -32602, "{name}: {reply}");
    }
}

/// R-13b, XD-03: a personal token is all that a client needs.
#[tokio::test]
async fn a_personal_token_and_a_capability_open_the_door_xd02_xd03_r13b() {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("acme").await;
    let token = json!({ "name": "t", "namespace": "default", "capabilities": Rights::all() });
    let (id, token) = app.personal_token(made.id, token).await;
    assert!(token.starts_with("mt_pat_"));
    let capability = app.exchange(&made.key, json!({ "namespace": "default" })).await;
    let holders =
        [app.anyone().bearer(&token), app.anyone().bearer(&capability), app.anyone().capability(&capability)];
    for holder in &holders {
        holder.save("one and the same").await;
    }
    assert_eq!(made.client.listed("").await.len(), 1);
    let operator = app.operator().await;
    operator.delete(&format!("/v1/admin/tenants/{}/tokens/{id}", made.id)).await.expect(200);
    let reply = holders[0].mcp("tools/list", json!({})).await;
    assert_eq!(reply.headers["www-authenticate"], "Bearer");
    reply.refused(401, "unauthorized");
    app.anyone().mcp("initialize", json!({})).await.refused(401, "unauthorized");
    app.anyone().bearer(&made.key).mcp("tools/list", json!({})).await.refused(401, "unauthorized");
}

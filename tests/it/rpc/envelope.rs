//! JSON-RPC 2.0 to the letter, whatever comes (XC-01 to XC-06, PC-03).

use axum::http::Method;
use serde_json::{Value, json};

use crate::support::{Client, Reply, TestApp, fact};

async fn caller() -> (TestApp, Client) {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("rpc").await.client;
    (app, client)
}

async fn send(client: &Client, text: &str) -> Reply {
    client.send(Method::POST, "/v1/rpc", Some(text.to_owned())).await
}

async fn error(client: &Client, text: &str) -> (i64, Value) {
    let answer = send(client, text).await.expect(200);
    assert!(answer.is_object() && answer.get("result").is_none(), "{text}: {answer}");
    (answer["error"]["code"].as_i64().unwrap(), answer["id"].clone())
}

#[tokio::test]
async fn ids_of_every_type_are_echoed_or_refused_xc03() {
    let (_app, client) = caller().await;
    let list = |id: &str| format!(r#"{{"jsonrpc":"2.0","method":"memory/list","id":{id}}}"#);
    for id in ["0", "7", "-7", "18446744073709551615", r#""a""#, r#""""#, r#""é\u0001""#, "null"] {
        let reply = send(&client, &list(id)).await;
        assert!(reply.text.ends_with(&format!(r#""id":{id}}}"#)), "{}", reply.text);
        assert_eq!(reply.expect(200)["result"], json!({ "records": [] }));
    }
    for id in ["1.5", "1e2", "true", "[1]", "{}", "99999999999999999999", &format!("{:?}", "x".repeat(129))] {
        assert_eq!(error(&client, &list(id)).await, (-32600, Value::Null), "{id}");
    }
    let twice = r#"[{"jsonrpc":"2.0","method":"memory/list","id":1},{"jsonrpc":"2.0","method":"memory/list","id":1}]"#;
    let answers = send(&client, twice).await.expect(200);
    assert_eq!((&answers[0]["id"], &answers[1]["id"]), (&json!(1), &json!(1)), "the client's own affair");
}

#[tokio::test]
async fn what_is_no_request_is_refused_c067() {
    let (_app, client) = caller().await;
    for broken in ["", "{", "[{", "nul", r#"{"jsonrpc":"2.0","method":"memory/list","id":1}x"#, "\u{feff}"] {
        assert_eq!(error(&client, broken).await, (-32700, Value::Null), "{broken}");
    }
    for not in ["1", "null", "true", r#""x""#, "{}", r#"{"foo":"boo"}"#, "[]"] {
        assert_eq!(error(&client, not).await, (-32600, Value::Null), "{not}");
    }
    let answers = send(&client, "[1,2,3]").await.expect(200);
    assert_eq!(answers.as_array().unwrap().len(), 3);
    assert!(answers.as_array().unwrap().iter().all(|a| a["error"]["code"] == -32600 && a["id"].is_null()));
    let mixed = r#"[{"jsonrpc":"2.0","method":"memory/list","id":"a"},{"method":1,"id":5},"x",[[]]]"#;
    let answers = send(&client, mixed).await.expect(200);
    assert_eq!(answers[0]["result"], json!({ "records": [] }));
    assert_eq!((&answers[1]["error"]["code"], &answers[1]["id"]), (&json!(-32600), &json!(5)));
    assert_eq!((&answers[2]["id"], &answers[3]["id"]), (&Value::Null, &Value::Null));
    // A byte order mark before a request is as if absent (C013).
    send(&client, "\u{feff}{\"jsonrpc\":\"2.0\",\"method\":\"memory/list\",\"id\":1}").await.expect(200);
}

#[tokio::test]
async fn versions_methods_and_duplicate_members_are_looked_at_c049() {
    let (_app, client) = caller().await;
    for version in [r#""1.0""#, r#""2""#, "2.0", "2", "null", r#"["2.0"]"#] {
        let text = format!(r#"{{"jsonrpc":{version},"method":"memory/list","id":3}}"#);
        assert_eq!(error(&client, &text).await, (-32600, json!(3)), "{version}");
    }
    for method in ["memory/none", "", "rpc.discover", "memory/list ", "MEMORY/LIST", "memory/changed"] {
        let text = json!({ "jsonrpc": "2.0", "method": method, "id": 3 }).to_string();
        assert_eq!(error(&client, &text).await, (-32601, json!(3)), "{method}");
    }
    for text in [
        r#"{"jsonrpc":"2.0","method":"memory/list","method":"memory/list","id":1}"#,
        r#"{"jsonrpc":"2.0","method":"memory/list","id":1,"id":1}"#,
        r#"{"jsonrpc":"2.0","method":"memory/list","id":1,"params":{},"params":{}}"#,
        r#"{"jsonrpc":"2.0","method":"memory/list","id":1,"tenant_id":"x"}"#,
    ] {
        assert_eq!(error(&client, text).await.0, -32600, "{text}");
    }
    let twice = r#"{"jsonrpc":"2.0","method":"memory/list","id":1,"params":{"limit":1,"limit":2}}"#;
    assert_eq!(error(&client, twice).await.0, -32602);
}

#[tokio::test]
async fn params_are_strict_and_the_field_is_named_c069_xc06() {
    let (_app, client) = caller().await;
    for params in ["null", "[]", r#"["x"]"#, r#""x""#, "7", "true"] {
        let text = format!(r#"{{"jsonrpc":"2.0","method":"memory/list","id":1,"params":{params}}}"#);
        let answer = send(&client, &text).await.expect(200);
        assert_eq!(answer["error"]["code"], -32602, "{params}");
        assert_eq!(answer["error"]["data"]["details"]["field"], "params", "{params}");
    }
    let named = [
        ("memory/search", json!({}), "query"),
        ("memory/search", json!({ "query": {} }), "query"),
        ("memory/search", json!({ "query": "q", "scope": { "kind": "user", "key": "a" } }), "scope"),
        ("memory/search", json!({ "query": "q", "user_id": "a" }), "user_id"),
        ("memory/search", json!({ "query": "q", "limit": 0 }), "limit"),
        ("memory/list", json!({ "limit": "5" }), "limit"),
        ("memory/list", json!({ "scopes": "user" }), "scopes"),
        ("memory/remember", json!({ "scope": ["user", "a"], "category": "custom", "content": "x" }), "scope"),
        ("memory/remember", json!({ "content": "x", "category": "custom" }), "scope"),
        ("memory/forget", json!({ "target": { "kind": "id", "memory_id": "nonsense" } }), "target.memory_id"),
        ("memory/restore", json!({}), "memory_id"),
    ];
    for (method, params, field) in named {
        let error = client.refused(method, params.clone(), -32602, code_of(&params, method)).await;
        assert_eq!(error["data"]["details"]["field"], field, "{method} {params}: {error}");
        let start = format!("invalid params for `{method}`: ");
        assert!(error["message"].as_str().unwrap().starts_with(&start), "{error}");
    }
    assert_eq!(client.call("memory/list", json!({})).await["records"], json!([]));
}

fn code_of(params: &Value, method: &str) -> &'static str {
    let breaks_a_rule = params["limit"] == 0 || (method == "memory/forget");
    if breaks_a_rule { "invalid_request" } else { "unprocessable" }
}

#[tokio::test]
async fn notifications_act_and_are_not_answered_xc02() {
    let (_app, client) = caller().await;
    let notify =
        |content: &str| json!({ "jsonrpc": "2.0", "method": "memory/remember", "params": fact(content) });
    let reply = client.post("/v1/rpc", notify("One.")).await;
    assert_eq!((reply.status.as_u16(), reply.text.as_str()), (204, ""));
    let wrong = json!({ "jsonrpc": "2.0", "method": "memory/none" });
    let reply = client.post("/v1/rpc", json!([notify("Two."), wrong])).await;
    assert_eq!((reply.status.as_u16(), reply.text.as_str()), (204, ""));
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "memory/list" });
    let answers = client.post("/v1/rpc", json!([notify("Three."), list])).await.expect(200);
    assert_eq!(answers.as_array().unwrap().len(), 1);
    assert_eq!(answers[0]["result"]["records"].as_array().unwrap().len(), 3, "in the order of the batch");
    // A notification that is no request is answered: nobody knows that it was meant to be one.
    let answer =
        client.post("/v1/rpc", json!({ "jsonrpc": "1.0", "method": "memory/list" })).await.expect(200);
    assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32600), &Value::Null));
}

#[tokio::test]
async fn a_batch_is_limited_and_each_of_it_is_authorised_c071() {
    let (app, client) = caller().await;
    let many = |count: usize, method: &str, params: Value| {
        let request = |id| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params.clone() });
        Value::Array((0..count).map(request).collect())
    };
    for count in [51, 10_000] {
        let answer = client.post("/v1/rpc", many(count, "memory/list", json!({}))).await.expect(200);
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32600), &Value::Null));
        assert_eq!(answer["error"]["data"]["details"], json!({ "limit": 50, "actual": count }));
    }
    let answers = client.post("/v1/rpc", many(50, "memory/remember", fact("The same."))).await.expect(200);
    let ids: Vec<&Value> = answers.as_array().unwrap().iter().map(|a| &a["result"]["record"]["id"]).collect();
    assert!(ids.len() == 50 && ids.iter().all(|id| *id == ids[0] && id.is_string()), "{answers}");
    let made = app.tenant("reader").await;
    let read = json!({ "namespace": "default", "capabilities": { "memory.durable": ["read"] } });
    let reader = app.anyone().capability(&app.exchange(&made.key, read).await);
    let batch = json!([
        { "jsonrpc": "2.0", "id": 1, "method": "memory/list" },
        { "jsonrpc": "2.0", "id": 2, "method": "memory/remember", "params": { "nonsense": true } },
        { "jsonrpc": "2.0", "id": 3, "method": "memory/search", "params": { "query": "q" } },
    ]);
    let answers = reader.post("/v1/rpc", batch).await.expect(200);
    assert!(answers[0].get("result").is_some() && answers[2].get("result").is_some(), "{answers}");
    assert_eq!(answers[1]["error"]["code"], -32003, "rights before params (R-31)");
}

#[tokio::test]
async fn http_refuses_before_json_rpc_xc02() {
    let (app, client) = caller().await;
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "memory/list" });
    app.anyone().post("/v1/rpc", list.clone()).await.refused(401, "unauthorized");
    client
        .with("content-type", "text/plain")
        .post("/v1/rpc", list)
        .await
        .refused(415, "unsupported_media_type");
    let huge = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"memory/list","params":{{"query":"{}"}}}}"#,
        "x".repeat(2 << 20)
    );
    send(&client, &huge).await.refused(413, "payload_too_large");
    client.get("/v1/rpc").await.refused(405, "method_not_allowed");
}

#[tokio::test]
async fn deep_odd_and_surrogate_json_is_refused_c003_c047() {
    let (_app, client) = caller().await;
    let with_metadata = |value: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"memory/remember","params":{{"scope":{{"kind":"user","key":"a"}},"category":"custom","content":"x","metadata":{value}}}}}"#
        )
    };
    let nested = |depth: usize| format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
    assert_eq!(error(&client, &with_metadata(&nested(70))).await, (-32602, json!(1)));
    for depth in [200, 100_000] {
        assert_eq!(error(&client, &with_metadata(&nested(depth))).await, (-32700, Value::Null));
    }
    assert_eq!(error(&client, &with_metadata(r#"{"a":"\ud83d"}"#)).await, (-32700, Value::Null));
    assert_eq!(error(&client, &with_metadata(r#"{"a":18446744073709551616}"#)).await, (-32602, json!(1)));
    assert_eq!(error(&client, &with_metadata(r#"{"a":1e999}"#)).await, (-32700, Value::Null));
    assert_eq!(client.call("memory/list", json!({})).await["records"], json!([]), "nothing was stored");
}

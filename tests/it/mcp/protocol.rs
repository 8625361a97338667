//! The protocol: versions, messages, origins, methods of HTTP.

use axum::http::Method;
use memtide::embed::Embedder;
use serde_json::{Value, json};

use crate::support::{Client, TestApp};

const VERSION: &str = "mcp-protocol-version";

async fn client() -> (TestApp, Client) {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("acme").await.client;
    (app, client)
}

fn hello(version: &str) -> Value {
    json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } })
}

/// XD-02, R-36: the methods, without a session.
#[tokio::test]
async fn a_client_is_greeted_lists_and_calls_without_a_session_xd02_r36() {
    let (_app, client) = client().await;
    let reply = client.mcp("initialize", hello("2025-06-18")).await;
    assert!(!reply.headers.contains_key("mcp-session-id"));
    assert_eq!(reply.expect(200)["result"]["protocolVersion"], "2025-06-18");
    let note = client.mcp_message(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    assert_eq!((note.status.as_u16(), note.text.as_str()), (202, ""));
    assert_eq!(client.mcp("ping", json!({})).await.expect(200)["result"], json!({}));
    assert!(client.mcp("tools/list", json!({})).await.expect(200)["result"]["tools"].is_array());
    // No handshake is needed: any node answers anything.
    client.tool("search_memory", json!({ "query": "x" })).await;
    let reply = client.mcp("resources/frobnicate", json!({})).await.expect(200);
    assert_eq!(reply["error"]["code"], -32601, "{reply}");
    for method in [Method::GET, Method::DELETE, Method::PUT] {
        let reply = client.send(method, "/mcp", None).await;
        assert_eq!(reply.headers["allow"], "POST");
        reply.refused(405, "method_not_allowed");
    }
}

/// C074: what is spoken is negotiated, and what is not is refused.
#[tokio::test]
async fn versions_are_negotiated_and_unknown_ones_refused_c074() {
    let (_app, client) = client().await;
    for (sent, spoken) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        ("abc", "2025-11-25"),
    ] {
        let reply = client.mcp("initialize", hello(sent)).await.expect(200);
        assert_eq!(reply["result"]["protocolVersion"], spoken, "{sent}");
    }
    for silent in [json!({}), json!({ "capabilities": {} }), Value::Null] {
        let reply = client.mcp("initialize", silent).await.expect(200);
        assert_eq!(reply["result"]["protocolVersion"], "2025-11-25");
    }
    for version in ["2025-06-18", "2025-11-25"] {
        client.with(VERSION, version).tool("search_memory", json!({ "query": "x" })).await;
    }
    for version in ["1999-01-01", "abc", ""] {
        let reply = client.with(VERSION, version).mcp("tools/list", json!({})).await;
        reply.names(400, VERSION);
    }
    let reply = client.with(VERSION, "2025-03-26").mcp("initialize", hello("2025-06-18")).await;
    assert_eq!(reply.status.as_u16(), 400, "{}", reply.text);
}

/// XD-04, C069, C013: what breaks the protocol is an error of JSON-RPC.
#[tokio::test]
async fn faults_of_the_protocol_are_errors_of_json_rpc_xd04_c069_c013() {
    let (_app, client) = client().await;
    for (body, status, code) in [
        ("{", 400, -32700),
        ("", 400, -32700),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\ud83d"}}"#, 400, -32700),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, 400, -32600),
        ("7", 400, -32600),
        (r#"{"jsonrpc":"2.0","id":1}"#, 400, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, 200, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":"x"}"#, 200, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":7}}"#, 200, -32602),
    ] {
        let reply = client.send(Method::POST, "/mcp", Some(body.to_owned())).await;
        let answer = reply.expect(status);
        assert_eq!(answer["error"]["code"], code, "{body}: {answer}");
        assert_eq!(answer["jsonrpc"], "2.0");
    }
    let marked = "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"tools/call\",\"params\":{\"name\":\"save_memory\",\"arguments\":{\"text\":\"x\"}}}";
    let reply = client.send(Method::POST, "/mcp", Some(marked.to_owned())).await.expect(200);
    assert_eq!((&reply["id"], &reply["result"]["structuredContent"]["count"]), (&json!("a"), &json!(1)));
    let plain =
        client.with("content-type", "text/plain").send(Method::POST, "/mcp", Some("{}".to_owned())).await;
    plain.refused(415, "unsupported_media_type");
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"save_memory","arguments":{{"text":{deep}}}}}}}"#
    );
    let reply = client.send(Method::POST, "/mcp", Some(deep)).await;
    assert!(reply.status.as_u16() < 500 && reply.body["error"].is_object(), "{}", reply.text);
    let large =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":"{}"}}}}"#, "x".repeat(3 << 20));
    client.send(Method::POST, "/mcp", Some(large)).await.refused(413, "payload_too_large");
}

/// C078: pages of others are kept out; a slash too many is no route, and nothing is redirected.
#[tokio::test]
async fn origins_are_checked_and_nothing_is_redirected_c078() {
    let listed = |config: &mut memtide::config::Config| {
        config.http.mcp_origins = vec!["https://app.example.org".to_owned()];
    };
    let app = TestApp::start_configured(std::sync::Arc::new(Embedder::Off), listed).await;
    let client = app.tenant("acme").await.client;
    for origin in ["https://app.example.org", "http://localhost:6274", "http://127.0.0.1"] {
        client.with("origin", origin).mcp("ping", json!({})).await.expect(200);
    }
    for origin in ["https://evil.example.org", "null"] {
        client
            .with("origin", origin)
            .with("host", "evil.example.org")
            .mcp("ping", json!({}))
            .await
            .refused(403, "forbidden");
    }
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    client.post("/mcp/", body).await.refused(404, "not_found");
}

/// The newest version has no handshake: every request says for itself what it speaks.
#[tokio::test]
async fn the_version_without_a_handshake_is_spoken_too_c074() {
    let (_app, client) = client().await;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let speaker = client.with(VERSION, "2026-07-28");
    let discover =
        speaker.with("mcp-method", "server/discover").mcp("server/discover", json!({ "_meta": meta })).await;
    let discovered = discover.expect(200);
    assert!(
        discovered["result"]["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")),
        "{discovered}"
    );
    let call = json!({ "name": "save_memory", "arguments": { "text": "no handshake" }, "_meta": meta });
    let caller = speaker.with("mcp-method", "tools/call").with("mcp-name", "save_memory");
    let reply = caller.mcp("tools/call", call).await.expect(200);
    assert_eq!(reply["result"]["structuredContent"]["count"], 1, "{reply}");
    let other = json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": "2025-11-25" } });
    let reply = speaker.with("mcp-method", "tools/list").mcp("tools/list", other).await;
    assert_eq!(reply.status.as_u16(), 400, "the header and the body differ: {}", reply.text);
}

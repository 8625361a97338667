//! What the seed's example client sends, byte by byte (B-050 to B-055, B-057).

use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{SESSION, holding, started};

/// As `JSON.stringify` writes the body of the example.
const BODY: &str =
    r#"{"agent_id":"revenue-assistant","goal":"Investigate the Q3 revenue change by sales channel."}"#;

/// What the example client sends: `new URL(path, endpoint)`, its three headers, and what `fetch` adds by itself.
fn request(address: SocketAddr, capability: &str, token: Option<&str>) -> String {
    let bearer = token.map(|token| format!("authorization: Bearer {token}\r\n")).unwrap_or_default();
    format!(
        "POST /v1/memory/cognitive/session HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         Content-Type: application/json\r\nx-akasha-capability: {capability}\r\n{bearer}accept: */*\r\n\
         accept-language: *\r\nsec-fetch-mode: cors\r\nuser-agent: node\r\naccept-encoding: gzip, deflate\r\n\
         content-length: {}\r\n\r\n{BODY}",
        BODY.len()
    )
}

/// Sends bytes, and gives status, headers and body as they came.
async fn send(address: SocketAddr, request: &str) -> (u16, String, Value) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_ascii_lowercase(), serde_json::from_str(body).unwrap())
}

/// With and without `AKASHA_TOKEN`: the answer is a success, is JSON, and has a `session`.
#[tokio::test]
async fn the_seeds_client_starts_a_session_b050_b051_b052_b053_b054_b055_b057() {
    let (app, made) = started().await;
    let address = app.serve().await;
    for token in [None, Some(made.key.as_str())] {
        let (status, head, body) = send(address, &request(address, &made.capability, token)).await;
        assert_eq!(status, 200, "{body}");
        assert!(head.contains("content-type: application/json"), "{head}");
        let session = &body["session"];
        assert_eq!(session["agent_id"], "revenue-assistant");
        assert_eq!(session["goal"], "Investigate the Q3 revenue change by sales channel.");
        assert_eq!(made.client.look_at(session["id"].as_str().unwrap()).await, *session);
    }
}

/// B-050, B-051: the capability is needed and is good for its Mind alone; a failure is a status that is not 2xx.
#[tokio::test]
async fn a_missing_or_foreign_capability_is_a_failure_b051_b053_b054() {
    let (app, made) = started().await;
    let foreign = app.tenant("foreign").await;
    let address = app.serve().await;
    let cases = [
        (request(address, "", None), 401),
        (request(address, "undefined", None), 401),
        (request(address, &made.capability, Some("undefined")), 401),
        (request(address, &made.capability, Some(&foreign.key)), 403),
    ];
    for (request, expected) in cases {
        let (status, _, body) = send(address, &request).await;
        assert_eq!((status, &body["ok"]), (expected, &json!(false)), "{body}");
    }
    let (status, _, body) = send(address, &request(address, &foreign.capability, None)).await;
    assert_eq!(status, 200);
    let path = format!("{SESSION}/{}", body["session"]["id"].as_str().unwrap());
    made.client.get(&path).await.refused(404, "not_found");
    let reader = holding(&app, &made, "default", json!({ "memory.cognitive": ["read"] })).await;
    reader.post(SESSION, serde_json::from_str(BODY).unwrap()).await.refused(403, "forbidden");
}

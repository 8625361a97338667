//! JSON-RPC over WebSocket, well-meant and hostile.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;

use crate::support::{Made, Socket, Sse, TestApp, fact, with};

async fn served() -> (TestApp, Made, SocketAddr) {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("socket").await;
    let address = app.serve().await;
    (app, made, address)
}

async fn open(address: SocketAddr, made: &Made) -> Socket {
    Socket::open(address, &made.capability, "").await.unwrap()
}

#[tokio::test]
async fn requests_and_notifications_share_a_connection_xc01() {
    let (_app, made, address) = served().await;
    let mut socket = open(address, &made).await;
    let made_here = socket.call("memory/remember", fact("The lighthouse stands on rock.")).await;
    let told = socket.told().await;
    assert_eq!((&told["jsonrpc"], &told["method"]), (&json!("2.0"), &json!("memory/changed")));
    assert_eq!(told["params"]["memory_id"], made_here["record"]["id"]);
    let found = socket.call("memory/search", json!({ "query": "lighthouse" })).await;
    assert_eq!(found["hits"][0]["record"]["id"], made_here["record"]["id"], "R-10");
    made.client.remember(fact("From elsewhere.")).await;
    assert_eq!(socket.told().await["params"]["record"]["content"], "From elsewhere.");
}

#[tokio::test]
async fn messages_that_are_none_are_answered_as_over_http() {
    let (_app, made, address) = served().await;
    let mut socket = open(address, &made).await;
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let fifty_one = format!("[{}]", [r#"{"jsonrpc":"2.0","method":"memory/list","id":1}"#; 51].join(","));
    for (text, code) in [
        ("", -32700),
        ("{", -32700),
        (r#"{"a":"\ud83d"}"#, -32700),
        (deep.as_str(), -32700),
        ("[]", -32600),
        ("1", -32600),
        (fifty_one.as_str(), -32600),
        (r#"{"jsonrpc":"1.0","method":"memory/list","id":1}"#, -32600),
        (r#"{"jsonrpc":"2.0","method":"memory/list","id":1.5}"#, -32600),
        (r#"{"jsonrpc":"2.0","method":"memory/none","id":1}"#, -32601),
        (r#"{"jsonrpc":"2.0","method":"memory/list","params":[],"id":1}"#, -32602),
    ] {
        socket.send(text).await;
        let answer = socket.next_answer().await;
        assert_eq!(answer["error"]["code"], code, "{} {answer}", &text[..text.len().min(80)]);
        let has_id = text.contains(r#""id":1}"#) && !text.starts_with('[');
        assert_eq!(answer["id"], if has_id { json!(1) } else { Value::Null });
    }
    socket
        .send(r#"[{"jsonrpc":"2.0","method":"memory/list","id":"a"},3,{"jsonrpc":"2.0","method":"x"}]"#)
        .await;
    let answers = socket.next_answer().await;
    assert_eq!(answers.as_array().unwrap().len(), 2);
    assert_eq!((&answers[0]["id"], &answers[1]["error"]["code"]), (&json!("a"), &json!(-32600)));
    // Notifications are not answered: what comes next is the answer to what came next.
    socket.send(r#"{"jsonrpc":"2.0","method":"memory/list"}"#).await;
    socket.send(r#"{"jsonrpc":"2.0","method":"memory/list","id":null}"#).await;
    let answer = socket.next_answer().await;
    assert_eq!((&answer["id"], &answer["result"]["records"]), (&Value::Null, &json!([])));
    let mut other = open(address, &made).await;
    other.call("memory/list", json!({})).await;
}

#[tokio::test]
async fn frames_over_two_mebibytes_and_frames_of_bytes_close_the_connection_xc01() {
    let (_app, made, address) = served().await;
    let request = |size: usize| {
        let params = with(fact(&"x".repeat(size)), json!({}));
        json!({ "jsonrpc": "2.0", "id": 1, "method": "memory/remember", "params": params }).to_string()
    };
    let mut socket = open(address, &made).await;
    socket.send(&request((2 << 20) - 200)).await;
    assert_eq!(socket.next_answer().await["error"]["code"], -32013, "the frame fits, its content does not");
    socket.send_message(Message::text(request(2 << 20))).await;
    assert_eq!(socket.closed().await, 1009);
    let mut socket = open(address, &made).await;
    socket.send_message(Message::binary(request(1).into_bytes())).await;
    assert_eq!(socket.closed().await, 1003);
    assert!(made.client.listed("").await.is_empty());
}

/// C088: a connection and a stream end when their token does, whatever ends it.
#[tokio::test]
async fn connections_end_with_their_token_c088() {
    let (app, made, address) = served().await;
    let fresh = async || app.exchange(&made.key, json!({ "namespace": "default", "ttl_seconds": 60 })).await;
    let revoked = fresh().await;
    let mut socket = Socket::open(address, &revoked, "").await.unwrap();
    let mut sse = Sse::open(address, &revoked, None).await.ok().unwrap();
    let start = Instant::now();
    app.anyone().capability(&revoked).post("/v1/auth/revoke", json!({})).await.expect(200);
    assert_eq!(socket.closed().await, 4401);
    assert!(sse.told().await.is_none());
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    let ended = fresh().await;
    let mut socket = Socket::open(address, &ended, "").await.unwrap();
    let mut sse = Sse::open(address, &ended, None).await.ok().unwrap();
    app.app.clock.shift(TimeDelta::seconds(61));
    assert_eq!(socket.closed().await, 4401);
    assert!(sse.told().await.is_none());
    let token = fresh().await;
    let mut socket = Socket::open(address, &token, "").await.unwrap();
    let path = format!("/v1/admin/tenants/{}", made.id);
    app.operator().await.patch(&path, json!({ "status": "suspended" })).await.expect(200);
    assert_eq!(socket.closed().await, 4403);
}

/// C146: when the process stops, connections are told, and streams end.
#[tokio::test]
async fn connections_are_told_when_the_service_stops_c146() {
    let (app, made, address) = served().await;
    let mut sockets = Vec::new();
    for _ in 0..20 {
        sockets.push((
            open(address, &made).await,
            Sse::open(address, &made.capability, None).await.ok().unwrap(),
        ));
    }
    app.app.stop();
    for (socket, sse) in &mut sockets {
        assert_eq!(socket.closed().await, 1001);
        assert!(sse.told().await.is_none());
    }
}

/// Back-pressure: a client that sends much and reads nothing for a while gets every answer, in order.
#[tokio::test]
async fn answers_wait_for_a_client_that_does_not_read() {
    let (_app, made, address) = served().await;
    for number in 0..20 {
        made.client.remember(fact(&format!("{number} {}", "x".repeat(20_000)))).await;
    }
    let mut socket = Socket::open(address, &made.capability, "").await.unwrap();
    for id in 0..30 {
        socket.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "memory/list" }).to_string()).await;
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let mut other = open(address, &made).await;
    other.call("memory/list", json!({ "limit": 1 })).await;
    for id in 0..30 {
        let answer = socket.next_answer().await;
        assert_eq!(answer["id"], id);
        assert_eq!(answer["result"]["records"].as_array().unwrap().len(), 20);
    }
}

/// Half-open and half-made connections are in nobody's way.
#[tokio::test]
async fn half_made_connections_leave_the_others_alone() {
    let (app, made, address) = served().await;
    let mut silent = Vec::new();
    for half in [
        "",
        "GET /v1/rpc/ws HTTP/1.1\r\nHost: x\r\n",
        "POST /v1/rpc HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{",
    ] {
        for _ in 0..50 {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(half.as_bytes()).await.unwrap();
            silent.push(stream);
        }
    }
    // A whole handshake, and then nothing but a half of a frame.
    let token = &made.capability;
    let handshake = format!(
        "GET /v1/rpc/ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nx-akasha-capability: {token}\r\n\r\n"
    );
    for _ in 0..50 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(handshake.as_bytes()).await.unwrap();
        let mut head = [0; 12];
        stream.read_exact(&mut head).await.unwrap();
        assert_eq!(&head, b"HTTP/1.1 101");
        stream.write_all(&[0x81, 0xFE, 0x7F]).await.unwrap();
        silent.push(stream);
    }
    let mut socket = open(address, &made).await;
    socket.call("memory/remember", fact("Still here.")).await;
    assert_eq!(socket.told().await["params"]["record"]["content"], "Still here.");
    made.client.call("memory/list", json!({})).await;
    drop(silent);
    // Those that are gone give their places back.
    let start = Instant::now();
    while app.app.events.open() > 2 {
        assert!(
            start.elapsed() < Duration::from_secs(10),
            "{} connections are still counted",
            app.app.events.open()
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

//! Followers over WebSocket that are in a hurry, slow, or gone (R-29, C088).

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use memtide::config::Config;
use memtide::embed::Embedder;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use crate::support::{Made, Socket, TestApp, fact, with};

async fn served() -> (TestApp, Made, SocketAddr) {
    served_with(|_| {}).await
}

async fn served_with(change: impl FnOnce(&mut Config)) -> (TestApp, Made, SocketAddr) {
    let app = TestApp::start_configured(Arc::new(Embedder::Off), change).await;
    let made = app.tenant("follower").await;
    let address = app.serve().await;
    (app, made, address)
}

/// Frames of the client's own do not keep it from what it follows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_that_sends_pings_all_the_time_is_told_r29() {
    let (_app, made, address) = served().await;
    let mut socket = Socket::open(address, &made.capability, "").await.unwrap();
    for at in 0..3 {
        let content = format!("Fact {at}.");
        made.client.remember(fact(&content)).await;
        let told = socket.told_while_pinging(Duration::from_secs(10)).await.expect("it is told");
        assert_eq!(told["params"]["record"]["content"], content.as_str());
    }
}

/// One connection has one place, whether or not it follows.
#[tokio::test]
async fn a_connection_takes_one_place() {
    let (app, made, address) = served().await;
    let deaf = json!({ "namespace": "default", "capabilities": { "memory.durable": ["read"] } });
    let deaf = app.exchange(&made.key, deaf).await;
    let mut sockets = Vec::new();
    for (at, token) in [&made.capability, &deaf, &made.capability].into_iter().enumerate() {
        let mut socket = Socket::open(address, token, "").await.unwrap();
        socket.call("memory/list", json!({})).await;
        sockets.push(socket);
        assert_eq!(app.app.events.open(), at + 1);
    }
    drop(sockets);
    let start = Instant::now();
    while app.app.events.open() > 0 {
        assert!(start.elapsed() < Duration::from_secs(10), "{} are still counted", app.app.events.open());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// How many records [`write_much`] makes.
const MUCH: usize = 24;

/// Makes records whose events do not fit together into what lies between the two ends, which is 4 MB and what the
/// client has room for: JSON needs six bytes for each character.
async fn write_much(made: &Made) {
    for at in 0..MUCH {
        made.client.remember(with(fact(&"\u{1}".repeat(60_000)), json!({ "key": at.to_string() }))).await;
    }
}

/// Reads to the end. Gives how many messages came, and the code of the end.
async fn drain(socket: &mut Socket) -> (usize, Option<u16>) {
    let mut messages = 0;
    loop {
        match socket.receive().await {
            Ok(_) => messages += 1,
            Err(close) => return (messages, close.map(|(code, _)| code)),
        }
    }
}

/// C088: the token is looked at before each event, also of those that were read together.
#[tokio::test]
async fn a_slow_follower_is_told_no_more_once_its_token_is_revoked_c088() {
    let (app, made, address) = served().await;
    write_much(&made).await;
    let token = app.exchange(&made.key, json!({ "namespace": "default" })).await;
    let mut socket = Socket::open_narrow(address, &token, "?after=0").await;
    assert_eq!(socket.told().await["params"]["seq"], 1);
    app.anyone().capability(&token).post("/v1/auth/revoke", json!({})).await.expect(200);
    let (told, code) = drain(&mut socket).await;
    assert_eq!(code, Some(4401));
    assert!(told < MUCH - 4, "{told} were sent after the token had ended");
}

/// who takes nothing is cut, is told why, and goes on from the last number.
#[tokio::test]
async fn a_follower_that_reads_nothing_is_cut_and_goes_on_r29() {
    let slow = Duration::from_secs(1);
    let (app, made, address) = served_with(|config| config.http.socket_slow = slow).await;
    write_much(&made).await;
    let mut socket = Socket::open_narrow(address, &made.capability, "?after=0").await;
    // It gives its place back before it is told why.
    let start = Instant::now();
    while app.app.events.open() > 0 {
        assert!(start.elapsed() < Duration::from_secs(20), "it is not cut");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let (told, code) = drain(&mut socket).await;
    assert_eq!(code, Some(4429));
    assert!(told < MUCH, "{told}");
    let mut again = Socket::open(address, &made.capability, &format!("?after={told}")).await.unwrap();
    assert_eq!(again.told().await["params"]["seq"], told + 1);
}

/// A peer that answers no ping is cut; one that does is not.
#[tokio::test]
async fn a_peer_that_is_gone_is_cut() {
    let idle = Duration::from_secs(3);
    let (app, made, address) = served_with(|config| config.http.socket_idle = idle).await;
    let token = &made.capability;
    let mut stream = TcpStream::connect(address).await.unwrap();
    let handshake = format!(
        "GET /v1/rpc/ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nx-akasha-capability: {token}\r\n\r\n"
    );
    stream.write_all(handshake.as_bytes()).await.unwrap();
    let mut live = Socket::open(address, token, "").await.unwrap();
    let start = Instant::now();
    let mut bytes = Vec::new();
    let reading = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut bytes));
    let (read, messages) = tokio::join!(reading, live.linger(2 * idle));
    assert_eq!(messages, 0);
    read.unwrap().unwrap();
    assert!(start.elapsed() >= idle, "{:?}", start.elapsed());
    let close = [&4408_u16.to_be_bytes()[..], b"nothing was heard for 3 seconds"].concat();
    assert!(bytes.windows(close.len()).any(|window| window == close), "it is told why");
    live.call("memory/list", json!({})).await;
    assert!(app.app.events.open() >= 1);
}

/// What the protocol answers by itself does not pile up for whoever does not read it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_floods_with_pings_and_reads_nothing_is_cut() {
    let (_app, made, address) = served_with(|config| config.http.socket_slow = Duration::from_secs(1)).await;
    let mut socket = Socket::open_narrow(address, &made.capability, "").await;
    let start = Instant::now();
    let mut sent = 0_u64;
    while socket.send_message(Message::Ping(vec![0; 125].into())).await {
        sent += 1;
        assert!(start.elapsed() < Duration::from_secs(20), "{sent} pings were taken");
    }
    assert!(sent * 125 < 64 << 20, "no more than lies between the two ends: {sent}");
}

/// RFC 6455, 5.5.1: the end of a connection is answered.
#[tokio::test]
async fn a_goodbye_is_answered() {
    let (_app, made, address) = served().await;
    let mut socket = Socket::open(address, &made.capability, "").await.unwrap();
    socket.call("memory/list", json!({})).await;
    let goodbye = CloseFrame { code: CloseCode::Normal, reason: "done".into() };
    assert!(socket.send_message(Message::Close(Some(goodbye))).await);
    assert_eq!(socket.closed().await, 1000);
}

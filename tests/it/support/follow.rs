//! Readers of the stream of changes, over server-sent events and over WebSocket.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};

use super::Socket;

/// What takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// A stream of server-sent events.
pub struct Sse {
    response: reqwest::Response,
    text: String,
}

/// A reader on either transport.
pub enum Follower {
    /// Over server-sent events.
    Sse(Sse),
    /// Over WebSocket.
    Socket(Box<Socket>),
}

impl Sse {
    /// Opens a stream, or gives the status and code it is refused with; 0 when nobody answers.
    pub async fn open(
        address: SocketAddr,
        capability: &str,
        after: Option<&str>,
    ) -> Result<Self, (u16, String)> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let mut request = http.get(format!("http://{address}/v1/memory/events"));
        request = request.header("x-akasha-capability", capability);
        if let Some(after) = after {
            request = request.header("last-event-id", after);
        }
        let response = request.send().await.map_err(|_| (0, String::new()))?;
        if response.status() == 200 {
            return Ok(Self { response, text: String::new() });
        }
        let status = response.status().as_u16();
        let body: Value =
            serde_json::from_slice(&response.bytes().await.unwrap_or_default()).unwrap_or_default();
        Err((status, body["error"]["code"].as_str().unwrap_or_default().to_owned()))
    }

    /// The next event, as a JSON-RPC notification; nothing when the stream ends or breaks.
    pub async fn told(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.text.find("\n\n") {
                let block: String = self.text.drain(..end + 2).collect();
                match parse(&block) {
                    Some(event) => return Some(event),
                    None => continue,
                }
            }
            let chunk = tokio::time::timeout(PATIENCE, self.response.chunk()).await.expect("it hangs");
            self.text.push_str(std::str::from_utf8(&chunk.ok()??).unwrap());
        }
    }
}

fn parse(block: &str) -> Option<Value> {
    let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
    let params: Value = serde_json::from_str(field("data: ")?).unwrap();
    assert_eq!(field("id: ").unwrap(), params["seq"].to_string());
    Some(json!({ "jsonrpc": "2.0", "method": field("event: ").unwrap(), "params": params }))
}

impl Follower {
    /// Opens a reader, after a number or from now on.
    pub async fn open(is_socket: bool, address: SocketAddr, capability: &str, after: Option<i64>) -> Self {
        let after = after.map(|after| after.to_string());
        if is_socket {
            let query = after.map(|after| format!("?after={after}")).unwrap_or_default();
            return Self::Socket(Box::new(Socket::open(address, capability, &query).await.unwrap()));
        }
        Self::Sse(Sse::open(address, capability, after.as_deref()).await.unwrap_or_else(|e| panic!("{e:?}")))
    }

    /// Opens a reader, if somebody answers.
    pub async fn try_open(
        is_socket: bool,
        address: SocketAddr,
        capability: &str,
        after: i64,
    ) -> Option<Self> {
        if is_socket {
            let socket = Socket::open(address, capability, &format!("?after={after}")).await.ok()?;
            return Some(Self::Socket(Box::new(socket)));
        }
        Some(Self::Sse(Sse::open(address, capability, Some(&after.to_string())).await.ok()?))
    }

    /// The next notification; nothing when the connection ends or breaks.
    pub async fn next(&mut self) -> Option<Value> {
        match self {
            Self::Sse(sse) => sse.told().await,
            Self::Socket(socket) => socket.receive().await.ok(),
        }
    }

    /// The next notification.
    pub async fn told(&mut self) -> Value {
        match self {
            Self::Sse(sse) => sse.told().await.expect("the stream ended"),
            Self::Socket(socket) => socket.told().await,
        }
    }

    /// The next notification, if one comes within the time.
    pub async fn told_within(&mut self, within: Duration) -> Option<Value> {
        tokio::time::timeout(within, self.told()).await.ok()
    }
}

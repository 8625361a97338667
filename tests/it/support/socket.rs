//! A caller that speaks JSON-RPC over WebSocket.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

/// What takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// An open connection.
pub struct Socket {
    stream: WebSocketStream<TcpStream>,
    next_id: u64,
    told: VecDeque<Value>,
}

impl Socket {
    /// Opens a connection, or gives the status it is refused with; 0 when nobody answers.
    pub async fn open(address: SocketAddr, capability: &str, query: &str) -> Result<Self, u16> {
        Self::on(tokio::net::TcpSocket::new_v4().unwrap(), address, capability, query).await
    }

    /// The same with little room for what was not read yet.
    pub async fn open_narrow(address: SocketAddr, capability: &str, query: &str) -> Self {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(65_536).unwrap();
        Self::on(socket, address, capability, query).await.unwrap()
    }

    async fn on(
        socket: tokio::net::TcpSocket,
        address: SocketAddr,
        capability: &str,
        query: &str,
    ) -> Result<Self, u16> {
        let mut request = format!("ws://{address}/v1/rpc/ws{query}").into_client_request().unwrap();
        if !capability.is_empty() {
            request.headers_mut().insert("x-akasha-capability", capability.parse().unwrap());
        }
        let mut config = tungstenite::protocol::WebSocketConfig::default();
        config.max_message_size = None;
        let stream = socket.connect(address).await.map_err(|_| 0_u16)?;
        stream.set_nodelay(true).unwrap();
        match client_async_with_config(request, stream, Some(config)).await {
            Ok((stream, _)) => Ok(Self { stream, next_id: 0, told: VecDeque::new() }),
            Err(tungstenite::Error::Http(response)) => Err(response.status().as_u16()),
            Err(_) => Err(0),
        }
    }

    /// Sends a text.
    pub async fn send(&mut self, text: &str) {
        self.stream.send(Message::text(text)).await.unwrap();
    }

    /// Sends any message; it may fail on a connection that is closed.
    pub async fn send_message(&mut self, message: Message) -> bool {
        self.stream.send(message).await.is_ok()
    }

    /// The next text; nothing when the connection is closed, with why.
    pub async fn receive(&mut self) -> Result<Value, Option<(u16, String)>> {
        loop {
            let next = tokio::time::timeout(PATIENCE, self.stream.next()).await.expect("it hangs");
            match next {
                Some(Ok(Message::Text(text))) => return Ok(serde_json::from_str(&text).unwrap()),
                Some(Ok(Message::Close(frame))) => {
                    return Err(frame.map(|frame| (frame.code.into(), frame.reason.to_string())));
                }
                Some(Ok(_)) => {}
                None | Some(Err(_)) => return Err(None),
            }
        }
    }

    /// The next text, if one comes soon.
    pub async fn receive_soon(&mut self, within: Duration) -> Option<Value> {
        tokio::time::timeout(within, self.receive()).await.ok().map(|received| received.unwrap())
    }

    /// The next text, while as many pings are sent as go out, if one comes within the time.
    pub async fn told_while_pinging(&mut self, within: Duration) -> Option<Value> {
        let (mut sink, mut stream) = (&mut self.stream).split();
        let pinging = async {
            while sink.send(Message::Ping(Vec::new().into())).await.is_ok() {
                tokio::task::yield_now().await;
            }
        };
        let reading = async {
            while let Some(Ok(message)) = stream.next().await {
                if let Message::Text(text) = message {
                    return serde_json::from_str(&text).ok();
                }
            }
            None
        };
        tokio::select! {
            () = pinging => None,
            told = reading => told,
            () = tokio::time::sleep(within) => None,
        }
    }

    /// Stays connected for a while, answering pings, and gives how many messages came.
    pub async fn linger(&mut self, time: Duration) -> usize {
        let mut messages = 0;
        let reading = async {
            while let Some(Ok(message)) = self.stream.next().await {
                messages += usize::from(message.is_text());
            }
        };
        // It is given up when the time is over.
        let _ = tokio::time::timeout(time, reading).await;
        messages
    }

    /// The next answer; notifications before it are kept.
    pub async fn next_answer(&mut self) -> Value {
        loop {
            let message = self.receive().await.unwrap_or_else(|close| panic!("closed: {close:?}"));
            if message.get("method").is_none() {
                return message;
            }
            self.told.push_back(message);
        }
    }

    /// Calls a method, and gives the whole answer.
    pub async fn answer(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string())
            .await;
        let answer = self.next_answer().await;
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(id)), "{answer}");
        answer
    }

    /// Calls a method, and gives its result.
    pub async fn call(&mut self, method: &str, params: Value) -> Value {
        let answer = self.answer(method, params).await;
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// The next notification.
    pub async fn told(&mut self) -> Value {
        if let Some(told) = self.told.pop_front() {
            return told;
        }
        let message = self.receive().await.unwrap_or_else(|close| panic!("closed: {close:?}"));
        assert!(message.get("id").is_none(), "{message} is no notification");
        message
    }

    /// Waits until the other side closes, and gives the code.
    pub async fn closed(&mut self) -> u16 {
        loop {
            match self.receive().await {
                Ok(_) => {}
                Err(close) => return close.map_or(0, |(code, _)| code),
            }
        }
    }
}

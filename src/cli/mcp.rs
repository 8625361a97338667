//! `memtide mcp`: a bridge for MCP clients that know no HTTP. What comes on standard input, a message a line, is sent to
//! the server; what the server answers goes to standard output, and nothing else does.

use std::io::{self, BufRead, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use reqwest::{Client, StatusCode, header, redirect};
use rustls::crypto::ring;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use crate::config::Bridge;

/// How long an answer may take: saving takes up to a minute.
const PATIENCE: Duration = Duration::from_secs(70);

/// How many messages are under way at once.
const AT_ONCE: usize = 16;

/// The member of a request that names its version, in versions without a handshake.
const VERSION_OF_REQUEST: &str = "/params/_meta/io.modelcontextprotocol~1protocolVersion";

const PARSE_ERROR: i32 = -32700;
const UNAUTHORIZED: i32 = -32001;
const FORBIDDEN: i32 = -32003;
const UNAVAILABLE: i32 = -32050;
const INTERNAL: i32 = -32603;

/// A server, and what was agreed with it.
struct Server {
    http: Client,
    config: Bridge,
    version: Mutex<Option<String>>,
}

/// Passes messages on until standard input ends and all are answered.
pub async fn run(config: Bridge) -> anyhow::Result<()> {
    // Whoever came first has installed the same one.
    let _ = ring::default_provider().install_default();
    let http = Client::builder().timeout(PATIENCE).redirect(redirect::Policy::none()).build()?;
    let server = Arc::new(Server { http, config, version: Mutex::default() });
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    let (mut lines, mut under_way) = (lines(), JoinSet::new());
    while let Some(line) = lines.recv().await {
        let turn = Arc::clone(&turns).acquire_owned().await.context("the bridge is closing")?;
        let server = Arc::clone(&server);
        under_way.spawn(async move {
            let answer = server.answer(&line).await;
            drop(turn);
            answer.map_or(Ok(()), |answer| say(&answer))
        });
        while let Some(said) = under_way.try_join_next() {
            said??;
        }
    }
    while let Some(said) = under_way.join_next().await {
        said??;
    }
    Ok(())
}

/// Standard input, line by line. Reading blocks, and so has a thread of its own, which ends with the process.
fn lines() -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel(AT_ONCE);
    std::thread::spawn(move || {
        for line in io::stdin().lock().split(b'\n').map_while(Result::ok) {
            if !line.trim_ascii().is_empty() && sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Writes one line.
fn say(answer: &Value) -> io::Result<()> {
    let mut output = io::stdout().lock();
    writeln!(output, "{answer}")?;
    output.flush()
}

impl Server {
    /// The answer to a message; none to what asks for none.
    async fn answer(&self, line: &[u8]) -> Option<Value> {
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            return Some(failure(&Value::Null, PARSE_ERROR, "the message is not valid JSON"));
        };
        let id = message.get("id").cloned();
        let answered = self.send(&message).await;
        if let Err((_, reason)) = &answered {
            eprintln!("memtide mcp: {reason}");
        }
        match (answered, id) {
            (Ok(answer), _) => answer,
            (Err((code, reason)), Some(id)) => Some(failure(&id, code, &reason)),
            (Err(_), None) => None,
        }
    }

    async fn send(&self, message: &Value) -> Result<Option<Value>, (i32, String)> {
        let url = &self.config.url;
        let away = |error: reqwest::Error| {
            let reason = error.without_url();
            (UNAVAILABLE, format!("Memtide does not answer at {url}: {reason}"))
        };
        let response = self.request(message).send().await.map_err(away)?;
        let status = response.status();
        let body = response.bytes().await.map_err(away)?;
        if status.is_success() && body.is_empty() {
            return Ok(None);
        }
        let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
        if answer.get("jsonrpc").is_some() {
            self.remember(&answer);
            return Ok(Some(answer));
        }
        let code = match status {
            StatusCode::UNAUTHORIZED => UNAUTHORIZED,
            StatusCode::FORBIDDEN => FORBIDDEN,
            StatusCode::SERVICE_UNAVAILABLE => UNAVAILABLE,
            _ => INTERNAL,
        };
        let reason = answer.pointer("/error/message").and_then(Value::as_str).unwrap_or("no reason is given");
        Err((code, format!("Memtide at {url} answers {status}: {reason}")))
    }

    fn request(&self, message: &Value) -> reqwest::RequestBuilder {
        let mut request = self
            .http
            .post(format!("{}/mcp", self.config.url))
            .bearer_auth(self.config.token.expose())
            .header(header::ACCEPT, "application/json, text/event-stream")
            .header(header::CONTENT_TYPE, "application/json");
        let text = |place: &str| message.pointer(place).and_then(Value::as_str);
        if let Some(version) = text(VERSION_OF_REQUEST) {
            request = request.header("mcp-protocol-version", version);
            request = request.header("mcp-method", text("/method").unwrap_or_default());
            if let Some(name) = text("/params/name") {
                request = request.header("mcp-name", name);
            }
        } else if let Some(version) = &*self.version.lock().unwrap_or_else(PoisonError::into_inner)
            && text("/method") != Some("initialize")
        {
            request = request.header("mcp-protocol-version", version);
        }
        request.body(message.to_string())
    }

    /// Speaks from now on what the server agreed to.
    fn remember(&self, answer: &Value) {
        if let Some(version) = answer.pointer("/result/protocolVersion").and_then(Value::as_str) {
            *self.version.lock().unwrap_or_else(PoisonError::into_inner) = Some(version.to_owned());
        }
    }
}

fn failure(id: &Value, code: i32, reason: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": reason } })
}

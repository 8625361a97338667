//! Servers that stand in for outside providers and misbehave on demand.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use memtide::embed::{EmbedConfig, Embedder, HttpConfig};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// One answer of a provider.
#[derive(Debug, Clone)]
pub enum Reply {
    /// A status without vectors, and the seconds of `Retry-After`.
    Status(u16, Option<u64>),
    /// Nothing, for good.
    Stall,
    /// The connection ends in the middle of the body.
    Broken,
    /// This body, with status 200.
    Body(String),
    /// Go and ask there.
    Redirect(String),
}

/// An embedding provider of short vectors, on a port of its own until it is dropped.
pub struct EmbeddingStub {
    pub base_url: String,
    seen: Arc<Seen>,
    server: JoinHandle<()>,
}

struct Seen {
    dimensions: usize,
    delay: Duration,
    replies: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<Request>>,
}

/// What the provider was asked.
#[derive(Debug, Clone)]
pub struct Request {
    pub authorization: Option<String>,
    pub model: String,
    pub texts: Vec<String>,
}

impl EmbeddingStub {
    /// A provider of two-dimensional vectors that gives these replies first and good ones from then on.
    pub async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::serve(2, Duration::ZERO, replies.into_iter().collect()).await
    }

    /// The same with vectors of this length, at least two.
    pub async fn wide(dimensions: usize, replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::serve(dimensions, Duration::ZERO, replies.into_iter().collect()).await
    }

    /// A provider of vectors of this length, at least two, that takes its time.
    pub async fn slow(dimensions: usize, delay: Duration) -> Self {
        Self::serve(dimensions, delay, VecDeque::new()).await
    }

    async fn serve(dimensions: usize, delay: Duration, replies: VecDeque<Reply>) -> Self {
        let (replies, requests) = (Mutex::new(replies), Mutex::default());
        let seen = Arc::new(Seen { dimensions, delay, replies, requests });
        let router = Router::new().route("/v1/embeddings", post(answer)).with_state(Arc::clone(&seen));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}", listener.local_addr().unwrap());
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { base_url, seen, server }
    }

    /// An embedder that asks this provider for a model of this name, once.
    pub async fn embedder(&self, model: &str) -> Arc<Embedder> {
        let config = HttpConfig {
            base_url: self.base_url.clone(),
            key: None,
            model: model.to_owned(),
            dimensions: self.seen.dimensions,
            batch: 50,
            timeout: Duration::from_secs(5),
            retries: 0,
        };
        Arc::new(Embedder::connect(EmbedConfig::Http(config)).await.unwrap())
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.seen.requests.lock().unwrap().clone()
    }
}

impl Drop for EmbeddingStub {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// The vector of a text: `[1, length, 0…]`.
fn vector(text: &str, dimensions: usize) -> Vec<usize> {
    let mut vector = vec![1, text.len()];
    vector.resize(dimensions, 0);
    vector
}

/// The body of a good answer, in two dimensions.
pub fn vectors(texts: &[String]) -> Value {
    long_vectors(texts, 2)
}

fn long_vectors(texts: &[String], dimensions: usize) -> Value {
    let item = |(index, text): (usize, &String)| json!({"object": "embedding", "index": index, "embedding": vector(text, dimensions)});
    let data: Vec<Value> = texts.iter().enumerate().map(item).collect();
    json!({"object": "list", "data": data, "model": "stub", "usage": {"prompt_tokens": 1, "total_tokens": 1}})
}

async fn answer(State(seen): State<Arc<Seen>>, headers: HeaderMap, body: String) -> Response {
    let body: Value = serde_json::from_str(&body).unwrap();
    let request = Request {
        authorization: headers.get("authorization").map(|value| value.to_str().unwrap().to_owned()),
        model: body["model"].as_str().unwrap().to_owned(),
        texts: serde_json::from_value(body["input"].clone()).unwrap(),
    };
    let good = long_vectors(&request.texts, seen.dimensions).to_string();
    seen.requests.lock().unwrap().push(request);
    tokio::time::sleep(seen.delay).await;
    let reply = seen.replies.lock().unwrap().pop_front();
    respond(reply, good).await
}

async fn respond(reply: Option<Reply>, good: String) -> Response {
    match reply {
        None => good.into_response(),
        Some(Reply::Body(body)) => body.into_response(),
        Some(Reply::Stall) => std::future::pending().await,
        Some(Reply::Broken) => ([("content-length", "100000")], good).into_response(),
        Some(Reply::Redirect(location)) => {
            (StatusCode::TEMPORARY_REDIRECT, [("location", location)]).into_response()
        }
        Some(Reply::Status(status, None)) => StatusCode::from_u16(status).unwrap().into_response(),
        Some(Reply::Status(status, Some(seconds))) => {
            (StatusCode::from_u16(status).unwrap(), [("retry-after", seconds.to_string())]).into_response()
        }
    }
}

/// A language model on a port of its own until it is dropped, which says what it is told to.
pub struct ChatStub {
    pub base_url: String,
    seen: Arc<Asked>,
    server: JoinHandle<()>,
}

#[derive(Default)]
struct Asked {
    replies: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<Asking>>,
}

/// What the model was asked.
#[derive(Debug, Clone)]
pub struct Asking {
    pub authorization: Option<String>,
    pub body: Value,
}

impl ChatStub {
    /// A model that gives these replies first and names no facts from then on.
    pub async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let seen = Arc::new(Asked { replies: Mutex::new(replies.into_iter().collect()), ..Asked::default() });
        let router = Router::new().route("/v1/chat/completions", post(chat)).with_state(Arc::clone(&seen));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}", listener.local_addr().unwrap());
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { base_url, seen, server }
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<Asking> {
        self.seen.requests.lock().unwrap().clone()
    }
}

impl Drop for ChatStub {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// A reply in which the model says this.
pub fn says(content: &str) -> Reply {
    Reply::Body(completion(content))
}

/// A reply that names these sentences as facts.
pub fn names(quotes: &[&str]) -> Reply {
    let fact = |quote: &&str| {
        json!({
            "quote": quote, "kind": "fact", "category": "custom", "subject": "custom", "attribute": "custom",
            "durability": "long_lived", "sensitivity": "none", "certainty": "high", "explicitness": "explicit",
            "importance": 0.5,
        })
    };
    says(&json!({ "facts": quotes.iter().map(fact).collect::<Vec<_>>() }).to_string())
}

fn completion(content: &str) -> String {
    let message = json!({ "role": "assistant", "content": content, "refusal": null });
    let choice = json!({ "index": 0, "message": message, "finish_reason": "stop", "logprobs": null });
    json!({ "id": "x", "object": "chat.completion", "choices": [choice], "usage": { "total_tokens": 1 } })
        .to_string()
}

async fn chat(State(asked): State<Arc<Asked>>, headers: HeaderMap, body: String) -> Response {
    let authorization = headers.get("authorization").map(|value| value.to_str().unwrap().to_owned());
    let body = serde_json::from_str(&body).unwrap();
    asked.requests.lock().unwrap().push(Asking { authorization, body });
    let reply = asked.replies.lock().unwrap().pop_front();
    respond(reply, completion("{\"facts\":[]}")).await
}

//! A caller that speaks HTTP to a process.

use std::time::{Duration, Instant};

use memtide::auth::Rights;
use serde_json::{Value, json};

use super::process::Settings;

/// A request that hangs for longer than any deadline of the service has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// A caller of one server.
#[derive(Clone)]
pub struct Wire {
    http: reqwest::Client,
    url: String,
    headers: Vec<(&'static str, String)>,
}

/// An answer.
#[derive(Debug)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// What `Retry-After` says.
    pub retry_after: Option<u64>,
    /// The body; null when it is no JSON.
    pub body: Value,
    /// How long it took.
    pub took: Duration,
}

impl Wire {
    /// A caller without a token.
    pub fn new(url: &str) -> Self {
        // Whoever came first has installed the same one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().timeout(PATIENCE).no_proxy().build().unwrap();
        Self { http, url: url.to_owned(), headers: Vec::new() }
    }

    /// The same caller with one header more.
    pub fn with(&self, name: &'static str, value: &str) -> Self {
        let mut wire = self.clone();
        wire.headers.push((name, value.to_owned()));
        wire
    }

    /// GET; an error when there was no answer.
    pub async fn get(&self, path: &str) -> reqwest::Result<Reply> {
        self.send(self.http.get(format!("{}{path}", self.url))).await
    }

    /// POST of JSON; an error when there was no answer.
    pub async fn post(&self, path: &str, body: &Value) -> reqwest::Result<Reply> {
        let request = self.http.post(format!("{}{path}", self.url));
        self.send(request.header("content-type", "application/json").body(body.to_string())).await
    }

    /// Remembers a text in the scope `user:test`.
    pub async fn remember(&self, content: &str) -> reqwest::Result<Reply> {
        self.post("/v1/memory/items", &note(content)).await
    }

    /// Searches, in the given mode.
    pub async fn search(&self, query: &str, mode: &str) -> reqwest::Result<Reply> {
        self.post("/v1/memory/search", &json!({ "query": query, "mode": mode })).await
    }

    async fn send(&self, mut request: reqwest::RequestBuilder) -> reqwest::Result<Reply> {
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        let start = Instant::now();
        let response = request.send().await?;
        let status = response.status().as_u16();
        let retry_after = response.headers().get("retry-after");
        let retry_after = retry_after.map(|value| value.to_str().unwrap().parse().unwrap());
        let body = serde_json::from_slice(&response.bytes().await?).unwrap_or(Value::Null);
        Ok(Reply { status, retry_after, body, took: start.elapsed() })
    }
}

impl Reply {
    /// The body, after checking the status.
    #[track_caller]
    pub fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        self.body
    }

    /// Whether it is a success, or a refusal that says when to come again. Nothing else is right under pressure.
    pub fn is_served_or_busy(&self) -> bool {
        self.status < 300 || (self.status == 503 && self.retry_after.is_some())
    }
}

/// Runs tasks at once, and gives what each gave.
pub async fn at_once<T: Send + 'static>(
    tasks: impl Iterator<Item = impl Future<Output = T> + Send + 'static>,
) -> Vec<T> {
    let started: Vec<_> = tasks.map(tokio::spawn).collect();
    let mut results = Vec::with_capacity(started.len());
    for task in started {
        results.push(task.await.unwrap());
    }
    results
}

/// A record that holds a text.
pub fn note(content: &str) -> Value {
    json!({ "scope": { "kind": "user", "key": "test" }, "category": "project_fact", "content": content })
}

impl Settings {
    /// Makes a tenant and a key with the command line, and gives the key's secret.
    pub async fn make_tenant(&self, slug: &str) -> String {
        let made = self.run(&["admin", "tenant", "create", slug]).await;
        assert_eq!(made.code, Some(0), "{}", made.stderr);
        let made = self.run(&["admin", "key", "create", slug, "--name", "test", "--namespace", "*"]).await;
        assert_eq!(made.code, Some(0), "{}", made.stderr);
        let made: Value = serde_json::from_str(&made.stdout).unwrap();
        made["secret"].as_str().unwrap().to_owned()
    }
}

/// A caller of the server at this address that holds a capability for everything in namespace `default`.
pub async fn caller(url: &str, key: &str) -> Wire {
    let wire = Wire::new(url);
    let request = json!({ "namespace": "default", "capabilities": Rights::all() });
    let bearer = wire.with("authorization", &format!("Bearer {key}"));
    let body = bearer.post("/v1/auth/token", &request).await.unwrap().expect(200);
    wire.with("x-akasha-capability", body["capability"].as_str().unwrap())
}

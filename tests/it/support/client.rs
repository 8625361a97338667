//! A caller that speaks the wire, to the router in memory.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::Value;
use tower::ServiceExt;

/// How long a stream of events must be silent to be taken for read.
const QUIET: Duration = Duration::from_millis(300);

/// A caller with its headers.
#[derive(Clone)]
pub struct Client {
    router: Router,
    headers: Vec<(String, String)>,
}

/// An answer.
#[derive(Debug)]
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body; null when it is no JSON.
    pub body: Value,
    /// The body as it came.
    pub text: String,
}

impl Client {
    /// A caller without a token.
    pub fn new(router: Router) -> Self {
        Self { router, headers: Vec::new() }
    }

    /// The same caller with one header more.
    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut client = self.clone();
        client.headers.push((name.to_owned(), value.to_owned()));
        client
    }

    /// The same caller with a capability.
    pub fn capability(&self, token: &str) -> Self {
        self.with("x-akasha-capability", token)
    }

    /// The same caller with a bearer.
    pub fn bearer(&self, token: &str) -> Self {
        self.with("authorization", &format!("Bearer {token}"))
    }

    /// GET.
    pub async fn get(&self, path: &str) -> Reply {
        self.send(Method::GET, path, None).await
    }

    /// POST of JSON.
    pub async fn post(&self, path: &str, body: Value) -> Reply {
        self.send(Method::POST, path, Some(body.to_string())).await
    }

    /// PUT of JSON.
    pub async fn put(&self, path: &str, body: Value) -> Reply {
        self.send(Method::PUT, path, Some(body.to_string())).await
    }

    /// PATCH of JSON.
    pub async fn patch(&self, path: &str, body: Value) -> Reply {
        self.send(Method::PATCH, path, Some(body.to_string())).await
    }

    /// DELETE.
    pub async fn delete(&self, path: &str) -> Reply {
        self.send(Method::DELETE, path, None).await
    }

    /// A stream of events.
    pub async fn events(&self, path: &str) -> Events {
        let mut request = Request::builder().uri(path);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let response = self.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(response.status(), 200);
        Events { body: response.into_body(), text: String::new() }
    }

    /// Any method, with a body that may be no JSON.
    pub async fn send(&self, method: Method, path: &str, body: Option<String>) -> Reply {
        self.send_bytes(method, path, body.map(String::into_bytes)).await
    }

    /// Any method, with any body.
    pub async fn send_bytes(&self, method: Method, path: &str, body: Option<Vec<u8>>) -> Reply {
        let mut request = Request::builder().method(method).uri(path);
        if body.is_some() && !self.headers.iter().any(|(name, _)| name == "content-type") {
            request = request.header("content-type", "application/json");
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let request = request.body(body.map_or_else(Body::empty, Body::from)).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let is_stream = parts.headers.get("content-type").is_some_and(|value| value == "text/event-stream");
        let bytes =
            if is_stream { until_quiet(body).await } else { body.collect().await.unwrap().to_bytes().into() };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let body = serde_json::from_str(&text).unwrap_or(Value::Null);
        Reply { status: parts.status, headers: parts.headers, body, text }
    }
}

/// A stream of server-sent events.
pub struct Events {
    body: Body,
    text: String,
}

impl Events {
    /// The next event, as its name and its data; nothing at the end of the stream.
    pub async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let field =
                    |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
                let parsed = field("data:").map(|data| {
                    (field("event:").unwrap_or_default().to_owned(), serde_json::from_str(data).unwrap())
                });
                self.text = rest.into();
                if parsed.is_some() {
                    return parsed;
                }
                continue;
            }
            let frame = self.body.frame().await?.unwrap();
            self.text.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
        }
    }

    /// The next event of this name.
    pub async fn until(&mut self, name: &str) -> Value {
        let wait = async {
            loop {
                let (found, data) = self.next().await.expect("the stream has ended");
                if found == name {
                    return data;
                }
            }
        };
        let patience = std::time::Duration::from_secs(10);
        tokio::time::timeout(patience, wait).await.unwrap_or_else(|_| panic!("no event {name}"))
    }
}

/// What a stream that does not end has sent until it is quiet.
async fn until_quiet(mut body: Body) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Ok(Some(frame)) = tokio::time::timeout(QUIET, body.frame()).await {
        bytes.extend_from_slice(&frame.unwrap().into_data().unwrap_or_default());
    }
    bytes
}

impl Reply {
    /// The body, after checking the status.
    #[track_caller]
    pub fn expect(self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        self.body
    }

    /// Checks the status and the code of an error, and gives its message.
    #[track_caller]
    pub fn refused(self, status: u16, code: &str) -> String {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        assert_eq!(self.body["ok"], false, "{}", self.text);
        assert_eq!(self.body["error"]["code"], code, "{}", self.text);
        let id = self.headers["x-request-id"].to_str().unwrap();
        assert_eq!(self.body["error"]["request_id"], id);
        self.body["error"]["message"].as_str().unwrap().to_owned()
    }
}

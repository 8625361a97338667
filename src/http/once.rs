//! Requests with an `Idempotency-Key`.

use axum::body::{Bytes, HttpBody};
use axum::extract::{FromRequest, FromRequestParts, MatchedPath, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::IDEMPOTENT_REPLAYED;
use super::extract::{Json, header_once, json_body};
use super::json;
use crate::error::Error;
use crate::idempotency::{Answer, Key};

/// The header that carries a key.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// What no body at all means to an action without parameters.
const NO_PARAMETERS: &[u8] = b"{}";

/// A JSON body that is to have one effect for its idempotency key, if it has one.
#[derive(Debug)]
pub struct Once<T> {
    /// The body.
    pub body: T,
    /// The key, with what it is used for.
    pub key: Option<Key>,
    /// The key alone, as the header has it.
    pub name: Option<String>,
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Once<T> {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        let name = header_once(request.headers(), IDEMPOTENCY_KEY).map_err(IntoResponse::into_response)?;
        let name = name.map(str::to_owned);
        let (mut parts, body) = request.into_parts();
        let path =
            MatchedPath::from_request_parts(&mut parts, state).await.map_err(IntoResponse::into_response)?;
        let uri = parts.uri.path().to_owned();
        let is_silent = !parts.headers.contains_key(CONTENT_TYPE);
        let mut request = Request::from_parts(parts, body);
        if is_silent && request.body().is_end_stream() {
            request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        let mut bytes = json_body(request, state).await?;
        let none = Bytes::from_static(NO_PARAMETERS);
        // An action that has parameters is told that there is no JSON, not which of them it misses.
        let body = match bytes.is_empty().then(|| json::decode(&none).ok()).flatten() {
            Some(body) => {
                bytes = none;
                body
            }
            None => json::decode(&bytes).map_err(IntoResponse::into_response)?,
        };
        let key = name.as_deref().map(|name| make_key(name, path.as_str(), &uri, &bytes)).transpose();
        Ok(Self { body, key: key.map_err(IntoResponse::into_response)?, name })
    }
}

/// The path belongs to what the key stands for: it may name the record that is acted on.
fn make_key(key: &str, pattern: &str, uri: &str, body: &[u8]) -> Result<Key, Error> {
    let body: serde_json::Value = json::decode(body)?;
    Key::new(key, pattern, &serde_json::json!([uri, body]))
}

/// The answer with its status, and whether it was given before.
impl<T: Serialize> IntoResponse for Answer<T> {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::OK);
        let mut response = (status, Json(self.body)).into_response();
        if self.replayed {
            let yes = axum::http::HeaderValue::from_static("true");
            response.headers_mut().insert(IDEMPOTENT_REPLAYED.clone(), yes);
        }
        response
    }
}

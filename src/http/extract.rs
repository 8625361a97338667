//! Bodies, paths and query strings, refused in our words.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::json;
use crate::error::{Error, Result};

/// The largest body, in bytes (XA-C13).
pub const MAX_BODY_BYTES: usize = 2 * 1024 * 1024;

/// How long a client may take to send a body (C045).
const BODY_DEADLINE: Duration = Duration::from_secs(5);

/// A JSON body; as an answer, JSON with status 200.
#[derive(Debug, Clone, Copy)]
pub struct Json<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        let body = json_body(request, state).await?;
        json::decode(&body).map(Self).map_err(IntoResponse::into_response)
    }
}

/// A JSON body in which values of 64 levels stand inside some levels of its own.
#[derive(Debug, Clone, Copy)]
pub struct Around<const LEVELS: usize, T>(pub T);

impl<const LEVELS: usize, T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Around<LEVELS, T> {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        let body = json_body(request, state).await?;
        json::decode_within(&body, json::MAX_DEPTH + LEVELS).map(Self).map_err(IntoResponse::into_response)
    }
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.0) {
            Ok(body) => ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
            Err(error) => Error::internal(error).into_response(),
        }
    }
}

/// A body that says it is JSON, whatever it holds.
#[derive(Debug)]
pub struct JsonBytes(pub Bytes);

impl<S: Send + Sync> FromRequest<S> for JsonBytes {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        json_body(request, state).await.map(Self)
    }
}

/// The bytes of a body that says it is JSON.
pub async fn json_body<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, Response> {
    if !says_json(request.headers()) || is_encoded(request.headers()) {
        return Err(StatusCode::UNSUPPORTED_MEDIA_TYPE.into_response());
    }
    match tokio::time::timeout(BODY_DEADLINE, Bytes::from_request(request, state)).await {
        Ok(body) => body.map_err(IntoResponse::into_response),
        Err(_) => Err(StatusCode::REQUEST_TIMEOUT.into_response()),
    }
}

/// Whether the body is compressed or the like, which we do not undo.
fn is_encoded(headers: &HeaderMap) -> bool {
    headers.get_all(header::CONTENT_ENCODING).iter().any(|encoding| encoding != "identity")
}

/// `application/json` or a `+json` type, in UTF-8 (C057).
fn says_json(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return false };
    let Ok(value) = value.to_str() else { return false };
    let value = value.to_ascii_lowercase();
    let mut parts = value.split(';').map(str::trim);
    let media_type = parts.next().unwrap_or_default();
    let is_json = media_type == "application/json"
        || (media_type.starts_with("application/") && media_type.ends_with("+json"));
    let charset = parts.find_map(|part| part.strip_prefix("charset="));
    is_json && charset.is_none_or(|charset| matches!(charset.trim_matches('"'), "utf-8" | "utf8"))
}

/// A query string; repeated parameters are lists.
#[derive(Debug, Clone, Copy)]
pub struct Query<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        check_escapes(parts.uri.query().unwrap_or_default())?;
        match axum_extra::extract::Query::from_request_parts(parts, state).await {
            Ok(axum_extra::extract::Query(value)) => Ok(Self(value)),
            Err(rejection) => Err(Error::invalid("", reason(&rejection))),
        }
    }
}

/// Refuses what the decoder of query strings would replace or pass over (C061).
fn check_escapes(query: &str) -> Result<()> {
    let is_hex = |text: &str| text.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
    let is_text = percent_encoding::percent_decode_str(query).decode_utf8().is_ok();
    if is_text && query.split('%').skip(1).all(is_hex) {
        return Ok(());
    }
    Err(Error::invalid("", "the query string is not percent-encoded UTF-8"))
}

/// The parameters in a path.
#[derive(Debug, Clone, Copy)]
pub struct Path<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        match axum::extract::Path::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(value)) => Ok(Self(value)),
            Err(rejection) => Err(Error::invalid("path", rejection.body_text())),
        }
    }
}

fn reason(rejection: &axum_extra::extract::QueryRejection) -> String {
    let source = std::error::Error::source(rejection);
    let deepest = std::iter::successors(source, |error| error.source()).last();
    deepest.map_or_else(|| rejection.to_string(), ToString::to_string)
}

/// The value of a header that may stand there once (R-13a).
pub fn header_once<'h>(headers: &'h HeaderMap, name: &'static str) -> Result<Option<&'h str>> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(Error::invalid(name, "stands in the request twice"));
    }
    value.to_str().map(Some).map_err(|_| Error::invalid(name, "holds characters that are not ASCII"))
}

//! How an [`Error`] looks over HTTP (XA-E1, XA-E2, XA-E4).

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CONTENT_TYPE, HeaderName, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::extract::MAX_BODY_BYTES;
use crate::error::{Error, ErrorReport};
use crate::id::{Id, kind};

/// The header that carries a request's id, both ways.
pub static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The header that says an answer was given before, to a request with the same idempotency key.
pub static IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// The id of the request, as kept with it.
#[derive(Debug, Clone)]
pub struct RequestId(pub String);

/// The body of every answer that is no success (XA-E1).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ErrorReply {
    /// Always false.
    pub ok: bool,
    /// What went wrong.
    pub error: ErrorBody,
}

/// What went wrong, and in which request.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ErrorBody {
    /// What went wrong.
    #[serde(flatten)]
    pub report: ErrorReport,
    /// The same as the `x-request-id` header.
    pub request_id: String,
}

/// The status of each error.
pub fn status(error: &Error) -> StatusCode {
    match error {
        Error::Invalid(_) => StatusCode::BAD_REQUEST,
        Error::Unprocessable(_) | Error::IdempotencyMismatch => StatusCode::UNPROCESSABLE_ENTITY,
        Error::Unauthorized(_) => StatusCode::UNAUTHORIZED,
        Error::Forbidden(_) | Error::DatabaseMismatch | Error::TenantSuspended => StatusCode::FORBIDDEN,
        Error::NotFound(_) => StatusCode::NOT_FOUND,
        Error::Conflict(_) | Error::Capacity(_) | Error::NotPending(_) | Error::StillRunning => {
            StatusCode::CONFLICT
        }
        Error::CursorExpired => StatusCode::GONE,
        Error::Kept(kept) => StatusCode::from_u16(kept.status).unwrap_or(StatusCode::CONFLICT),
        Error::Stale { .. } => StatusCode::PRECONDITION_FAILED,
        Error::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
        Error::RateLimited { .. } => StatusCode::TOO_MANY_REQUESTS,
        Error::Unavailable { .. } => StatusCode::SERVICE_UNAVAILABLE,
        Error::Internal(_) | Error::ExpiryOverflow => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn retry_after(error: &Error) -> Option<Duration> {
    match error {
        Error::Unavailable { retry_after, .. } | Error::RateLimited { retry_after, .. } => Some(*retry_after),
        Error::StillRunning => Some(Duration::from_secs(1)),
        _ => None,
    }
}

/// At least one, and never before the time has come.
fn whole_seconds(time: Duration) -> u64 {
    let seconds = time.as_secs() + u64::from(time.subsec_nanos() > 0);
    seconds.max(1)
}

/// Leaves the body to `finish`, which knows the request's id.
impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let mut response = status(&self).into_response();
        let headers = response.headers_mut();
        if let Some(after) = retry_after(&self) {
            headers.insert(RETRY_AFTER, HeaderValue::from(whole_seconds(after)));
        }
        if matches!(self, Error::Unauthorized(_)) {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if matches!(self, Error::Kept(_)) {
            headers.insert(IDEMPOTENT_REPLAYED.clone(), HeaderValue::from_static("true"));
        }
        response.extensions_mut().insert(Arc::new(self));
        response
    }
}

/// Gives every request an id, every answer that id, and every failure its body. The only place that logs a fault.
pub async fn finish(mut request: Request, next: Next) -> Response {
    let id = request
        .headers()
        .get(&REQUEST_ID)
        .and_then(|value| value.to_str().ok())
        .filter(|id| !id.is_empty() && id.len() <= 128 && id.bytes().all(|b| b.is_ascii_graphic()))
        .map_or_else(new_request_id, str::to_owned);
    request.extensions_mut().insert(RequestId(id.clone()));
    let response = next.run(request).await;
    let mut response = with_error_body(response, &id);
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID.clone(), value);
    }
    response
}

/// A new id of a request.
pub fn new_request_id() -> String {
    Id::<kind::Request>::new().to_string()
}

fn with_error_body(response: Response, id: &str) -> Response {
    let failure = response.extensions().get::<Arc<Error>>().cloned();
    if let Some(Error::Internal(source)) = failure.as_deref() {
        tracing::error!(request.id = id, error = %chain(source.as_ref()), "a request failed on a fault of ours");
    }
    let report = match failure.as_deref() {
        Some(error) => ErrorReport::new(error),
        None if has_own_body(&response) => return response,
        None => unrouted(response.status()),
    };
    let error = ErrorBody { report, request_id: id.to_owned() };
    let reply = serde_json::to_vec(&ErrorReply { ok: false, error });
    let (mut parts, _) = response.into_parts();
    parts.headers.remove(axum::http::header::CONTENT_LENGTH);
    parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Response::from_parts(parts, Body::from(reply.unwrap_or_default()))
}

fn has_own_body(response: &Response) -> bool {
    let is_json = |value: &HeaderValue| value.as_bytes().starts_with(b"application/json");
    let status = response.status();
    let is_failure = status.is_client_error() || status.is_server_error();
    !is_failure || response.headers().get(CONTENT_TYPE).is_some_and(is_json)
}

/// What the router and the layers below it refuse on their own, in plain text.
fn unrouted(status: StatusCode) -> ErrorReport {
    let too_large = format!("the body is larger than {MAX_BODY_BYTES} bytes");
    let (code, message) = match status {
        StatusCode::NOT_FOUND => ("not_found", "there is no such route"),
        StatusCode::METHOD_NOT_ALLOWED => ("method_not_allowed", "the route does not know this method"),
        StatusCode::PAYLOAD_TOO_LARGE => ("payload_too_large", too_large.as_str()),
        StatusCode::UNSUPPORTED_MEDIA_TYPE => ("unsupported_media_type", "the body must be application/json"),
        StatusCode::REQUEST_TIMEOUT => ("request_timeout", "the body took too long to arrive"),
        status if status.is_client_error() => ("invalid_request", "the request cannot be understood"),
        _ => ("internal", "internal error"),
    };
    ErrorReport { code: code.to_owned(), message: message.to_owned(), details: None }
}

fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let sources = std::iter::successors(error.source(), |error| error.source());
    sources.fold(error.to_string(), |text, source| format!("{text}: {source}"))
}

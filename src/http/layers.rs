//! What every request passes through, outermost first: request id and error bodies, spans and metrics, the limit on
//! requests at once, the tenant's place, the deadline, the limit on bodies.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, MatchedPath, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::{Router, body::Body};
use tokio::sync::Semaphore;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::set_header::SetResponseHeaderLayer;
use tracing::Instrument;

use super::error::{RequestId, finish};
use super::extract::MAX_BODY_BYTES;
use super::{cognitive, health, limit, memory};
use crate::app::App;
use crate::error::Error;
use crate::{mcp, rpc};

/// How long a request may take.
const DEADLINE: Duration = Duration::from_secs(10);

/// How long a request to one of [`LONG`] may take: 256 texts as long as the model reads are 65,000 tokens.
const LONG_DEADLINE: Duration = Duration::from_mins(1);

/// Where one request may bring or make many records.
const LONG: &[&str] = &[memory::BATCH, cognitive::CLOSE, mcp::PATH, rpc::post::PATH];

/// How long a request waits for its turn before it is answered 503.
const TURN_TIMEOUT: Duration = Duration::from_millis(100);

/// Puts the layers around the routes.
pub fn wrap(app: &App, routes: Router) -> Router {
    let turns = Arc::clone(&app.requests);
    routes
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(CatchPanicLayer::custom(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response()))
        .layer(from_fn(meet_deadline))
        .layer(from_fn(limit::keep_place))
        .layer(from_fn_with_state(turns, take_turn))
        .layer(SetResponseHeaderLayer::if_not_present(
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        ))
        .layer(SetResponseHeaderLayer::if_not_present(
            header::CACHE_CONTROL,
            HeaderValue::from_static("no-store"),
        ))
        .layer(from_fn(observe))
        .layer(from_fn(finish))
}

/// Whoever asks how the process is does not have to wait until it is better.
async fn take_turn(State(turns): State<Arc<Semaphore>>, request: Request, next: Next) -> Response {
    if health::ROUTES.iter().any(|route| route.path == request.uri().path()) {
        return next.run(request).await;
    }
    match tokio::time::timeout(TURN_TIMEOUT, turns.acquire_owned()).await {
        Ok(Ok(turn)) => {
            let response = next.run(request).await;
            drop(turn);
            response
        }
        _ => Error::unavailable("the service").into_response(),
    }
}

/// What takes longer is given up, and may be sent again.
async fn meet_deadline(request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let deadline = if path.is_some_and(|path| LONG.contains(&path)) { LONG_DEADLINE } else { DEADLINE };
    let answer = tokio::time::timeout(deadline, next.run(request)).await;
    answer.unwrap_or_else(|_| Error::unavailable("the service, which is slow at the moment,").into_response())
}

/// The method, as far as we know it: any word is a method to HTTP, and each would be a time series of its own.
fn method(request: &Request) -> &'static str {
    let known = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
    known.into_iter().find(|known| *known == request.method().as_str()).unwrap_or("other")
}

/// One span and one set of metrics a request. The route's pattern stands for the path, which may hold ids.
async fn observe(request: Request<Body>, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().map_or("(none)", MatchedPath::as_str).to_owned();
    let method = method(&request);
    let id = request.extensions().get::<RequestId>().map(|id| id.0.clone()).unwrap_or_default();
    let span = tracing::info_span!("request", request.id = id, http.method = method, http.route = path);
    let start = std::time::Instant::now();
    let response = next.run(request).instrument(span.clone()).await;
    let elapsed = start.elapsed();
    let status = response.status();
    let labels = [("method", method.to_owned()), ("route", path), ("status", status.as_u16().to_string())];
    metrics::counter!("memtide_http_requests_total", &labels).increment(1);
    metrics::histogram!("memtide_http_request_seconds", &labels[..2]).record(elapsed);
    let duration_ms = elapsed.as_secs_f64() * 1e3;
    span.in_scope(|| tracing::info!(http.status = status.as_u16(), duration_ms, "answered"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_method_is_no_time_series_of_its_own() {
        for (sent, counted) in [("GET", "GET"), ("PATCH", "PATCH"), ("BREW", "other"), ("get", "other")] {
            let request = Request::builder().method(sent).body(Body::empty()).expect("it is a token");
            assert_eq!(method(&request), counted);
        }
    }
}

//! JSON-RPC over HTTP: one message, one answer (XC-01, XC-02).

use axum::extract::{Extension, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;

use super::{Answers, MessageShape, Surroundings};
use crate::app::App;
use crate::auth::Caller;
use crate::error::Result;
use crate::http::RequestId;
use crate::http::extract::{Json, JsonBytes, header_once};
use crate::http::route::{Needs, Route};

/// Where messages go.
pub const PATH: &str = "/v1/rpc";

/// The routes of this folder.
pub const ROUTES: &[Route] = &[Route::new(
    Method::POST,
    PATH,
    Needs::Capability,
    "Call methods of the memory protocol: one, or up to 50 in a batch",
    || post(call),
)
.takes::<MessageShape>()
.gives::<Answers>()
.once()];

/// 200 with what JSON-RPC answers, errors included; 204 when there is nothing to answer.
async fn call(
    State(app): State<App>,
    caller: Caller,
    Extension(RequestId(request_id)): Extension<RequestId>,
    headers: HeaderMap,
    JsonBytes(body): JsonBytes,
) -> Result<Response> {
    let key = header_once(&headers, "idempotency-key")?;
    let at = Surroundings { app: &app, caller: &caller, request_id: &request_id, key, is_admitted: true };
    Ok(match super::answer(at, &body).await {
        Some(answers) => Json(answers).into_response(),
        None => StatusCode::NO_CONTENT.into_response(),
    })
}

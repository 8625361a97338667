//! JSON-RPC over HTTP: one message, one answer (XC-01, XC-02).

use axum::body::Bytes;
use axum::extract::{Extension, FromRequest, Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;

use super::{Answers, MessageShape, Surroundings};
use crate::app::App;
use crate::auth::Caller;
use crate::error::Result;
use crate::http::RequestId;
use crate::http::extract::{Json, header_once, json_body};
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

/// A body that says it is JSON, whatever it holds.
struct JsonBytes(Bytes);

impl<S: Send + Sync> FromRequest<S> for JsonBytes {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        json_body(request, state).await.map(Self)
    }
}

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

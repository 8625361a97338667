//! The MCP door: the four tools of `WorkingMemory` over streamable HTTP, without sessions (XD-02, R-36).
//!
//! - Who calls is known before the protocol is looked at: a request without authority is 401 like any other.
//! - `message` refuses what is no request in our words; the SDK then negotiates versions and frames answers.
//! - A tool that fails answers with the same error as REST would ([`tools`]); only what breaks the protocol is an error
//!   of JSON-RPC (XD-04).

mod message;
mod origin;
mod server;
pub mod tools;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use self::message::Refusal;
use self::server::Server;
use crate::app::App;
use crate::auth::Caller;
use crate::error::{Error, Result};
use crate::http::RequestId;
use crate::http::extract::{Json, JsonBytes, header_once};
use crate::http::route::{Needs, Route};
use crate::rpc;

/// Where MCP is spoken.
pub const PATH: &str = "/mcp";

/// The header that names the version of the protocol.
const VERSION: &str = "mcp-protocol-version";

/// The routes of this folder.
pub const ROUTES: &[Route] = &[Route::new(
    Method::POST,
    PATH,
    Needs::Capability,
    "Speak MCP (streamable HTTP, without sessions): four tools for notes",
    || post(call),
)
.takes::<rpc::RequestShape>()
.gives::<rpc::Answer>()];

/// 200 with what the protocol answers, 202 when there is nothing to answer.
async fn call(
    State(app): State<App>,
    caller: Caller,
    Extension(RequestId(request_id)): Extension<RequestId>,
    headers: HeaderMap,
    JsonBytes(body): JsonBytes,
) -> Result<Response> {
    origin::check(&app.config.http, header_once(&headers, "origin")?)?;
    let version = header_once(&headers, VERSION)?.map(str::to_owned);
    let message = match message::read(&body, &request_id) {
        Ok(message) => message,
        Err(refusal) => return Ok(refused(*refusal)),
    };
    let request = request(&headers, message)?;
    let server = Server { app, caller, request_id, span: tracing::Span::current() };
    // Made for one request: it keeps nothing, and the tools learn from it who calls.
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(NeverSessionManager::default()),
        config(),
    );
    let response = service.handle(request).await.map(Body::new);
    if response.status() == StatusCode::BAD_REQUEST
        && !response.headers().contains_key(header::CONTENT_TYPE)
        && let Some(version) = version
    {
        let shown: String = version.chars().take(64).collect();
        return Err(Error::invalid(VERSION, format!("is no version that is spoken here: {shown}")));
    }
    Ok(response)
}

fn refused(refusal: Refusal) -> Response {
    (refusal.status, Json(refusal.answer)).into_response()
}

/// What the SDK gets to see: the message, and the headers of the protocol. What a client accepts is not asked: it is
/// answered in JSON.
fn request(headers: &HeaderMap, message: Vec<u8>) -> Result<Request<Body>> {
    let mut request = Request::post(PATH).body(Body::from(message)).map_err(Error::internal)?;
    let fixed = [
        (header::HOST, "localhost"),
        (header::CONTENT_TYPE, "application/json"),
        (header::ACCEPT, "application/json, text/event-stream"),
    ];
    for (name, value) in fixed {
        request.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    for (name, value) in headers.iter().filter(|(name, _)| name.as_str().starts_with("mcp-")) {
        request.headers_mut().append(name, value.clone());
    }
    Ok(request)
}

/// Neither hosts nor origins are the SDK's business: nobody gets here without a token, and [`origin`] was asked.
fn config() -> StreamableHttpServerConfig {
    StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_sse_keep_alive(None)
        .disable_allowed_hosts()
        .disable_allowed_origins()
}

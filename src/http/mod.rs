//! The REST door: decode, call one operation, encode.

pub mod admin;
pub mod admin_key;
pub mod auth;
pub mod caller;
mod error;
pub mod extract;
pub mod health;
mod json;
mod layers;
pub mod memory;
mod once;
mod openapi;
pub mod route;
mod strict;

use axum::Router;

pub use error::{ErrorBody, ErrorReply, IDEMPOTENT_REPLAYED, REQUEST_ID, RequestId, status};
pub use extract::MAX_BODY_BYTES;

use crate::app::App;

/// The whole API. Metrics are not in it when they have an address of their own.
pub fn router(app: &App) -> Router {
    let has_metrics = app.config.http.metrics_address.is_none();
    let routes = route::all()
        .filter(|route| has_metrics || route.path != health::METRICS)
        .fold(Router::new(), |router, route| router.route(route.path, (route.handler)()));
    layers::wrap(routes.merge(openapi::page()).with_state(app.clone()))
}

/// The metrics alone, for an address of their own.
pub fn metrics_router(app: &App) -> Router {
    let metrics = route::all().filter(|route| route.path == health::METRICS);
    metrics
        .fold(Router::new(), |router, route| router.route(route.path, (route.handler)()))
        .with_state(app.clone())
}

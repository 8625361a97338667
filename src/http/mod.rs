//! The REST door: decode, call one operation, encode.

pub mod admin;
pub mod admin_job;
pub mod admin_key;
pub mod auth;
pub mod caller;
pub mod candidate;
pub mod capture;
pub mod cognitive;
mod error;
pub mod event;
pub mod extract;
pub mod health;
pub(crate) mod json;
mod layers;
mod limit;
pub mod memory;
mod once;
pub(crate) mod openapi;
pub mod route;
mod serve;
pub(crate) mod sound;
mod sse;
mod strict;
pub mod working;
pub mod working_engine;
pub mod working_events;

use axum::Router;

pub use error::{ErrorBody, ErrorReply, IDEMPOTENT_REPLAYED, REQUEST_ID, RequestId, new_request_id, status};
pub use extract::MAX_BODY_BYTES;
pub use serve::{listen, serve};

use self::route::Route;
use crate::app::App;
use crate::{mcp, rpc};

/// Every route there is. The router, the OpenAPI document and the isolation test are built from this one table, so that
/// a route that is not in it does not exist.
pub fn routes() -> impl Iterator<Item = &'static Route> {
    let tables = [
        health::ROUTES,
        auth::ROUTES,
        memory::ROUTES,
        candidate::ROUTES,
        cognitive::ROUTES,
        capture::ROUTES,
        event::ROUTES,
        rpc::post::ROUTES,
        rpc::socket::ROUTES,
        mcp::ROUTES,
        working::ROUTES,
        working_engine::ROUTES,
        working_events::ROUTES,
        admin::ROUTES,
        admin_key::ROUTES,
        admin_job::ROUTES,
    ];
    tables.into_iter().flatten()
}

/// The whole API. Metrics are not in it when they have an address of their own.
pub fn router(app: &App) -> Router {
    let has_metrics = app.config.http.metrics_address.is_none();
    let served = mount(routes().filter(|route| has_metrics || route.path != health::METRICS));
    layers::wrap(
        app,
        served.merge(openapi::page(routes())).merge(rpc::document::page()).with_state(app.clone()),
    )
}

/// The metrics alone, for an address of their own.
pub fn metrics_router(app: &App) -> Router {
    mount(routes().filter(|route| route.path == health::METRICS)).with_state(app.clone())
}

fn mount(routes: impl Iterator<Item = &'static Route>) -> Router<App> {
    routes.fold(Router::new(), |router, route| router.route(route.path, (route.handler)()))
}

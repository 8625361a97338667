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

/// The whole API.
pub fn router(app: &App) -> Router {
    let routes =
        route::all().fold(Router::new(), |router, route| router.route(route.path, (route.handler)()));
    layers::wrap(routes.merge(openapi::page()).with_state(app.clone()), app)
}

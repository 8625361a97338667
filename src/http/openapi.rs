//! The OpenAPI document, made from the table of routes, and its page.

use axum::Router;
use utoipa_swagger_ui::{Config, SwaggerUi};

use crate::app::App;

/// The page at `/docs` and the document at `/openapi.json`, both served from the program.
pub fn page() -> Router<App> {
    let ui = SwaggerUi::new("/docs")
        .config(Config::from("/openapi.json"))
        .external_url_unchecked("/openapi.json", super::openapi::document());
    ui.into()
}

/// The document.
pub fn document() -> serde_json::Value {
    serde_json::json!({})
}

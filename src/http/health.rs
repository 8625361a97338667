//! Is it alive, is it ready, what has it done. No token is needed.

use axum::extract::State;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::extract::Json;
use super::route::{Needs, Route};
use crate::app::App;
use crate::db;

/// Where the metrics are.
pub const METRICS: &str = "/metrics";

/// The routes of this file.
pub const ROUTES: &[Route] = &[
    Route::new(
        Method::GET,
        "/livez",
        Needs::Nothing,
        "Whether the process is alive; asks nothing else",
        || get(live),
    )
    .gives::<Alive>(),
    Route::new(
        Method::GET,
        "/readyz",
        Needs::Nothing,
        "Whether requests can be served, and what is degraded",
        || get(ready),
    )
    .gives::<Readiness>(),
    Route::new(Method::GET, METRICS, Needs::Nothing, "Metrics in the Prometheus text format", || {
        get(metrics)
    }),
];

/// The process is alive.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Alive {
    /// Always true.
    pub ok: bool,
}

/// Whether requests can be served.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Readiness {
    /// Whether durable memory can be served.
    pub ready: bool,
    /// What is away while the rest works: `working_memory`, `semantic`.
    pub degraded: Vec<String>,
    /// Why it is not ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

async fn live() -> Json<Alive> {
    Json(Alive { ok: true })
}

async fn ready(State(app): State<App>) -> Response {
    let (schema, redis) = tokio::join!(db::schema_version(&app.db), app.kv.ping());
    let reason = match schema {
        Ok(version) if version == *db::SCHEMA_VERSION => None,
        Ok(version) => Some(format!("the schema is at {version}, {} is wanted", *db::SCHEMA_VERSION)),
        Err(_) => Some("the database is unavailable".to_owned()),
    };
    let working = redis.is_err().then(|| "working_memory".to_owned());
    let semantic = app.embedder.model().is_none().then(|| "semantic".to_owned());
    let ready = reason.is_none() && !app.is_stopping();
    let body = Readiness { ready, degraded: working.into_iter().chain(semantic).collect(), reason };
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(body)).into_response()
}

async fn metrics(State(app): State<App>) -> String {
    app.metrics.render()
}

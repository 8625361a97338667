//! The six operations of the slot API.

use axum::extract::State;
use axum::http::Method;
use axum::routing::{get, post, put};
use serde_json::Value;

use super::extract::{Around, Json};
use super::json;
use super::route::{Needs, Route};
use crate::app::App;
use crate::auth::{Action, Area, Caller};
use crate::error::{Error, Result};
use crate::working::config::{self, ConfigReply};
use crate::working::settings::WorkingMemoryConfig;
use crate::working::slots::{self, Clear, Cleared, Inject, Injected, Slots, Stats};

const READ: Needs = Needs::Right(Area::Working, Action::Read);

/// The routes of this file.
pub const ROUTES: &[Route] = &[
    Route::new(Method::GET, "/v1/working-memory/slots", READ, "Working memory slots list", || get(list))
        .gives::<Slots>(),
    Route::new(Method::GET, "/v1/working-memory/config", Needs::Control, "Working memory config get", || {
        get(get_config)
    })
    .gives::<WorkingMemoryConfig>(),
    Route::new(
        Method::PUT,
        "/v1/working-memory/config",
        Needs::Control,
        "Working memory config update",
        || put(put_config),
    )
    .takes::<WorkingMemoryConfig>()
    .gives::<ConfigReply>(),
    Route::new(Method::GET, "/v1/working-memory/stats", READ, "Working memory stats", || get(stats))
        .gives::<Stats>(),
    Route::new(
        Method::POST,
        "/v1/working-memory/slots/clear",
        Needs::Right(Area::Working, Action::Delete),
        "Working memory slots clear",
        || post(clear),
    )
    .takes::<Clear>()
    .gives::<Cleared>(),
    Route::new(
        Method::POST,
        "/v1/working-memory/slots/inject",
        Needs::Right(Area::Working, Action::Write),
        "Working memory slots inject",
        || post(inject),
    )
    .takes::<Inject>()
    .gives::<Injected>(),
];

async fn list(State(app): State<App>, caller: Caller) -> Result<Json<Slots>> {
    slots::list(&app, &caller).await.map(Json)
}

async fn stats(State(app): State<App>, caller: Caller) -> Result<Json<Stats>> {
    slots::stats(&app, &caller).await.map(Json)
}

async fn clear(State(app): State<App>, caller: Caller, Json(clear): Json<Clear>) -> Result<Json<Cleared>> {
    slots::clear(&app, &caller, &clear).await.map(Json)
}

/// The value stands one level deep in the body.
async fn inject(
    State(app): State<App>,
    caller: Caller,
    Around(new): Around<1, Inject>,
) -> Result<Json<Injected>> {
    slots::inject(&app, &caller, new).await.map(Json)
}

async fn get_config(State(app): State<App>, caller: Caller) -> Result<Json<WorkingMemoryConfig>> {
    config::get(&app, &caller).await.map(Json)
}

/// Any JSON is taken, and read as settings only once the right is proven.
async fn put_config(
    State(app): State<App>,
    caller: Caller,
    Json(body): Json<Value>,
) -> Result<Json<ConfigReply>> {
    caller.control(Action::Write)?;
    let config = json::decode(body.to_string().as_bytes()).map_err(|error| match error {
        Error::Unprocessable(fault) => Error::Invalid(fault),
        other => other,
    })?;
    config::put(&app, &caller, config).await.map(Json)
}

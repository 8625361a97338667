//! The engine behind the slots: workspace, gate, rehearsal, focus, consolidation (XB-50 to XB-56).

use axum::extract::State;
use axum::http::Method;
use axum::routing::{get, post};

use super::extract::{Around, Json, Query};
use super::once::Once;
use super::route::{Needs, Route};
use crate::app::App;
use crate::auth::{Action, Area, Caller};
use crate::error::Result;
use crate::idempotency::Answer;
use crate::working::attention::{self, ClearedAll, Focused, Meant, Rehearsed, Released, Whole};
use crate::working::consolidate::{self, Consolidate, Consolidated};
use crate::working::offer::{self, Offer, Offered};
use crate::working::workspace::{self, Look, Workspace};

const READ: Needs = Needs::Right(Area::Working, Action::Read);
const WRITE: Needs = Needs::Right(Area::Working, Action::Write);

/// The routes of this file.
pub const ROUTES: &[Route] = &[
    Route::new(
        Method::GET,
        "/v1/working-memory/workspace",
        READ,
        "The workspace as the engine sees it, the most active first",
        || get(look),
    )
    .asks::<Look>()
    .gives::<Workspace>(),
    Route::new(
        Method::POST,
        "/v1/working-memory/workspace/offer",
        WRITE,
        "Offer items, of which the gate admits some",
        || post(offer),
    )
    .takes::<Offer>()
    .gives::<Offered>(),
    Route::new(
        Method::POST,
        "/v1/working-memory/slots/rehearse",
        WRITE,
        "Raise the activation of a slot",
        || post(rehearse),
    )
    .takes::<Meant>()
    .gives::<Rehearsed>(),
    Route::new(Method::POST, "/v1/working-memory/focus", WRITE, "Put a slot into focus", || post(focus))
        .takes::<Meant>()
        .gives::<Focused>(),
    Route::new(Method::POST, "/v1/working-memory/focus/release", WRITE, "Let go of what is in focus", || {
        post(release)
    })
    .takes::<Whole>()
    .gives::<Released>(),
    Route::new(
        Method::POST,
        "/v1/working-memory/slots/consolidate",
        Needs::Rights(&[(Area::Working, Action::Read), (Area::Durable, Action::Write)]),
        "Remember a slot as a durable record; to clear it takes the right to delete",
        || post(consolidate),
    )
    .takes::<Consolidate>()
    .gives::<Consolidated>()
    .once(),
    Route::new(
        Method::POST,
        "/v1/working-memory/clear",
        Needs::Right(Area::Working, Action::Delete),
        "Clear the whole workspace",
        || post(clear),
    )
    .takes::<Whole>()
    .gives::<ClearedAll>(),
];

async fn look(State(app): State<App>, caller: Caller, Query(look): Query<Look>) -> Result<Json<Workspace>> {
    workspace::look(&app, &caller, look).await.map(Json)
}

/// A value stands three levels deep in the body.
async fn offer(
    State(app): State<App>,
    caller: Caller,
    Around(offer): Around<3, Offer>,
) -> Result<Json<Offered>> {
    offer::offer(&app, &caller, offer).await.map(Json)
}

async fn rehearse(
    State(app): State<App>,
    caller: Caller,
    Json(meant): Json<Meant>,
) -> Result<Json<Rehearsed>> {
    attention::rehearse(&app, &caller, meant).await.map(Json)
}

async fn focus(State(app): State<App>, caller: Caller, Json(meant): Json<Meant>) -> Result<Json<Focused>> {
    attention::focus(&app, &caller, meant).await.map(Json)
}

async fn release(State(app): State<App>, caller: Caller, once: Once<Whole>) -> Result<Json<Released>> {
    attention::release(&app, &caller, &once.body).await.map(Json)
}

async fn consolidate(
    State(app): State<App>,
    caller: Caller,
    once: Once<Consolidate>,
) -> Result<Answer<Consolidated>> {
    consolidate::consolidate(&app, &caller, once.body, once.key).await
}

async fn clear(State(app): State<App>, caller: Caller, once: Once<Whole>) -> Result<Json<ClearedAll>> {
    attention::clear(&app, &caller, &once.body).await.map(Json)
}

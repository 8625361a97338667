//! Captures and jobs over REST.

use axum::extract::State;
use axum::http::Method;
use axum::routing::{get, post};

use super::extract::{Json, Path};
use super::once::Once;
use super::route::{Needs, Route};
use crate::app::App;
use crate::auth::{Action, Area, Caller};
use crate::capture::{self, Capture, Captured};
use crate::error::Result;
use crate::idempotency::Answer;
use crate::job::{self, JobReply};

/// The routes of this file.
pub const ROUTES: &[Route] = &[
    Route::new(
        Method::POST,
        "/v1/memory/capture",
        Needs::Right(Area::Durable, Action::Write),
        "Take a text, and store what is worth keeping in it in the background",
        || post(take),
    )
    .takes::<Capture>()
    .gives::<Captured>()
    .with_status(202)
    .once(),
    Route::new(
        Method::GET,
        "/v1/memory/jobs/{id}",
        Needs::Right(Area::Durable, Action::Read),
        "What became of a capture",
        || get(find),
    )
    .gives::<JobReply>(),
];

async fn take(State(app): State<App>, caller: Caller, once: Once<Capture>) -> Result<Answer<Captured>> {
    capture::capture(&app, &caller, once.body, once.key).await
}

async fn find(State(app): State<App>, caller: Caller, Path(id): Path<String>) -> Result<Json<JobReply>> {
    let job = job::get(&app, &caller, &id).await?;
    Ok(Json(JobReply { job }))
}

//! What happens in a workspace, as a stream of server-sent events.

use std::time::Duration;

use axum::extract::State;
use axum::http::Method;
use axum::response::Response;
use axum::routing::get;
use futures_util::stream::unfold;

use super::route::{Needs, Route};
use super::sse::{self, Patience};
use crate::app::App;
use crate::auth::{Action, Area, Caller};
use crate::error::Result;
use crate::working::watch::{self, Told};

/// The routes of this file.
pub const ROUTES: &[Route] = &[Route::new(
    Method::GET,
    "/v1/working-memory/events",
    Needs::Right(Area::Working, Action::Read),
    "What happens in the workspace, as server-sent events, beginning with the workspace as it is",
    || get(events),
)];

const PATIENCE: Patience = Patience { waiting: 64, slow: Duration::from_secs(5) };

async fn events(State(app): State<App>, caller: Caller) -> Result<Response> {
    let open = app.limits.open(caller.claims().tenant)?;
    let watch = watch::watch(&app, caller).await?;
    let frames = unfold((watch, open), async |(mut watch, open)| {
        let told = watch.next().await?;
        let frame = encode(&told).inspect_err(|error| tracing::error!(%error, "an event cannot be told"));
        Some((frame.ok()?.into(), (watch, open)))
    });
    Ok(sse::answer(app, PATIENCE, frames))
}

fn encode(told: &Told) -> Result<String> {
    let (name, version) = match told {
        Told::Workspace(standing) => ("workspace", standing.version),
        Told::Happened { what, version, .. } => (what.kind.as_str(), *version),
    };
    sse::frame(version, name, told)
}

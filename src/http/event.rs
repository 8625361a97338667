//! The stream of changes over HTTP, as server-sent events.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method};
use axum::response::Response;
use axum::routing::get;
use futures_util::stream::unfold;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::extract::{Query, header_once};
use super::route::{Needs, Route};
use super::sse::{self, Patience};
use crate::app::App;
use crate::auth::{Action, Area, Caller};
use crate::error::Result;
use crate::event::stream::{self, Stream};
use crate::page::given;

/// A reader that is cut may go on from where it was.
const PATIENCE: Patience = Patience { waiting: 1, slow: Duration::from_secs(30) };

/// The routes of this file.
pub const ROUTES: &[Route] = &[Route::new(
    Method::GET,
    "/v1/memory/events",
    Needs::Right(Area::Events, Action::Read),
    "Follow changes as server-sent events, from the last number seen (`Last-Event-ID` or `after`) or from now on",
    || get(follow),
)
.asks::<Follow>()];

/// From where on to follow.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Follow {
    /// The number of the last event seen; 0 for the oldest that is kept. The `Last-Event-ID` header says the same, and
    /// counts if both are given: a browser that reconnects repeats the address.
    #[serde(default, deserialize_with = "given")]
    pub after: Option<String>,
}

async fn follow(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    Query(follow): Query<Follow>,
) -> Result<Response> {
    let after = header_once(&headers, "last-event-id")?.map(str::to_owned).or(follow.after);
    let open = app.limits.open(caller.claims().tenant)?;
    let turn = app.events.take_turn()?;
    let stream = stream::open(&app, &caller, after.as_deref(), turn).await?;
    let frames = unfold((app.clone(), stream, open), async |(app, mut stream, open)| {
        match next(&app, &mut stream).await {
            Ok(frames) => Some((frames, (app, stream, open))),
            Err(error) => {
                tracing::info!(%error, "a stream of events ends");
                None
            }
        }
    });
    Ok(sse::answer(app, PATIENCE, frames))
}

async fn next(app: &App, stream: &mut Stream) -> Result<Bytes> {
    let told = stream.next(app).await?;
    let frames = told.iter().map(|told| sse::frame(told.seq, told.method, &told.params));
    Ok(frames.collect::<Result<String>>()?.into())
}

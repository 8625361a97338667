//! What happens in a workspace, as a stream of server-sent events.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderName, Method};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::stream;
use tokio::sync::mpsc;

use super::route::{Needs, Route};
use crate::app::App;
use crate::auth::{Action, Area, Caller};
use crate::error::Result;
use crate::working::watch::{self, Told, Watch};

/// The routes of this file.
pub const ROUTES: &[Route] = &[Route::new(
    Method::GET,
    "/v1/working-memory/events",
    Needs::Right(Area::Working, Action::Read),
    "What happens in the workspace, as server-sent events, beginning with the workspace as it is",
    || get(events),
)];

/// How many events may wait for a reader.
const WAITING: usize = 64;

/// A reader who takes nothing for so long is cut off.
const SLOW: Duration = Duration::from_secs(5);

/// How soon a client should come again after the end of a stream.
const RETRY: Duration = Duration::from_secs(1);

/// Proxies are told not to collect the stream.
const NO_BUFFERING: (HeaderName, &str) = (HeaderName::from_static("x-accel-buffering"), "no");

async fn events(State(app): State<App>, caller: Caller) -> Result<Response> {
    let watch = watch::watch(&app, caller).await?;
    let (sender, receiver) = mpsc::channel(WAITING);
    tokio::spawn(pass_on(watch, sender));
    let events = stream::unfold(receiver, |mut receiver| async {
        receiver.recv().await.map(|event| (Ok::<_, Infallible>(event), receiver))
    });
    Ok(([NO_BUFFERING], Sse::new(events).keep_alive(KeepAlive::default())).into_response())
}

/// Passes events on until there are no more, or nobody who takes them.
async fn pass_on(mut watch: Watch, sender: mpsc::Sender<Event>) {
    let mut first = Some(RETRY);
    loop {
        let told = tokio::select! {
            () = sender.closed() => return,
            told = watch.next() => told,
        };
        let Some(event) = told.and_then(|told| encode(&told)) else { return };
        let event = match first.take() {
            Some(retry) => event.retry(retry),
            None => event,
        };
        if !matches!(tokio::time::timeout(SLOW, sender.send(event)).await, Ok(Ok(()))) {
            return;
        }
    }
}

fn encode(told: &Told) -> Option<Event> {
    let (name, version) = match told {
        Told::Workspace(standing) => ("workspace", standing.version),
        Told::Happened { what, version, .. } => (what.kind.as_str(), *version),
    };
    Event::default().event(name).id(version.to_string()).json_data(told).ok()
}

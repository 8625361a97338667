//! The stream of changes over HTTP, as server-sent events.

use std::fmt::Write;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::stream as futures;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::extract::{Query, header_once};
use super::route::{Needs, Route};
use crate::app::App;
use crate::auth::{Action, Area, Caller};
use crate::error::{Error, Result};
use crate::event::Notification;
use crate::event::stream::{self, Stream};
use crate::page::given;

/// How often a stream without events says that it is alive, for proxies that end what is silent.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// How long a reader may leave what was sent to it unread. Then it is cut, and may go on from where it was.
const SLOW: Duration = Duration::from_secs(30);

/// When a client is to come back after its stream ended, in milliseconds.
const RETRY_MS: u32 = 1_000;

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
    let stream = stream::open(&app, &caller, after.as_deref()).await?;
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(send(app, stream, sender));
    let chunks = futures::unfold(receiver, async |mut receiver: mpsc::Receiver<Bytes>| {
        let chunk = receiver.recv().await?;
        Some((Ok::<_, std::convert::Infallible>(chunk), receiver))
    });
    let mut response = Body::from_stream(chunks).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    // Proxies that gather answers would keep events back.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

/// Sends events until the token ends, the reader goes or does not read, or the process stops.
async fn send(app: App, mut stream: Stream, sender: mpsc::Sender<Bytes>) {
    let mut chunk = Bytes::from(format!("retry: {RETRY_MS}\n\n"));
    loop {
        match tokio::time::timeout(SLOW, sender.send(chunk)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return,
            Err(_) => {
                tracing::info!("a reader of events is too slow, and is cut");
                return;
            }
        }
        chunk = tokio::select! {
            () = app.stopped() => return,
            () = sender.closed() => return,
            () = tokio::time::sleep(KEEP_ALIVE) => Bytes::from_static(b": alive\n\n"),
            told = stream.next(&app) => match told.and_then(|told| frames(&told)) {
                Ok(frames) => frames,
                Err(error) => {
                    tracing::info!(%error, "a stream of events ends");
                    return;
                }
            },
        };
    }
}

fn frames(told: &[Notification]) -> Result<Bytes> {
    let mut frames = String::new();
    for Notification { seq, method, params } in told {
        let data = serde_json::to_string(params).map_err(Error::internal)?;
        // JSON holds no line feed that is not escaped.
        write!(frames, "id: {seq}\nevent: {method}\ndata: {data}\n\n").map_err(Error::internal)?;
    }
    Ok(frames.into())
}

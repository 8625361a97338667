//! Answers that do not end: server-sent events, as long as somebody reads them.

use std::convert::Infallible;
use std::fmt::Display;
use std::pin::pin;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt, stream};
use serde::Serialize;
use tokio::sync::mpsc;

use crate::app::App;
use crate::error::{Error, Result};

/// How often a stream without events says that it is alive, for proxies that end what is silent.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// When a client is to come back after its stream ended, in milliseconds.
const RETRY_MS: u32 = 1_000;

/// How much a stream bears with its reader.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// How many frames may wait to be read.
    pub waiting: usize,
    /// How long a reader may leave as many unread, until it is cut.
    pub slow: Duration,
}

/// One event, on the wire.
pub fn frame(id: impl Display, event: &str, data: &impl Serialize) -> Result<String> {
    let data = serde_json::to_string(data).map_err(Error::internal)?;
    // JSON holds no line feed that is not escaped.
    Ok(format!("id: {id}\nevent: {event}\ndata: {data}\n\n"))
}

/// Sends frames until there are no more, the reader goes or does not read, or the process stops.
pub fn answer(app: App, patience: Patience, frames: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    let (sender, receiver) = mpsc::channel(patience.waiting);
    tokio::spawn(send(app, patience.slow, frames, sender));
    let chunks = stream::unfold(receiver, async |mut receiver: mpsc::Receiver<Bytes>| {
        let chunk = receiver.recv().await?;
        Some((Ok::<_, Infallible>(chunk), receiver))
    });
    let mut response = Body::from_stream(chunks).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    // Proxies that gather answers would keep events back.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

async fn send(app: App, slow: Duration, frames: impl Stream<Item = Bytes>, sender: mpsc::Sender<Bytes>) {
    let mut frames = pin!(frames);
    let mut chunk = Bytes::from(format!("retry: {RETRY_MS}\n\n"));
    loop {
        match tokio::time::timeout(slow, sender.send(chunk)).await {
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
            frame = frames.next() => match frame {
                Some(frame) => frame,
                None => return,
            },
        };
    }
}

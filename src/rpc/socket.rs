//! JSON-RPC over WebSocket: requests and notifications on one connection (XC-01, R-29).
//!
//! Messages are answered one after the other: while one is at work, the next stays in the socket, which is the
//! back-pressure. Notifications go out in between. Whoever does not read, or does not answer a ping, is cut; the number
//! of the last notification is the place to go on from.

use std::borrow::Cow;
use std::pin::Pin;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::http::{HeaderMap, Method};
use axum::response::Response;
use axum::routing::get;
use serde::Serialize;
use tokio::time::MissedTickBehavior;

use super::{Answers, Surroundings};
use crate::app::App;
use crate::auth::{Action, Area, Caller};
use crate::error::{Error, Result};
use crate::event::Notification;
use crate::event::hub::Turn;
use crate::event::stream::{self, Stream};
use crate::http::event::Follow;
use crate::http::extract::{MAX_BODY_BYTES, Query, header_once};
use crate::http::new_request_id;
use crate::http::route::{Needs, Route};
use crate::limit::OpenStream;

/// How often the token is looked at. A look is into memory.
const TOKEN_CHECK: Duration = Duration::from_secs(1);

/// How often a connection is asked whether it is alive.
const PING: Duration = Duration::from_secs(20);

/// How long nothing may be heard of a connection, not even the answer to a ping.
const IDLE: Duration = Duration::from_mins(1);

/// How long a client may leave what was sent to it unread.
const SLOW: Duration = Duration::from_secs(20);

/// How long the last word may take.
const GOODBYE: Duration = Duration::from_secs(2);

/// The routes of this file.
pub const ROUTES: &[Route] = &[Route::new(
    Method::GET,
    "/v1/rpc/ws",
    Needs::Capability,
    "Open a WebSocket for methods and, with `read` on `memory.events`, for notifications",
    || get(connect),
)
.asks::<Follow>()
.with_status(101)];

/// Why a connection is closed by this side.
#[derive(Debug)]
struct Close {
    code: u16,
    reason: Cow<'static, str>,
}

impl Close {
    fn new(code: u16, reason: impl Into<Cow<'static, str>>) -> Self {
        Self { code, reason: reason.into() }
    }

    /// How a stream that cannot be opened, or not go on, is told.
    fn of(error: &Error) -> Self {
        let code = match error {
            Error::Unauthorized(_) => 4401,
            Error::Forbidden(_) | Error::DatabaseMismatch | Error::TenantSuspended => 4403,
            Error::CursorExpired => 4410,
            Error::Unavailable { .. } | Error::RateLimited { .. } => 1013,
            Error::Internal(source) => {
                tracing::error!(error = %source, "a connection failed on a fault of ours");
                1011
            }
            _ => 4400,
        };
        Self::new(code, error.to_string())
    }
}

/// A message at work.
type Running = Pin<Box<dyn Future<Output = Option<Answers>> + Send>>;

async fn connect(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    Query(follow): Query<Follow>,
    upgrade: WebSocketUpgrade,
) -> Result<Response> {
    let after = header_once(&headers, "last-event-id")?.map(str::to_owned).or(follow.after);
    let turn = (app.events.take_turn()?, app.limits.open(caller.claims().tenant)?);
    let upgrade = upgrade.max_message_size(MAX_BODY_BYTES).max_frame_size(MAX_BODY_BYTES);
    Ok(upgrade.on_upgrade(move |socket| serve(app, caller, after, socket, turn)))
}

async fn serve(
    app: App,
    caller: Caller,
    after: Option<String>,
    mut socket: WebSocket,
    turn: (Turn, OpenStream),
) {
    let may_follow = caller.claims().rights.allows(Area::Events, Action::Read);
    let stream = if may_follow || after.is_some() {
        stream::open(&app, &caller, after.as_deref()).await.map(Some)
    } else {
        Ok(None)
    };
    let close = match stream {
        Ok(stream) => Connection { app, caller, stream, heard: Instant::now() }.run(&mut socket).await,
        Err(error) => Some(Close::of(&error)),
    };
    if let Some(Close { code, reason }) = close {
        let reason = Utf8Bytes::from(shorten(&reason));
        let goodbye = socket.send(Message::Close(Some(CloseFrame { code, reason })));
        // Whoever does not take it is gone, or will find out.
        let _ = tokio::time::timeout(GOODBYE, goodbye).await;
    }
    drop(turn);
}

/// A close frame has room for 123 bytes.
fn shorten(reason: &str) -> &str {
    &reason[..reason.floor_char_boundary(123)]
}

struct Connection {
    app: App,
    caller: Caller,
    stream: Option<Stream>,
    /// When something last came.
    heard: Instant,
}

impl Connection {
    /// Serves until one side ends. Gives the reason if it is this side.
    async fn run(mut self, socket: &mut WebSocket) -> Option<Close> {
        let app = self.app.clone();
        let mut running: Option<Running> = None;
        let mut ticks = tokio::time::interval(TOKEN_CHECK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut pinged = Instant::now();
        loop {
            let step = tokio::select! {
                () = app.stopped() => Err(Some(Close::new(1001, "the service is stopping: connect again"))),
                _ = ticks.tick() => self.tick(socket, running.is_some(), &mut pinged).await,
                frame = socket.recv(), if running.is_none() => self.take(frame).map(|message| running = message),
                answers = finish(&mut running) => match answers {
                    Some(answers) => send(socket, &answers).await,
                    None => Ok(()),
                },
                told = next(&mut self.stream, &app) => match told {
                    Ok(told) => notify(socket, &told).await,
                    Err(error) => Err(Some(Close::of(&error))),
                },
            };
            if let Err(close) = step {
                return close;
            }
        }
    }

    async fn tick(
        &mut self,
        socket: &mut WebSocket,
        is_busy: bool,
        pinged: &mut Instant,
    ) -> Result<(), Option<Close>> {
        self.caller =
            self.app.auth.readmit(&self.app, &self.caller).map_err(|error| Some(Close::of(&error)))?;
        // While a message is at work, nothing is read, and so nothing heard.
        if is_busy {
            self.heard = Instant::now();
        }
        if self.heard.elapsed() > IDLE {
            return Err(Some(Close::new(4408, "nothing was heard for a minute")));
        }
        if pinged.elapsed() < PING {
            return Ok(());
        }
        *pinged = Instant::now();
        send_message(socket, Message::Ping(axum::body::Bytes::new())).await
    }

    /// Puts a message to work. Fails when the connection ends: with a reason if it is this side's.
    fn take(
        &mut self,
        frame: Option<Result<Message, axum::Error>>,
    ) -> Result<Option<Running>, Option<Close>> {
        self.heard = Instant::now();
        match frame {
            Some(Ok(Message::Text(text))) => {
                let caller = self.app.auth.readmit(&self.app, &self.caller);
                self.caller = caller.map_err(|error| Some(Close::of(&error)))?;
                Ok(Some(Box::pin(work(self.app.clone(), self.caller.clone(), text))))
            }
            Some(Ok(Message::Binary(_))) => Err(Some(Close::new(1003, "messages are JSON in text frames"))),
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => Ok(None),
            Some(Ok(Message::Close(_))) | None => Err(None),
            Some(Err(error)) if error.to_string().contains("too long") => {
                Err(Some(Close::new(1009, format!("a message is larger than {MAX_BODY_BYTES} bytes"))))
            }
            Some(Err(error)) if error.to_string().contains("UTF-8") => {
                Err(Some(Close::new(1007, "a text frame is not UTF-8")))
            }
            Some(Err(_)) => Err(Some(Close::new(1002, "not the WebSocket protocol"))),
        }
    }
}

async fn work(app: App, caller: Caller, text: Utf8Bytes) -> Option<Answers> {
    let request_id = new_request_id();
    // Its place among the requests at once: those over HTTP wait for theirs as well, and are refused sooner.
    let _turn = app.requests.acquire().await.ok()?;
    let at =
        Surroundings { app: &app, caller: &caller, request_id: &request_id, key: None, is_admitted: false };
    super::answer(at, text.as_bytes()).await
}

/// Waits for the message at work, or for ever when there is none.
async fn finish(running: &mut Option<Running>) -> Option<Answers> {
    let Some(work) = running else { return std::future::pending().await };
    let answers = work.await;
    *running = None;
    answers
}

/// Waits for events, or for ever when they are not followed.
async fn next(stream: &mut Option<Stream>, app: &App) -> Result<Vec<Notification>> {
    match stream {
        Some(stream) => stream.next(app).await,
        None => std::future::pending().await,
    }
}

/// A request without an id, from this side.
#[derive(Serialize)]
struct Told<'a, P> {
    jsonrpc: &'static str,
    method: &'a str,
    params: &'a P,
}

async fn notify(socket: &mut WebSocket, told: &[Notification]) -> Result<(), Option<Close>> {
    for Notification { method, params, .. } in told {
        send(socket, &Told { jsonrpc: "2.0", method, params }).await?;
    }
    Ok(())
}

async fn send(socket: &mut WebSocket, value: &impl Serialize) -> Result<(), Option<Close>> {
    let text = serde_json::to_string(value).map_err(|error| Some(Close::of(&Error::internal(error))))?;
    send_message(socket, Message::Text(text.into())).await
}

async fn send_message(socket: &mut WebSocket, message: Message) -> Result<(), Option<Close>> {
    match tokio::time::timeout(SLOW, socket.send(message)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err(None),
        Err(_) => {
            tracing::info!("a WebSocket is not read, and is cut");
            Err(Some(Close::new(4429, "what was sent is not read: go on from the last number seen")))
        }
    }
}

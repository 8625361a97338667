//! JSON-RPC over WebSocket: requests and notifications on one connection (XC-01, R-29).
//!
//! Messages are answered one after the other: while one is at work, the next stays in the socket, which is the
//! back-pressure. Notifications go out in between, one at a time: they are read by a task of their own, so that nothing
//! that happens on the connection makes it begin anew, and a slow reader keeps no connection to the database. Whoever
//! does not read, or does not answer a ping, is cut; the number of the last notification is the place to go on from.

use std::pin::Pin;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::http::{HeaderMap, Method};
use axum::response::Response;
use axum::routing::get;
use futures_util::SinkExt;
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

use super::close::Close;
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

/// How often a connection is asked whether it is alive, while it may be silent.
const PINGS: u32 = 3;

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
    let open = app.limits.open(caller.claims().tenant)?;
    let turn = app.events.take_turn()?;
    let upgrade = upgrade.max_message_size(MAX_BODY_BYTES).max_frame_size(MAX_BODY_BYTES);
    Ok(upgrade.on_upgrade(move |socket| serve(app, caller, after, socket, (turn, open))))
}

async fn serve(
    app: App,
    caller: Caller,
    after: Option<String>,
    mut socket: WebSocket,
    (turn, _open): (Turn, OpenStream),
) {
    let may_follow = caller.claims().rights.allows(Area::Events, Action::Read);
    let opened = if may_follow || after.is_some() {
        let stream = stream::open(&app, &caller, after.as_deref(), turn).await;
        stream.map(|stream| (Some(follow(app.clone(), stream)), None))
    } else {
        Ok((None, Some(turn)))
    };
    let close = match opened {
        Ok((told, turn)) => {
            let connection = Connection { app, caller, told, _turn: turn, heard: Instant::now() };
            connection.run(&mut socket).await
        }
        Err(error) => Some(Close::of(&error)),
    };
    if let Some(close) = close {
        let goodbye = socket.send(Message::Close(Some(close.frame())));
        // Whoever does not take it is gone, or will find out.
        let _ = tokio::time::timeout(GOODBYE, goodbye).await;
    }
}

/// Reads a stream until it ends, or nobody takes what it tells.
fn follow(app: App, mut stream: Stream) -> mpsc::Receiver<Result<Notification>> {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        loop {
            let told = tokio::select! {
                () = sender.closed() => return,
                told = stream.next(&app) => told,
            };
            match told {
                Ok(told) => {
                    for told in told {
                        if sender.send(Ok(told)).await.is_err() {
                            return;
                        }
                    }
                }
                Err(error) => {
                    // If nobody takes it, the connection has ended already.
                    let _ = sender.send(Err(error)).await;
                    return;
                }
            }
        }
    });
    receiver
}

struct Connection {
    app: App,
    caller: Caller,
    /// What it follows, if it does.
    told: Option<mpsc::Receiver<Result<Notification>>>,
    /// Its place among the connections, unless what it follows has it.
    _turn: Option<Turn>,
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
                frame = socket.recv(), if running.is_none() => {
                    self.hear(socket, frame).await.map(|message| running = message)
                }
                answers = finish(&mut running) => match answers {
                    Some(answers) => self.send(socket, &answers).await,
                    None => Ok(()),
                },
                told = next(&mut self.told) => match told {
                    Some(Ok(told)) => self.tell(socket, &told).await,
                    Some(Err(error)) => Err(Some(Close::of(&error))),
                    None => Err(Some(Close::of(&Error::internal("a stream ended without an error")))),
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
        self.readmit()?;
        let idle = self.app.config.http.socket_idle;
        // While a message is at work, nothing is read, and so nothing heard.
        if is_busy {
            self.heard = Instant::now();
        }
        if self.heard.elapsed() > idle {
            let reason = format!("nothing was heard for {} seconds", idle.as_secs());
            return Err(Some(Close::new(4408, reason)));
        }
        if pinged.elapsed() < idle / PINGS {
            return Ok(());
        }
        *pinged = Instant::now();
        self.send_message(socket, Message::Ping(axum::body::Bytes::new())).await
    }

    /// Looks whether the token still stands.
    fn readmit(&mut self) -> Result<(), Option<Close>> {
        let caller = self.app.auth.readmit(&self.app, &self.caller);
        self.caller = caller.map_err(|error| Some(Close::of(&error)))?;
        Ok(())
    }

    /// Takes what came. What the protocol answers by itself goes out first: were the next ping read before, the answers
    /// to whoever does not read them would pile up.
    async fn hear(
        &mut self,
        socket: &mut WebSocket,
        frame: Option<Result<Message, axum::Error>>,
    ) -> Result<Option<Running>, Option<Close>> {
        match &frame {
            Some(Ok(Message::Ping(_))) => self.in_time(socket.flush()).await?,
            Some(Ok(Message::Close(_))) => {
                // The connection ends either way.
                let _ = tokio::time::timeout(GOODBYE, socket.flush()).await;
            }
            _ => {}
        }
        self.take(frame)
    }

    /// Puts a message to work. Fails when the connection ends: with a reason if it is this side's.
    fn take(
        &mut self,
        frame: Option<Result<Message, axum::Error>>,
    ) -> Result<Option<Running>, Option<Close>> {
        self.heard = Instant::now();
        match frame {
            Some(Ok(Message::Text(text))) => {
                self.readmit()?;
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

    /// Sends an event, if the token still stands: it was read a while ago when the client is slow.
    async fn tell(&mut self, socket: &mut WebSocket, told: &Notification) -> Result<(), Option<Close>> {
        self.readmit()?;
        self.send(socket, &Told { jsonrpc: "2.0", method: told.method, params: &told.params }).await
    }

    async fn send(&mut self, socket: &mut WebSocket, value: &impl Serialize) -> Result<(), Option<Close>> {
        let text = serde_json::to_string(value).map_err(|error| Some(Close::of(&Error::internal(error))))?;
        self.send_message(socket, Message::Text(text.into())).await
    }

    async fn send_message(&mut self, socket: &mut WebSocket, message: Message) -> Result<(), Option<Close>> {
        self.in_time(socket.send(message)).await
    }

    /// Waits until something is sent, as long as a client may be slow.
    async fn in_time(
        &mut self,
        sending: impl Future<Output = Result<(), axum::Error>>,
    ) -> Result<(), Option<Close>> {
        let start = Instant::now();
        match tokio::time::timeout(self.app.config.http.socket_slow, sending).await {
            Ok(Ok(())) => {
                // Meanwhile nothing was read, and so nothing heard.
                self.heard += start.elapsed();
                Ok(())
            }
            Ok(Err(_)) => Err(None),
            Err(_) => {
                tracing::info!("a WebSocket is not read, and is cut");
                Err(Some(Close::new(4429, "what was sent is not read: go on from the last number seen")))
            }
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

/// Waits for an event, or for ever when they are not followed.
async fn next(told: &mut Option<mpsc::Receiver<Result<Notification>>>) -> Option<Result<Notification>> {
    match told {
        Some(told) => told.recv().await,
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

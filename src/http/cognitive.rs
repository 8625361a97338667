//! Cognitive sessions over REST (XB-61 to XB-72).

use axum::extract::State;
use axum::http::Method;
use axum::routing::{get, post};

use super::extract::{Json, Path, Query};
use super::once::Once;
use super::route::{Needs, Route};
use crate::app::App;
use crate::auth::{Action, Area, Caller};
use crate::cognitive::close::{self, Close, Closed};
use crate::cognitive::context::{self, ContextQuery, SessionContext};
use crate::cognitive::decision::{self, Decide, DecisionReply};
use crate::cognitive::interaction::{self, Interact, InteractionReply};
use crate::cognitive::read::{self, SessionPage, SessionQuery, Timeline, TimelineQuery};
use crate::cognitive::thought::{self, Think, ThoughtReply};
use crate::cognitive::{self, SessionReply, Start};
use crate::error::Result;
use crate::idempotency::Answer;

const READ: Needs = Needs::Right(Area::Cognitive, Action::Read);
const WRITE: Needs = Needs::Right(Area::Cognitive, Action::Write);

/// Where sessions are closed, which may take longer than other requests.
pub const CLOSE: &str = "/v1/memory/cognitive/session/{id}/close";

/// The routes of this file.
pub const ROUTES: &[Route] = &[
    Route::new(
        Method::POST,
        "/v1/memory/cognitive/session",
        WRITE,
        "Start a session: the record of an agent's task",
        || post(start),
    )
    .takes::<Start>()
    .gives::<SessionReply>()
    .once(),
    Route::new(
        Method::POST,
        "/v1/memory/cognitive/thought",
        WRITE,
        "Write down a thought in an active session",
        || post(think),
    )
    .takes::<Think>()
    .gives::<ThoughtReply>()
    .once(),
    Route::new(
        Method::POST,
        "/v1/memory/cognitive/decision",
        WRITE,
        "Write down a decision in an active session",
        || post(decide),
    )
    .takes::<Decide>()
    .gives::<DecisionReply>()
    .once(),
    Route::new(
        Method::POST,
        "/v1/memory/cognitive/interaction",
        WRITE,
        "Write down an interaction in an active session",
        || post(interact),
    )
    .takes::<Interact>()
    .gives::<InteractionReply>()
    .once(),
    Route::new(Method::GET, "/v1/memory/cognitive/sessions", READ, "List sessions, newest first", || {
        get(list)
    })
    .asks::<SessionQuery>()
    .gives::<SessionPage>(),
    Route::new(Method::GET, "/v1/memory/cognitive/session/{id}", READ, "Get a session", || get(find))
        .gives::<SessionReply>(),
    Route::new(
        Method::GET,
        "/v1/memory/cognitive/session/{id}/timeline",
        READ,
        "The entries of a session, in the order in which they were written down",
        || get(timeline),
    )
    .asks::<TimelineQuery>()
    .gives::<Timeline>(),
    Route::new(
        Method::GET,
        "/v1/memory/cognitive/session/{id}/context",
        READ,
        "What an agent needs to go on, as text for a prompt and in its parts. Slots also need `read` on \
         `memory.working`, records `read` on `memory.durable`; else they are left out",
        || get(context),
    )
    .asks::<ContextQuery>()
    .gives::<SessionContext>(),
    Route::new(
        Method::POST,
        CLOSE,
        WRITE,
        "Close a session. To consolidate also needs `write` on `memory.durable`, to settle slots rights on \
         `memory.working`",
        || post(close),
    )
    .takes::<Close>()
    .gives::<Closed>()
    .once(),
];

async fn start(State(app): State<App>, caller: Caller, once: Once<Start>) -> Result<Answer<SessionReply>> {
    cognitive::start(&app, &caller, once.body, once.key).await
}

async fn think(State(app): State<App>, caller: Caller, once: Once<Think>) -> Result<Answer<ThoughtReply>> {
    thought::think(&app, &caller, once.body, once.key).await
}

async fn decide(State(app): State<App>, caller: Caller, once: Once<Decide>) -> Result<Answer<DecisionReply>> {
    decision::decide(&app, &caller, once.body, once.key).await
}

async fn interact(
    State(app): State<App>,
    caller: Caller,
    once: Once<Interact>,
) -> Result<Answer<InteractionReply>> {
    interaction::interact(&app, &caller, once.body, once.key).await
}

async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<SessionQuery>,
) -> Result<Json<SessionPage>> {
    read::list(&app, &caller, &query).await.map(Json)
}

async fn find(State(app): State<App>, caller: Caller, Path(id): Path<String>) -> Result<Json<SessionReply>> {
    read::get(&app, &caller, &id).await.map(Json)
}

async fn timeline(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<TimelineQuery>,
) -> Result<Json<Timeline>> {
    read::timeline(&app, &caller, &id, &query).await.map(Json)
}

async fn context(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<ContextQuery>,
) -> Result<Json<SessionContext>> {
    context::context(&app, &caller, &id, &query).await.map(Json)
}

async fn close(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    once: Once<Close>,
) -> Result<Answer<Closed>> {
    close::close(&app, &caller, &id, once.body, once.key).await
}

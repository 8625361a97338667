//! Candidates and semantic writes over REST.

use axum::extract::State;
use axum::http::Method;
use axum::routing::{get, post};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::extract::{Json, Path, Query};
use super::once::Once;
use super::route::{Needs, Route};
use crate::app::App;
use crate::auth::{Action, Area, Caller};
use crate::candidate::read::{self, CandidateList, CandidatePage};
use crate::candidate::review::{self, Decide, Decided, Edit, Merge, Review};
use crate::candidate::semantic::{SemanticWrite, SemanticWritten};
use crate::candidate::{Candidate, CandidateStatus, write};
use crate::error::{Error, Result};
use crate::idempotency::Answer;
use crate::memory::read::{parse, some};
use crate::memory::{Category, Scope};
use crate::page::given;

const READ: Needs = Needs::Right(Area::Candidates, Action::Read);
const WRITE: Needs = Needs::Right(Area::Candidates, Action::Write);
const REVIEW: Needs = Needs::Right(Area::Candidates, Action::Review);
const REVIEW_AND_WRITE: Needs =
    Needs::Rights(&[(Area::Candidates, Action::Review), (Area::Durable, Action::Write)]);

/// The routes of this file.
pub const ROUTES: &[Route] = &[
    Route::new(
        Method::POST,
        "/v1/memory/semantic_write",
        WRITE,
        "Propose a record with its meaning; the service decides. `accept_active` also needs `write` on `memory.durable`",
        || post(semantic_write),
    )
    .takes::<SemanticWrite>()
    .gives::<SemanticWritten>()
    .once(),
    Route::new(Method::GET, "/v1/memory/candidates", READ, "List candidates, newest first", || get(list))
        .asks::<CandidateQuery>()
        .gives::<CandidatePage>(),
    Route::new(Method::GET, "/v1/memory/candidates/{id}", READ, "Get a candidate", || get(find))
        .gives::<CandidateReply>(),
    Route::new(
        Method::POST,
        "/v1/memory/candidates/{id}/decide",
        REVIEW,
        "Approve, reject or expire a candidate. To approve also needs `write` on `memory.durable`",
        || post(decide),
    )
    .takes::<Decide>()
    .gives::<Decided>()
    .once(),
    Route::new(
        Method::POST,
        "/v1/memory/candidates/{id}/approve",
        REVIEW_AND_WRITE,
        "Make a candidate an active record",
        || post(approve),
    )
    .takes::<Review>()
    .gives::<Decided>()
    .once(),
    Route::new(
        Method::POST,
        "/v1/memory/candidates/{id}/reject",
        REVIEW,
        "Reject a candidate; machines do not propose it again",
        || post(reject),
    )
    .takes::<Review>()
    .gives::<Decided>()
    .once(),
    Route::new(
        Method::POST,
        "/v1/memory/candidates/{id}/edit_and_approve",
        REVIEW_AND_WRITE,
        "Make a candidate an active record with another text",
        || post(edit_and_approve),
    )
    .takes::<Edit>()
    .gives::<Decided>()
    .once(),
    Route::new(
        Method::POST,
        "/v1/memory/candidates/{id}/merge",
        REVIEW,
        "Merge a candidate into a record (also needs `write` on `memory.durable`) or another candidate",
        || post(merge),
    )
    .takes::<Merge>()
    .gives::<Decided>()
    .once(),
    Route::new(
        Method::POST,
        "/v1/memory/candidates/{id}/suppress_similar",
        REVIEW,
        "Reject a candidate, and what is like it from now on",
        || post(suppress_similar),
    )
    .takes::<Review>()
    .gives::<Decided>()
    .once(),
];

/// Which candidates to list, as a query string.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CandidateQuery {
    /// Only this scope, written `kind:key`. May be repeated.
    #[serde(default)]
    pub scope: Vec<String>,
    /// Only this category. May be repeated.
    #[serde(default)]
    pub category: Vec<Category>,
    /// Only this status. May be repeated.
    #[serde(default)]
    pub status: Vec<CandidateStatus>,
    /// How many a page holds: 1 to 100, 20 unless given.
    #[serde(default, deserialize_with = "given")]
    pub limit: Option<String>,
    /// Where the page before ended.
    #[serde(default, deserialize_with = "given")]
    pub cursor: Option<String>,
}

/// A candidate.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct CandidateReply {
    /// The candidate.
    pub candidate: Candidate,
}

async fn semantic_write(
    State(app): State<App>,
    caller: Caller,
    once: Once<SemanticWrite>,
) -> Result<Answer<SemanticWritten>> {
    let Once { body: new, name, .. } = once;
    write::semantic_write_once(&app, &caller, new, name, "/v1/memory/semantic_write").await
}

async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<CandidateQuery>,
) -> Result<Json<CandidatePage>> {
    let scopes: Vec<Scope> = query.scope.iter().map(|scope| parse("scope", scope)).collect::<Result<_>>()?;
    let wanted = CandidateList {
        scopes: some(scopes),
        categories: some(query.category),
        statuses: some(query.status),
        limit: query.limit.as_deref().map(|limit| parse("limit", limit)).transpose()?,
        cursor: query.cursor,
    };
    Ok(Json(read::list(&app, &caller, &wanted).await?))
}

async fn find(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<CandidateReply>> {
    let candidate = read::find(&app, &caller, &id).await?.ok_or(Error::NotFound("candidate"))?;
    Ok(Json(CandidateReply { candidate }))
}

async fn decide(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    once: Once<Decide>,
) -> Result<Answer<Decided>> {
    review::decide(&app, &caller, &id, once.body, once.key).await
}

async fn approve(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    once: Once<Review>,
) -> Result<Answer<Decided>> {
    review::approve(&app, &caller, &id, once.body, once.key).await
}

async fn reject(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    once: Once<Review>,
) -> Result<Answer<Decided>> {
    review::reject(&app, &caller, &id, once.body, once.key).await
}

async fn edit_and_approve(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    once: Once<Edit>,
) -> Result<Answer<Decided>> {
    review::edit_and_approve(&app, &caller, &id, once.body, once.key).await
}

async fn merge(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    once: Once<Merge>,
) -> Result<Answer<Decided>> {
    review::merge(&app, &caller, &id, once.body, once.key).await
}

async fn suppress_similar(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    once: Once<Review>,
) -> Result<Answer<Decided>> {
    review::suppress_similar(&app, &caller, &id, once.body, once.key).await
}

//! Durable memory over REST.

use axum::extract::State;
use axum::http::header::{ETAG, IF_MATCH};
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, patch, post};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::extract::{Json, Path, Query, header_once};
use super::json;
use super::once::Once;
use super::route::{Needs, Route};
use crate::app::App;
use crate::auth::{Action, Area, Caller};
use crate::error::{Error, Result};
use crate::idempotency::Answer;
use crate::memory::context::{self, ContextReply, ContextRequest};
use crate::memory::forget::{self, Deleted, Forget, Forgotten};
use crate::memory::history::{self, HistoryQuery, VersionPage};
use crate::memory::patch::{self as patching, Patch};
use crate::memory::read::{self, Get, ListQuery, RecordPage, RecordReply};
use crate::memory::remember::{self, BatchReply, Remember, RememberBatch, Remembered};
use crate::memory::search::{self, Search, SearchReply};

const READ: Needs = Needs::Right(Area::Durable, Action::Read);
const WRITE: Needs = Needs::Right(Area::Durable, Action::Write);
const DELETE: Needs = Needs::Right(Area::Durable, Action::Delete);

/// Where batches go, which take longer than other requests.
pub const BATCH: &str = "/v1/memory/items/batch";

/// The routes of this file.
pub const ROUTES: &[Route] = &[
    Route::new(
        Method::POST,
        "/v1/memory/items",
        WRITE,
        "Remember a record, or update the one with its key",
        || post(remember),
    )
    .takes::<Remember>()
    .gives::<Remembered>()
    .with_status(201)
    .once(),
    Route::new(Method::POST, BATCH, WRITE, "Remember up to 256 records", || post(remember_batch))
        .takes::<RememberBatch>()
        .gives::<BatchReply>()
        .once(),
    Route::new(Method::GET, "/v1/memory/items", READ, "List records, newest first", || get(list))
        .asks::<ListQuery>()
        .gives::<RecordPage>(),
    Route::new(Method::GET, "/v1/memory/items/{id}", READ, "Get a record", || get(get_item))
        .gives::<RecordReply>(),
    Route::new(Method::PATCH, "/v1/memory/items/{id}", WRITE, "Correct a record", || patch(patch_item))
        .takes::<Patch>()
        .gives::<RecordReply>()
        .if_match(),
    Route::new(
        Method::DELETE,
        "/v1/memory/items/{id}",
        DELETE,
        "Forget a record; it can be restored for 30 days",
        || delete(delete_item),
    )
    .gives::<Deleted>(),
    Route::new(Method::POST, "/v1/memory/items/{id}/restore", WRITE, "Take back what was forgotten", || {
        post(restore)
    })
    .takes::<Nothing>()
    .gives::<RecordReply>()
    .once(),
    Route::new(
        Method::GET,
        "/v1/memory/items/{id}/history",
        READ,
        "The versions of a record, newest first",
        || get(history),
    )
    .asks::<HistoryQuery>()
    .gives::<VersionPage>(),
    Route::new(Method::POST, "/v1/memory/search", READ, "Find records by meaning and by words", || {
        post(search)
    })
    .takes::<Search>()
    .gives::<SearchReply>(),
    Route::new(Method::POST, "/v1/memory/context", READ, "Search, and get text for a prompt", || {
        post(context)
    })
    .takes::<ContextRequest>()
    .gives::<ContextReply>(),
    Route::new(Method::POST, "/v1/memory/forget", DELETE, "Forget records by id, by key or by scope", || {
        post(forget)
    })
    .takes::<Forget>()
    .gives::<Forgotten>()
    .once(),
];

/// An empty object; no body means the same.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// [`RememberBatch`] as far as it must be well formed for all: an item that does not fit is its own error.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawBatch {
    items: Vec<Box<RawValue>>,
}

async fn remember(
    State(app): State<App>,
    caller: Caller,
    once: Once<Remember>,
) -> Result<Answer<Remembered>> {
    let Once { body: new, name, .. } = once;
    Box::pin(remember::remember_once(&app, &caller, new, name, "/v1/memory/items")).await
}

async fn remember_batch(
    State(app): State<App>,
    caller: Caller,
    once: Once<RawBatch>,
) -> Result<Answer<BatchReply>> {
    let items = once.body.items.iter().map(|item| json::decode::<Remember>(item.get().as_bytes())).collect();
    remember::remember_batch(&app, &caller, items, once.key).await
}

async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> Result<Json<RecordPage>> {
    Ok(Json(read::list_asked(&app, &caller, query).await?))
}

async fn get_item(State(app): State<App>, caller: Caller, Path(id): Path<String>) -> Result<Response> {
    let wanted = Get { memory_id: Some(id), scope: None, key: None, namespace: None, include_deleted: false };
    let record = read::find(&app, &caller, &wanted).await?.ok_or(Error::NotFound("memory"))?;
    Ok(tagged(RecordReply { record }))
}

async fn patch_item(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
    Json(patch): Json<Patch>,
) -> Result<Response> {
    let if_match = header_once(&headers, IF_MATCH.as_str())?;
    Ok(tagged(patching::patch(&app, &caller, &id, patch, if_match).await?))
}

fn tagged(reply: RecordReply) -> Response {
    let tag = HeaderValue::try_from(format!("\"{}\"", reply.record.version));
    let mut response = Json(reply).into_response();
    if let Ok(tag) = tag {
        response.headers_mut().insert(ETAG, tag);
    }
    response
}

async fn delete_item(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<Deleted>> {
    Ok(Json(forget::delete(&app, &caller, &id).await?))
}

async fn restore(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    once: Once<Nothing>,
) -> Result<Answer<RecordReply>> {
    forget::restore(&app, &caller, &id, once.key).await
}

async fn history(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<HistoryQuery>,
) -> Result<Json<VersionPage>> {
    Ok(Json(history::history(&app, &caller, &id, &query).await?))
}

async fn search(
    State(app): State<App>,
    caller: Caller,
    Json(search): Json<Search>,
) -> Result<Json<SearchReply>> {
    Ok(Json(search::search(&app, &caller, &search).await?))
}

async fn context(
    State(app): State<App>,
    caller: Caller,
    Json(request): Json<ContextRequest>,
) -> Result<Json<ContextReply>> {
    Ok(Json(context::context(&app, &caller, request).await?))
}

async fn forget(State(app): State<App>, caller: Caller, once: Once<Forget>) -> Result<Answer<Forgotten>> {
    forget::forget(&app, &caller, once.body, once.key).await
}

//! The JSON-RPC door: the memory protocol over HTTP and WebSocket, on the same operations as REST.
//!
//! - [`method`] is the one table of methods; [`frame`] reads what comes; [`answer()`] is the same for both transports.
//! - What a request is refused with is the same error as over REST, with the number that JSON-RPC gives it.

pub mod candidate;
mod close;
pub mod document;
mod error;
pub mod frame;
pub mod method;
pub mod of_candidate;
pub mod post;
pub mod record;
pub mod socket;

use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

pub use error::{ErrorData, RpcError, code};

use self::frame::{BadRequest, Id, MAX_BATCH, Message, Request, Unreadable};
use self::method::Call;
use crate::app::App;
use crate::auth::Caller;
use crate::error::Error;

/// How long one request may take, on any transport.
const DEADLINE: Duration = Duration::from_secs(10);

/// How long the requests of a batch may take together. Those that are left then are refused, so that the others are
/// answered before the connection gives up.
const BATCH_DEADLINE: Duration = Duration::from_secs(50);

/// A request as it is sent (XC-03), for the documents.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "RpcRequest", deny_unknown_fields)]
pub struct RequestShape {
    /// Always `2.0`.
    pub jsonrpc: String,
    /// The name of a method.
    pub method: String,
    /// Its parameters, by name.
    pub params: Option<serde_json::Map<String, serde_json::Value>>,
    /// What the answer is to carry. Without it, the request is a notification and is not answered.
    pub id: Option<Id>,
}

/// What one HTTP request or one frame holds, for the documents.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "RpcMessage", untagged)]
pub enum MessageShape {
    /// One request.
    One(RequestShape),
    /// A batch of 1 to 50.
    Many(Vec<RequestShape>),
}

/// One answer.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RpcAnswer")]
pub struct Answer {
    /// Always `2.0`.
    jsonrpc: &'static str,
    /// What the method gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    result: Option<Box<RawValue>>,
    /// Why it was refused, or failed; there if and only if the result is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<RpcError>,
    /// The request's id.
    id: Id,
}

/// What a message is answered with.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RpcAnswers")]
#[serde(untagged)]
pub enum Answers {
    /// One answer.
    One(Answer),
    /// Those of a batch, in the order of its requests.
    Many(Vec<Answer>),
}

/// In which surroundings a message came.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// The service.
    pub app: &'a App,
    /// Who sent it.
    pub caller: &'a Caller,
    /// What to name when asking for help.
    pub request_id: &'a str,
    /// The `Idempotency-Key` of the HTTP request.
    pub key: Option<&'a str>,
    /// Whether the message counts among its tenant's requests already: as one, for the first request in it.
    pub is_admitted: bool,
}

/// Does what a message asks. Nothing is answered when all in it are notifications.
///
/// The requests of a batch run one after the other, so that a later one sees what an earlier one did.
pub async fn answer(at: Surroundings<'_>, message: &[u8]) -> Option<Answers> {
    match frame::read(message) {
        Err(Unreadable::Broken(reason)) => {
            Some(Answers::One(Answer::refused(Id::null(), RpcError::parse_error(&reason, at.request_id))))
        }
        Err(Unreadable::BatchSize(actual)) => {
            let rule = format!("a batch holds 1 to {MAX_BATCH} requests");
            let error = Error::over_limit("", rule, MAX_BATCH as u64, actual as u64);
            Some(Answers::One(Answer::refused(Id::null(), RpcError::invalid_request(&error, at.request_id))))
        }
        Ok(Message::Single(request)) => {
            answer_one(at, request, at.is_admitted, DEADLINE).await.map(Answers::One)
        }
        Ok(Message::Batch(_)) if at.key.is_some() => {
            let error =
                Error::invalid("idempotency-key", "is for one request: give `idempotency_key` in params");
            Some(Answers::One(Answer::refused(Id::null(), RpcError::invalid_request(&error, at.request_id))))
        }
        Ok(Message::Batch(requests)) => {
            let start = Instant::now();
            let mut answers = Vec::with_capacity(requests.len());
            for (place, request) in requests.into_iter().enumerate() {
                let left = BATCH_DEADLINE.saturating_sub(start.elapsed()).min(DEADLINE);
                answers.extend(answer_one(at, request, at.is_admitted && place == 0, left).await);
            }
            Some(Answers::Many(answers))
                .filter(|answers| !matches!(answers, Answers::Many(all) if all.is_empty()))
        }
    }
}

async fn answer_one(
    at: Surroundings<'_>,
    request: Result<Request, BadRequest>,
    is_admitted: bool,
    deadline: Duration,
) -> Option<Answer> {
    let counted = if is_admitted { Ok(()) } else { at.app.limits.count(at.caller.claims().tenant) };
    let Request { id, method: name, params } = match request {
        Ok(request) => request,
        Err(bad) => {
            return Some(Answer::refused(bad.id, RpcError::invalid_request(&bad.error, at.request_id)));
        }
    };
    let result = match (counted, method::find(&name)) {
        (Err(error), _) => Err(RpcError::of(&error, "request", at.request_id)),
        (_, None) => Err(RpcError::no_such_method(&name, at.request_id)),
        (_, Some(method)) => {
            let (app, caller) = (at.app.clone(), at.caller.clone());
            let call = Call { app, caller, params, key: at.key.map(str::to_owned) };
            let slow = || Err(Error::unavailable("the service, which is slow at the moment,"));
            let result = match deadline {
                Duration::ZERO => slow(),
                _ => tokio::time::timeout(deadline, call.run(method)).await.unwrap_or_else(|_| slow()),
            };
            let outcome = result.as_ref().map_or_else(|error| error.code().to_owned(), |_| "ok".to_owned());
            metrics::counter!("memtide_rpc_requests_total", "method" => method.name, "outcome" => outcome)
                .increment(1);
            result.map_err(|error| RpcError::of(&error, method.name, at.request_id))
        }
    };
    let id = id?;
    Some(match result {
        Ok(result) => Answer { jsonrpc: "2.0", result: Some(result), error: None, id },
        Err(error) => Answer::refused(id, error),
    })
}

impl Answer {
    /// The answer to what is refused.
    pub fn refused(id: Id, error: RpcError) -> Self {
        Self { jsonrpc: "2.0", result: None, error: Some(error), id }
    }
}

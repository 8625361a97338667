//! The methods of candidates, and the semantic write.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::method::{Call, Method, Running, reply};
use super::of_candidate::OfCandidate;
use crate::auth::{Action, Area};
use crate::candidate::read::{self, CandidateList, CandidatePage};
use crate::candidate::review::{self, Decide, Decided, Edit, Merge, Review};
use crate::candidate::semantic::{SemanticWrite, SemanticWritten};
use crate::candidate::{Candidate, write};
use crate::error::Result;
use crate::http::route::Needs;
use crate::idempotency::Key;

const READ: Needs = Needs::Right(Area::Candidates, Action::Read);
const WRITE: Needs = Needs::Right(Area::Candidates, Action::Write);
const REVIEW: Needs = Needs::Right(Area::Candidates, Action::Review);

const REVIEW_AND_WRITE: Needs =
    Needs::Rights(&[(Area::Candidates, Action::Review), (Area::Durable, Action::Write)]);

/// The methods of this file.
pub const METHODS: &[Method] = &[
    Method::new::<CandidateList, CandidatePage>(
        "memory/candidates/list",
        READ,
        "List candidates and dormant review records, newest first",
        list,
    ),
    Method::new::<GetParams, FoundCandidate>("memory/candidates/get", READ, "Get a candidate", get),
    Method::new::<OfCandidate<Decide>, Decided>(
        "memory/candidates/decide",
        REVIEW,
        "Approve, reject or expire a candidate",
        decide,
    ),
    Method::new::<OfCandidate<Review>, Decided>(
        "memory/candidates/approve",
        REVIEW_AND_WRITE,
        "Make a candidate an active record",
        approve,
    ),
    Method::new::<OfCandidate<Review>, Decided>(
        "memory/candidates/reject",
        REVIEW,
        "Reject a candidate",
        reject,
    ),
    Method::new::<OfCandidate<Edit>, Decided>(
        "memory/candidates/edit_and_approve",
        REVIEW_AND_WRITE,
        "Make a candidate an active record with another text",
        edit_and_approve,
    ),
    Method::new::<OfCandidate<Merge>, Decided>(
        "memory/candidates/merge",
        REVIEW,
        "Merge a candidate into an existing record or another candidate",
        merge,
    ),
    Method::new::<OfCandidate<Review>, Decided>(
        "memory/candidates/suppress_similar",
        REVIEW,
        "Reject a candidate, and similar suggestions from now on",
        suppress_similar,
    ),
    Method::new::<SemanticWrite, SemanticWritten>(
        "memory/semantic_write",
        WRITE,
        "Propose a record with its meaning; the service decides",
        semantic_write,
    ),
];

/// Which candidate.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemoryCandidateGetParams")]
#[serde(deny_unknown_fields)]
pub struct GetParams {
    /// The candidate.
    pub candidate_id: String,
}

/// The candidate; empty when there is none.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemoryCandidateGetResult")]
pub struct FoundCandidate {
    /// The candidate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate: Option<Candidate>,
}

fn list(call: Call) -> Running {
    Box::pin(async move {
        let wanted: CandidateList = call.params()?;
        reply(&read::list(&call.app, &call.caller, &wanted).await?)
    })
}

fn get(call: Call) -> Running {
    Box::pin(async move {
        let wanted: GetParams = call.params()?;
        let candidate = read::find(&call.app, &call.caller, &wanted.candidate_id).await?;
        reply(&FoundCandidate { candidate })
    })
}

fn decide(call: Call) -> Running {
    Box::pin(async move {
        let (OfCandidate { candidate_id, body }, key) = once::<Decide>(&call, "memory/candidates/decide")?;
        reply(&review::decide(&call.app, &call.caller, &candidate_id, body, key).await?.body)
    })
}

fn approve(call: Call) -> Running {
    Box::pin(async move {
        let (OfCandidate { candidate_id, body }, key) = once::<Review>(&call, "memory/candidates/approve")?;
        reply(&review::approve(&call.app, &call.caller, &candidate_id, body, key).await?.body)
    })
}

fn reject(call: Call) -> Running {
    Box::pin(async move {
        let (OfCandidate { candidate_id, body }, key) = once::<Review>(&call, "memory/candidates/reject")?;
        reply(&review::reject(&call.app, &call.caller, &candidate_id, body, key).await?.body)
    })
}

fn edit_and_approve(call: Call) -> Running {
    Box::pin(async move {
        let (OfCandidate { candidate_id, body }, key) =
            once::<Edit>(&call, "memory/candidates/edit_and_approve")?;
        reply(&review::edit_and_approve(&call.app, &call.caller, &candidate_id, body, key).await?.body)
    })
}

fn merge(call: Call) -> Running {
    Box::pin(async move {
        let (OfCandidate { candidate_id, body }, key) = once::<Merge>(&call, "memory/candidates/merge")?;
        reply(&review::merge(&call.app, &call.caller, &candidate_id, body, key).await?.body)
    })
}

fn suppress_similar(call: Call) -> Running {
    Box::pin(async move {
        let (OfCandidate { candidate_id, body }, key) =
            once::<Review>(&call, "memory/candidates/suppress_similar")?;
        reply(&review::suppress_similar(&call.app, &call.caller, &candidate_id, body, key).await?.body)
    })
}

/// The params of a decision, and its idempotency key.
fn once<T>(call: &Call, method: &'static str) -> Result<(OfCandidate<T>, Option<Key>)>
where
    T: DeserializeOwned + Serialize,
{
    let params: OfCandidate<T> = call.params()?;
    let key = call.key(None, method, &params)?;
    Ok((params, key))
}

fn semantic_write(call: Call) -> Running {
    Box::pin(async move {
        let mut new: SemanticWrite = call.params()?;
        let own = write::take_key(&mut new, "memory/semantic_write")?;
        let key = call.key(own, "memory/semantic_write", &new)?;
        reply(&write::semantic_write(&call.app, &call.caller, new, key).await?.body)
    })
}

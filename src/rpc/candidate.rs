//! The methods of candidates, and the semantic write.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::method::{Call, Method, Running, reply};
use crate::auth::{Action, Actor, Area};
use crate::candidate::read::{self, CandidateList, CandidatePage};
use crate::candidate::review::{self, Decide, Decided, Edit, Merge, Review};
use crate::candidate::semantic::{SemanticWrite, SemanticWritten};
use crate::candidate::word::Decision;
use crate::candidate::{Candidate, write};
use crate::http::route::Needs;

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
    Method::new::<DecideParams, Decided>(
        "memory/candidates/decide",
        REVIEW,
        "Approve, reject or expire a candidate",
        decide,
    ),
    Method::new::<ReviewParams, Decided>(
        "memory/candidates/approve",
        REVIEW_AND_WRITE,
        "Make a candidate an active record",
        approve,
    ),
    Method::new::<ReviewParams, Decided>("memory/candidates/reject", REVIEW, "Reject a candidate", reject),
    Method::new::<EditParams, Decided>(
        "memory/candidates/edit_and_approve",
        REVIEW_AND_WRITE,
        "Make a candidate an active record with another text",
        edit_and_approve,
    ),
    Method::new::<MergeParams, Decided>(
        "memory/candidates/merge",
        REVIEW,
        "Merge a candidate into an existing record or another candidate",
        merge,
    ),
    Method::new::<ReviewParams, Decided>(
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

/// Which decision about which candidate, and why.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemoryCandidateDecideParams")]
#[serde(deny_unknown_fields)]
pub struct DecideParams {
    /// The candidate.
    pub candidate_id: String,
    /// The decision.
    pub decision: Decision,
    /// Why: at most 1,024 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Taken from the token; what a client sends is replaced (PC-06).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
}

/// Which candidate, and why.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemoryCandidateReviewParams")]
#[serde(deny_unknown_fields)]
pub struct ReviewParams {
    /// The candidate.
    pub candidate_id: String,
    /// Why: at most 1,024 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Taken from the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
}

/// Which candidate, and what it is to say instead.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemoryCandidateEditParams")]
#[serde(deny_unknown_fields)]
pub struct EditParams {
    /// The candidate.
    pub candidate_id: String,
    /// The text: 1 to 65,536 bytes after trimming.
    pub edited_text: String,
    /// The value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_value: Option<Value>,
    /// Why: at most 1,024 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Taken from the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
}

/// Which candidate, and what it is to be merged into: exactly one target (XC-30).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemoryCandidateMergeParams")]
#[serde(deny_unknown_fields)]
pub struct MergeParams {
    /// The candidate.
    pub candidate_id: String,
    /// An active record of the same scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_memory_id: Option<String>,
    /// Another candidate of the same scope that is still pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_candidate_id: Option<String>,
    /// Why: at most 1,024 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Taken from the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
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
        let params: DecideParams = call.params()?;
        let key = call.key(None, "memory/candidates/decide", &params)?;
        let DecideParams { candidate_id: id, decision, reason, actor } = params;
        let decide = Decide { decision, reason, actor };
        reply(&review::decide(&call.app, &call.caller, &id, decide, key).await?.body)
    })
}

fn approve(call: Call) -> Running {
    Box::pin(async move {
        let params: ReviewParams = call.params()?;
        let key = call.key(None, "memory/candidates/approve", &params)?;
        let ReviewParams { candidate_id: id, reason, actor } = params;
        reply(&review::approve(&call.app, &call.caller, &id, Review { reason, actor }, key).await?.body)
    })
}

fn reject(call: Call) -> Running {
    Box::pin(async move {
        let params: ReviewParams = call.params()?;
        let key = call.key(None, "memory/candidates/reject", &params)?;
        let ReviewParams { candidate_id: id, reason, actor } = params;
        reply(&review::reject(&call.app, &call.caller, &id, Review { reason, actor }, key).await?.body)
    })
}

fn edit_and_approve(call: Call) -> Running {
    Box::pin(async move {
        let params: EditParams = call.params()?;
        let key = call.key(None, "memory/candidates/edit_and_approve", &params)?;
        let EditParams { candidate_id: id, edited_text, edited_value, reason, actor } = params;
        let edit = Edit { edited_text, edited_value, reason, actor };
        reply(&review::edit_and_approve(&call.app, &call.caller, &id, edit, key).await?.body)
    })
}

fn merge(call: Call) -> Running {
    Box::pin(async move {
        let params: MergeParams = call.params()?;
        let key = call.key(None, "memory/candidates/merge", &params)?;
        let MergeParams { candidate_id: id, target_memory_id, target_candidate_id, reason, actor } = params;
        let merge = Merge { target_memory_id, target_candidate_id, reason, actor };
        reply(&review::merge(&call.app, &call.caller, &id, merge, key).await?.body)
    })
}

fn suppress_similar(call: Call) -> Running {
    Box::pin(async move {
        let params: ReviewParams = call.params()?;
        let key = call.key(None, "memory/candidates/suppress_similar", &params)?;
        let ReviewParams { candidate_id: id, reason, actor } = params;
        reply(
            &review::suppress_similar(&call.app, &call.caller, &id, Review { reason, actor }, key)
                .await?
                .body,
        )
    })
}

fn semantic_write(call: Call) -> Running {
    Box::pin(async move {
        let mut new: SemanticWrite = call.params()?;
        let own = write::take_key(&mut new, "memory/semantic_write")?;
        let key = call.key(own, "memory/semantic_write", &new)?;
        reply(&write::semantic_write(&call.app, &call.caller, new, key).await?.body)
    })
}

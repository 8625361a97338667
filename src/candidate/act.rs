//! What reviewers can do to a candidate, and what that does to it in each state (PC-39). Pure.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::word::{CandidateStatus, Decision};
use super::{Candidate, Stored};
use crate::auth::Actor;
use crate::error::{Error, Result};
use crate::id::{CandidateId, MemoryId};
use crate::memory::Record;

/// What a decision left behind (PC-28).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemoryCandidateDecided")]
pub struct Decided {
    /// The candidate as it is now.
    pub candidate: Candidate,
    /// The record it became, or was merged into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<Record>,
}

/// Why something is decided.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemoryCandidateReview")]
#[serde(deny_unknown_fields)]
pub struct Review {
    /// Why: at most 1,024 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Taken from the token; what a client sends is replaced (PC-06).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
}

/// Which decision, and why.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemoryCandidateDecide")]
#[serde(deny_unknown_fields)]
pub struct Decide {
    /// The decision.
    pub decision: Decision,
    /// Why: at most 1,024 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Taken from the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
}

/// What a candidate is to say instead, when it is approved.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemoryCandidateEdit")]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// The text: 1 to 65,536 bytes after trimming.
    pub edited_text: String,
    /// The value; the old one does not fit the new text and goes if none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_value: Option<Value>,
    /// Why: at most 1,024 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Taken from the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
}

/// What a candidate is to be merged into: exactly one target (XC-30).
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemoryCandidateMerge")]
#[serde(deny_unknown_fields)]
pub struct Merge {
    /// An active record of the same scope; it gets the evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_memory_id: Option<String>,
    /// Another candidate of the same scope that is still pending; it gets the evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_candidate_id: Option<String>,
    /// Why: at most 1,024 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Taken from the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
}

/// What is done to a candidate.
pub enum Act {
    Approve(Option<Edit>),
    Reject,
    Expire,
    Merge(Target),
    Suppress,
}

/// What a candidate is merged into.
#[derive(Clone, Copy)]
pub enum Target {
    Memory(MemoryId),
    Candidate(CandidateId),
}

/// What an act does to a candidate in a status.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// It is decided.
    Decide,
    /// It was decided so already.
    Stay,
    /// It was rejected already; what is like it is suppressed from now on.
    OnlySuppress,
    /// It was decided otherwise.
    Refuse,
}

impl Act {
    /// Whether it makes or changes a record.
    pub fn changes_memory(&self) -> bool {
        matches!(self, Self::Approve(_) | Self::Merge(Target::Memory(_)))
    }

    /// What is written down when the reviewer gives no reason.
    pub fn usual_reason(&self) -> &'static str {
        match self {
            Self::Approve(None) => "approved",
            Self::Approve(Some(_)) => "edit_and_approved",
            Self::Reject => "rejected",
            Self::Expire => "expired",
            Self::Merge(_) => "merged_duplicate",
            Self::Suppress => "suppress_similar",
        }
    }

    /// PC-39: what was decided in the same way stays; any other move needs a pending state.
    fn step(&self, status: CandidateStatus, is_suppressing: bool) -> Step {
        match (self, status) {
            (_, status) if status.is_pending() => Step::Decide,
            (Self::Approve(None), CandidateStatus::Approved) | (Self::Reject, CandidateStatus::Rejected) => {
                Step::Stay
            }
            (Self::Suppress, CandidateStatus::Rejected) => Step::OnlySuppress,
            (Self::Suppress, CandidateStatus::AutoRejected) if is_suppressing => Step::Stay,
            _ => Step::Refuse,
        }
    }

    /// What it does to this candidate now, or why not.
    pub fn step_now(&self, candidate: &Stored, now: DateTime<Utc>) -> Result<Step> {
        let is_late = candidate.status.is_pending() && !candidate.is_open(now);
        let status = if is_late { CandidateStatus::Expired } else { candidate.status };
        match self.step(status, candidate.detail.suppress_similar) {
            Step::Refuse => Err(Error::NotPending(status.as_str())),
            step => Ok(step),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_decided_in_the_same_way_stays_and_any_other_move_is_refused_pc39() {
        let acts = [
            Act::Approve(None),
            Act::Reject,
            Act::Expire,
            Act::Suppress,
            Act::Merge(Target::Memory(MemoryId::new())),
            Act::Approve(Some(Edit {
                edited_text: String::new(),
                edited_value: None,
                reason: None,
                actor: None,
            })),
        ];
        for status in CandidateStatus::ALL {
            for (place, act) in acts.iter().enumerate() {
                let expected = match (place, status) {
                    _ if status.is_pending() => Step::Decide,
                    (0, CandidateStatus::Approved) | (1, CandidateStatus::Rejected) => Step::Stay,
                    (3, CandidateStatus::Rejected) => Step::OnlySuppress,
                    _ => Step::Refuse,
                };
                assert_eq!(act.step(status, false), expected, "{place} {status:?}");
            }
        }
        assert_eq!(Act::Suppress.step(CandidateStatus::AutoRejected, true), Step::Stay);
        assert_eq!(Act::Reject.step(CandidateStatus::AutoRejected, true), Step::Refuse);
    }
}

//! The candidate policy: from a proposal to a state (PC-34, PC-36, PC-37, XC-35). Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::score::{ScoreParts, score};
use super::semantic::SemanticFields;
use super::word::{
    CandidateStatus, Disposition, Durability, Explicitness, Intent, Relation, SensitivityHint,
};
use crate::error::{Error, Result};
use crate::memory::ScopeKind;

/// The version of these rules, kept with each verdict.
pub const VERSION: &str = "memory_policy_v1";

/// A tenant's thresholds and switches: `candidate_policy` in its settings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CandidatePolicy {
    /// Whether somebody reviews; else what is not sure enough is rejected.
    pub review_enabled: bool,
    /// From this score on a candidate may be approved unseen.
    pub auto_approve_min_score: f64,
    /// Up to this score a candidate is rejected unseen.
    pub auto_reject_max_score: f64,
    /// Whether what was said outright may be approved unseen.
    pub allow_explicit_auto_approve: bool,
    /// Whether what was only implied may be approved unseen.
    pub allow_implicit_auto_approve: bool,
    /// After how many days without a decision a candidate expires: 1 to 365.
    pub expire_after_days: u16,
}

impl Default for CandidatePolicy {
    fn default() -> Self {
        Self {
            review_enabled: false,
            auto_approve_min_score: 0.90,
            auto_reject_max_score: 0.20,
            allow_explicit_auto_approve: true,
            allow_implicit_auto_approve: false,
            expire_after_days: 30,
        }
    }
}

impl CandidatePolicy {
    /// Refuses thresholds out of range or in the wrong order.
    pub fn check(&self) -> Result<()> {
        let (reject, approve) = (self.auto_reject_max_score, self.auto_approve_min_score);
        if !(0.0..=1.0).contains(&reject) || !(0.0..=1.0).contains(&approve) || reject >= approve {
            let rule = "auto_reject_max_score must be below auto_approve_min_score, both from 0 to 1";
            return Err(Error::invalid("candidate_policy", rule));
        }
        if !(1..=365).contains(&self.expire_after_days) {
            return Err(Error::invalid("candidate_policy.expire_after_days", "must be 1 to 365"));
        }
        Ok(())
    }
}

/// How good the evidence is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceClass {
    /// A reviewer approved it.
    Approval,
    /// The user corrected something, in quoted words.
    DirectUserCorrection,
    /// The user said it, in quoted words.
    DirectUserAssertion,
    /// A summary says it.
    GeneratedSummary,
    /// Anything else.
    MissingOrWeak,
}

/// How a proposal came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Somebody wrote it down as a fact.
    Suggestion,
    /// It was found in a text that was sent to be captured: no threshold keeps it out (XD-16).
    Capture,
}

/// What the policy looks at.
#[derive(Debug, Clone, Copy)]
pub struct Proposal<'a> {
    /// What the writer says it means.
    pub semantic: &'a SemanticFields,
    /// Whose memory it is to be.
    pub scope: ScopeKind,
    /// How good its evidence is.
    pub evidence: EvidenceClass,
    /// How many pieces of evidence there are.
    pub pieces: usize,
    /// How it relates to what is known.
    pub relation: Relation,
    /// What the writer asks for.
    pub disposition: Disposition,
    /// How it came about.
    pub origin: Origin,
}

/// Which part of the scale a score is in (PC-19).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Bucket {
    High,
    Middle,
    ExtremelyLow,
}

/// What the policy decides (PC-19).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum PolicyDecision {
    AutoApprove,
    Pending,
    PendingSilent,
    AskOnUse,
    NeedsReview,
    AutoReject,
    RejectReviewDisabled,
}

/// What the policy makes of a proposal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The version of the rules.
    pub policy_version: String,
    /// 0 to 1.
    pub score: f64,
    /// What it is made of; absent when the rejection was forced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score_parts: Option<ScoreParts>,
    /// The part of the scale it is in.
    pub bucket: Bucket,
    /// The decision.
    pub decision: PolicyDecision,
    /// The state of the candidate.
    pub status: CandidateStatus,
    /// Why.
    pub reason_code: String,
    /// How it relates to what is known.
    pub relation: Relation,
    /// How good its evidence is.
    pub evidence_class: EvidenceClass,
}

/// Why a proposal is rejected whatever its score, in the order in which the reasons count (PC-36).
pub fn forced_rejection(proposal: &Proposal<'_>) -> Option<&'static str> {
    let semantic = proposal.semantic;
    let is_suppressed = proposal.relation == Relation::SuppressedByRejection;
    let reasons = [
        (
            proposal.disposition == Disposition::RejectSuppressed
                || semantic.intent == Intent::ExplicitForget,
            "quality_action_not_candidate_policy",
        ),
        (semantic.intent == Intent::ExplicitNoMemory, "memory_write_disabled_for_turn"),
        (is_secret(semantic.sensitivity), "secret_like_or_regulated"),
        (
            matches!(semantic.durability, Durability::Transient | Durability::SessionOnly),
            "transient_or_session_only",
        ),
        (is_suppressed, "suppressed_duplicate"),
    ];
    reasons.into_iter().find_map(|(applies, code)| applies.then_some(code))
}

/// Whether the text itself must not be kept.
pub fn is_secret(sensitivity: SensitivityHint) -> bool {
    matches!(sensitivity, SensitivityHint::Secret | SensitivityHint::Regulated)
}

/// What becomes of a proposal.
pub fn judge(policy: &CandidatePolicy, proposal: &Proposal<'_>) -> Verdict {
    let verdict = |score, score_parts, bucket, decision, status, code: &str| Verdict {
        policy_version: VERSION.to_owned(),
        score,
        score_parts,
        bucket,
        decision,
        status,
        reason_code: code.to_owned(),
        relation: proposal.relation,
        evidence_class: proposal.evidence,
    };
    if let Some(code) = forced_rejection(proposal) {
        let (bucket, status) = (Bucket::ExtremelyLow, CandidateStatus::AutoRejected);
        return verdict(0.0, None, bucket, PolicyDecision::AutoReject, status, code);
    }
    let (score, parts) = score(proposal);
    let bucket = match score {
        score if score >= policy.auto_approve_min_score => Bucket::High,
        score if score <= policy.auto_reject_max_score => Bucket::ExtremelyLow,
        _ => Bucket::Middle,
    };
    let (decision, code) = decide(policy, proposal, bucket);
    verdict(score, Some(parts), bucket, decision, status_of(decision), code)
}

fn decide(
    policy: &CandidatePolicy,
    proposal: &Proposal<'_>,
    bucket: Bucket,
) -> (PolicyDecision, &'static str) {
    let is_explicit = proposal.semantic.explicitness == Explicitness::Explicit;
    let reviewed = |decision, on, off| {
        if policy.review_enabled { (decision, on) } else { (PolicyDecision::RejectReviewDisabled, off) }
    };
    if proposal.disposition == Disposition::CreatePendingCandidate {
        return (PolicyDecision::Pending, "pending_candidate_requested");
    }
    if proposal.disposition == Disposition::AcceptActive && proposal.relation != Relation::Contradiction {
        if proposal.origin == Origin::Capture {
            return (PolicyDecision::AutoApprove, "captured");
        }
        if is_explicit && policy.allow_explicit_auto_approve {
            return (PolicyDecision::AutoApprove, "accepted_as_asked");
        }
    }
    if proposal.relation == Relation::Contradiction {
        return reviewed(PolicyDecision::AskOnUse, "contradiction", "review_disabled_contradiction");
    }
    match bucket {
        Bucket::ExtremelyLow => (PolicyDecision::AutoReject, "extremely_low_confidence"),
        Bucket::Middle => {
            reviewed(PolicyDecision::PendingSilent, "middle_confidence", "review_disabled_middle_confidence")
        }
        Bucket::High if is_explicit && !policy.allow_explicit_auto_approve => {
            let code = "explicit_auto_approve_disabled";
            reviewed(PolicyDecision::NeedsReview, code, code)
        }
        Bucket::High if !is_explicit && !policy.allow_implicit_auto_approve => {
            let code = "implicit_auto_approve_disabled";
            reviewed(PolicyDecision::NeedsReview, code, code)
        }
        Bucket::High => (PolicyDecision::AutoApprove, "high_confidence_durable_fact"),
    }
}

fn status_of(decision: PolicyDecision) -> CandidateStatus {
    match decision {
        PolicyDecision::AutoApprove => CandidateStatus::Approved,
        PolicyDecision::Pending => CandidateStatus::Pending,
        PolicyDecision::PendingSilent => CandidateStatus::PendingSilent,
        PolicyDecision::AskOnUse => CandidateStatus::AskOnUse,
        PolicyDecision::NeedsReview => CandidateStatus::NeedsReview,
        PolicyDecision::AutoReject => CandidateStatus::AutoRejected,
        PolicyDecision::RejectReviewDisabled => CandidateStatus::ReviewDisabledRejected,
    }
}

#[cfg(test)]
mod tests;

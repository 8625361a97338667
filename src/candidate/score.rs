//! The score of a proposal (PC-35, XC-36, R-39). Pure.
//!
//! It is added up in hundredths, so that it is exact to the digit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::policy::{EvidenceClass, Proposal};
use super::word::{Certainty, Durability, Explicitness, Relation, ScopeHint, SensitivityHint};
use crate::memory::{Category, ScopeKind};

/// The parts of a score. `explicitness` is reported and not added; `penalty` is taken off.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ScoreParts {
    pub source_trust: f64,
    pub evidence: f64,
    pub explicitness: f64,
    pub fact_class: f64,
    pub lifetime: f64,
    pub scope: f64,
    pub ownership: f64,
    pub relation: f64,
    pub sensitivity: f64,
    pub certainty: f64,
    pub penalty: f64,
}

/// The score (PC-35) with its parts.
pub fn score(proposal: &Proposal<'_>) -> (f64, ScoreParts) {
    let semantic = proposal.semantic;
    let (source_trust, evidence) = trust_and_evidence(proposal.evidence, proposal.pieces);
    let explicitness = match semantic.explicitness {
        Explicitness::Explicit => 3,
        Explicitness::Implicit => 2,
        Explicitness::None | Explicitness::Unclear => 0,
    };
    let scope = scope_fit(semantic.scope_hint, proposal.scope);
    let relation = match proposal.relation {
        Relation::Novel => 6,
        Relation::CompatibleUpdate => 5,
        Relation::Duplicate | Relation::Contradiction | Relation::SuppressedByRejection => 0,
    };
    let sensitivity = match semantic.sensitivity {
        SensitivityHint::None | SensitivityHint::Low => 8,
        SensitivityHint::Personal => 4,
        SensitivityHint::Unknown | SensitivityHint::Secret | SensitivityHint::Regulated => 0,
    };
    let certainty = match semantic.certainty {
        Certainty::High => 10,
        Certainty::Medium => 4,
        Certainty::Low => 0,
    };
    let (fact_class, lifetime, ownership) = (fact_class(proposal), lifetime(proposal), ownership(proposal));
    let penalty = penalty(proposal, scope == 0);
    let sum = source_trust
        + evidence
        + fact_class
        + lifetime
        + scope
        + ownership
        + relation
        + sensitivity
        + certainty
        - penalty;
    let part = |hundredths: i32| f64::from(hundredths) / 100.0;
    let parts = ScoreParts {
        source_trust: part(source_trust),
        evidence: part(evidence),
        explicitness: part(explicitness),
        fact_class: part(fact_class),
        lifetime: part(lifetime),
        scope: part(scope),
        ownership: part(ownership),
        relation: part(relation),
        sensitivity: part(sensitivity),
        certainty: part(certainty),
        penalty: part(penalty),
    };
    (part(sum.clamp(0, 100)), parts)
}

pub(super) fn trust_and_evidence(class: EvidenceClass, pieces: usize) -> (i32, i32) {
    let more = match pieces {
        0 | 1 => 0,
        2 => 2,
        _ => 4,
    };
    let (trust, base) = match class {
        EvidenceClass::Approval | EvidenceClass::DirectUserCorrection => (18, 14),
        EvidenceClass::DirectUserAssertion => (18, 12),
        EvidenceClass::GeneratedSummary => (8, 6),
        // More of nothing is nothing.
        EvidenceClass::MissingOrWeak => return (0, 0),
    };
    (trust, (base + more).min(16))
}

fn fact_class(proposal: &Proposal<'_>) -> i32 {
    match proposal.semantic.category {
        Category::Identity => 14,
        Category::Todo | Category::Custom => 0,
        Category::Preference
        | Category::Biography
        | Category::Relationship
        | Category::RecurringInstruction
        | Category::ProjectPolicy
        | Category::ProjectFact
        | Category::ProjectDecision
        | Category::Procedure
        | Category::Constraint
        | Category::CommunicationStyle => 13,
    }
}

fn is_durable(scope: ScopeKind) -> bool {
    matches!(scope, ScopeKind::User | ScopeKind::Workspace | ScopeKind::Agent)
}

fn lifetime(proposal: &Proposal<'_>) -> i32 {
    let fits = match proposal.semantic.durability {
        Durability::LongLived => is_durable(proposal.scope),
        Durability::ProjectLifetime => proposal.scope == ScopeKind::Workspace,
        Durability::SessionOnly | Durability::Transient | Durability::Unknown => false,
    };
    if fits { 12 } else { 0 }
}

fn ownership(proposal: &Proposal<'_>) -> i32 {
    if is_durable(proposal.scope) { 16 } else { 0 }
}

/// Clear when the hint agrees with the scope, inferred without a hint, unclear when it disagrees.
fn scope_fit(hint: ScopeHint, scope: ScopeKind) -> i32 {
    let meant = match hint {
        ScopeHint::Unknown => return 6,
        ScopeHint::UserGlobal | ScopeHint::UserWorkspace => ScopeKind::User,
        ScopeHint::AgentGlobal | ScopeHint::AgentWorkspace => ScopeKind::Agent,
        ScopeHint::ProjectWorkspace => ScopeKind::Workspace,
    };
    if meant == scope { 10 } else { 0 }
}

fn penalty(proposal: &Proposal<'_>, is_scope_unclear: bool) -> i32 {
    let semantic = proposal.semantic;
    let relation = match proposal.relation {
        Relation::Contradiction => 30,
        Relation::Duplicate => 40,
        Relation::Novel | Relation::CompatibleUpdate | Relation::SuppressedByRejection => 0,
    };
    let scope = if is_scope_unclear { 10 } else { 0 };
    let certainty = if semantic.certainty == Certainty::Low { 8 } else { 0 };
    let explicitness = match semantic.explicitness {
        Explicitness::None | Explicitness::Unclear => 18,
        Explicitness::Explicit | Explicitness::Implicit => 0,
    };
    relation + scope + certainty + explicitness
}

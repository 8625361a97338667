use super::*;
use crate::candidate::score::trust_and_evidence;
use crate::candidate::word::{Attribute, Certainty, ScopeHint, Subject};
use crate::memory::Category;
use proptest::prelude::*;

/// Row (a): an explicit identity, said by the user, clear scope, novel, normal, certain.
fn explicit_identity() -> SemanticFields {
    SemanticFields {
        intent: Intent::ExplicitStore,
        explicitness: Explicitness::Explicit,
        category: Category::Identity,
        subject: Subject::CurrentUser,
        attribute: Attribute::Name,
        custom_attribute: None,
        scope_hint: ScopeHint::UserGlobal,
        durability: Durability::LongLived,
        sensitivity: SensitivityHint::None,
        certainty: Certainty::High,
    }
}

fn proposal(semantic: &SemanticFields) -> Proposal<'_> {
    Proposal {
        semantic,
        scope: ScopeKind::User,
        evidence: EvidenceClass::DirectUserAssertion,
        pieces: 1,
        relation: Relation::Novel,
        disposition: Disposition::RouteToCandidatePolicy,
        origin: Origin::Suggestion,
    }
}

fn outcome(proposal: &Proposal<'_>) -> (f64, CandidateStatus, String) {
    let verdict = judge(&CandidatePolicy::default(), proposal);
    (verdict.score, verdict.status, verdict.reason_code)
}

fn sum(parts: &ScoreParts) -> f64 {
    let all = [
        parts.source_trust,
        parts.evidence,
        parts.fact_class,
        parts.lifetime,
        parts.scope,
        parts.ownership,
        parts.relation,
        parts.sensitivity,
        parts.certainty,
    ];
    (all.iter().sum::<f64>() * 100.0).round() / 100.0
}

#[test]
fn golden_row_a_is_1_06_clamped_and_approved_xc37() {
    let semantic = explicit_identity();
    let verdict = judge(&CandidatePolicy::default(), &proposal(&semantic));
    let parts = verdict.score_parts.expect("not forced");
    assert!((sum(&parts) - 1.06).abs() < 1e-9 && parts.penalty == 0.0, "{parts:?}");
    assert!((verdict.score - 1.0).abs() < f64::EPSILON);
    assert_eq!(
        (verdict.status, &*verdict.reason_code),
        (CandidateStatus::Approved, "high_confidence_durable_fact")
    );
}

#[test]
fn golden_row_b_is_0_65_and_rejected_without_review_xc37() {
    let semantic = SemanticFields {
        intent: Intent::ImplicitCandidate,
        explicitness: Explicitness::Implicit,
        category: Category::Preference,
        scope_hint: ScopeHint::Unknown,
        certainty: Certainty::Medium,
        ..explicit_identity()
    };
    let proposal = Proposal { evidence: EvidenceClass::MissingOrWeak, ..proposal(&semantic) };
    let expected =
        (0.65, CandidateStatus::ReviewDisabledRejected, "review_disabled_middle_confidence".to_owned());
    assert_eq!(outcome(&proposal), expected);
}

#[test]
fn golden_row_c_any_secret_is_0_xc37() {
    for sensitivity in [SensitivityHint::Secret, SensitivityHint::Regulated] {
        let semantic = SemanticFields { sensitivity, ..explicit_identity() };
        let expected = (0.0, CandidateStatus::AutoRejected, "secret_like_or_regulated".to_owned());
        assert_eq!(outcome(&proposal(&semantic)), expected);
    }
}

#[test]
fn golden_row_d_is_0_14_less_0_36_xc37() {
    let semantic = SemanticFields {
        explicitness: Explicitness::Unclear,
        category: Category::Todo,
        scope_hint: ScopeHint::UserGlobal,
        durability: Durability::Unknown,
        certainty: Certainty::Low,
        ..explicit_identity()
    };
    let proposal =
        Proposal { scope: ScopeKind::Thread, evidence: EvidenceClass::MissingOrWeak, ..proposal(&semantic) };
    let verdict = judge(&CandidatePolicy::default(), &proposal);
    let parts = verdict.score_parts.expect("not forced");
    assert_eq!((sum(&parts), parts.penalty), (0.14, 0.36));
    assert_eq!(
        outcome(&proposal),
        (0.0, CandidateStatus::AutoRejected, "extremely_low_confidence".to_owned())
    );
}

#[test]
fn golden_row_e_a_contradiction_is_not_approved_xc37() {
    let semantic = explicit_identity();
    let proposal = Proposal { relation: Relation::Contradiction, ..proposal(&semantic) };
    let expected =
        (0.70, CandidateStatus::ReviewDisabledRejected, "review_disabled_contradiction".to_owned());
    assert_eq!(outcome(&proposal), expected);
}

#[test]
fn reasons_that_force_a_rejection_count_in_their_order_pc36() {
    let mut semantic = SemanticFields {
        intent: Intent::ExplicitForget,
        sensitivity: SensitivityHint::Secret,
        durability: Durability::Transient,
        ..explicit_identity()
    };
    let suppressed = |semantic: &SemanticFields| {
        outcome(&Proposal { relation: Relation::SuppressedByRejection, ..proposal(semantic) }).2
    };
    assert_eq!(suppressed(&semantic), "quality_action_not_candidate_policy");
    semantic.intent = Intent::ExplicitNoMemory;
    assert_eq!(suppressed(&semantic), "memory_write_disabled_for_turn");
    semantic.intent = Intent::ExplicitStore;
    assert_eq!(suppressed(&semantic), "secret_like_or_regulated");
    semantic.sensitivity = SensitivityHint::None;
    assert_eq!(suppressed(&semantic), "transient_or_session_only");
    semantic.durability = Durability::LongLived;
    assert_eq!(suppressed(&semantic), "suppressed_duplicate");
    let refused = Proposal { disposition: Disposition::RejectSuppressed, ..proposal(&semantic) };
    assert_eq!(outcome(&refused).2, "quality_action_not_candidate_policy");
}

#[test]
fn switches_and_dispositions_decide_what_a_score_does_not_pc37_r28() {
    let reviewed = CandidatePolicy { review_enabled: true, ..CandidatePolicy::default() };
    let status = |policy: &CandidatePolicy, proposal: &Proposal<'_>| judge(policy, proposal).status;
    let semantic = explicit_identity();
    let contradiction = Proposal { relation: Relation::Contradiction, ..proposal(&semantic) };
    assert_eq!(status(&reviewed, &contradiction), CandidateStatus::AskOnUse);
    let middle = Proposal { evidence: EvidenceClass::MissingOrWeak, ..proposal(&semantic) };
    assert_eq!(status(&reviewed, &middle), CandidateStatus::PendingSilent);
    let implicit = SemanticFields { explicitness: Explicitness::Implicit, ..explicit_identity() };
    assert_eq!(status(&reviewed, &proposal(&implicit)), CandidateStatus::NeedsReview);
    let off = CandidatePolicy::default();
    assert_eq!(judge(&off, &proposal(&implicit)).reason_code, "implicit_auto_approve_disabled");
    let lenient = CandidatePolicy { allow_implicit_auto_approve: true, ..off };
    assert_eq!(status(&lenient, &proposal(&implicit)), CandidateStatus::Approved);
    let strict = CandidatePolicy { allow_explicit_auto_approve: false, ..off };
    assert_eq!(status(&strict, &proposal(&semantic)), CandidateStatus::ReviewDisabledRejected);
    let pending = Proposal { disposition: Disposition::CreatePendingCandidate, ..middle };
    assert_eq!(status(&off, &pending), CandidateStatus::Pending);
    let accepted = Proposal { disposition: Disposition::AcceptActive, ..middle };
    assert_eq!(status(&off, &accepted), CandidateStatus::Approved);
    assert_eq!(status(&strict, &accepted), CandidateStatus::ReviewDisabledRejected);
}

#[test]
fn evidence_adds_up_to_its_cap_pc35() {
    let class = EvidenceClass::DirectUserCorrection;
    let evidence = |pieces| trust_and_evidence(class, pieces).1;
    assert_eq!([1, 2, 3, 16].map(evidence), [14, 16, 16, 16]);
    let evidence = |pieces| trust_and_evidence(EvidenceClass::GeneratedSummary, pieces).1;
    assert_eq!([1, 2, 3, 16].map(evidence), [6, 8, 10, 10]);
}

#[test]
fn thresholds_in_the_wrong_order_are_refused_xc35() {
    let policy = |reject, approve| CandidatePolicy {
        auto_reject_max_score: reject,
        auto_approve_min_score: approve,
        ..CandidatePolicy::default()
    };
    assert!(policy(0.2, 0.9).check().is_ok());
    for (reject, approve) in [(0.9, 0.9), (0.95, 0.9), (-0.1, 0.9), (0.2, 1.1), (f64::NAN, 0.9)] {
        assert!(policy(reject, approve).check().is_err(), "{reject} {approve}");
    }
}

proptest! {
    #[test]
    fn a_score_is_within_0_and_1_and_the_bucket_follows(
        explicitness in prop::sample::select(vec![Explicitness::Explicit, Explicitness::Implicit, Explicitness::None, Explicitness::Unclear]),
        certainty in prop::sample::select(vec![Certainty::High, Certainty::Medium, Certainty::Low]),
        scope in prop::sample::select(ScopeKind::ALL.to_vec()),
        relation in prop::sample::select(vec![Relation::Novel, Relation::CompatibleUpdate, Relation::Contradiction]),
        pieces in 1_usize..17,
    ) {
        let semantic = SemanticFields { explicitness, certainty, ..explicit_identity() };
        let verdict = judge(&CandidatePolicy::default(), &Proposal { scope, pieces, relation, ..proposal(&semantic) });
        prop_assert!((0.0..=1.0).contains(&verdict.score));
        prop_assert_eq!(verdict.bucket == Bucket::High, verdict.score >= 0.9);
        prop_assert_eq!(verdict.status == CandidateStatus::Approved, verdict.decision == PolicyDecision::AutoApprove);
    }
}

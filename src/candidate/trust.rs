//! How far a proposal is to be trusted, by where it comes from. Pure.

use super::policy::EvidenceClass;
use super::semantic::Evidence;
use crate::auth::{Actor, ActorKind};
use crate::memory::{Provenance, SourceContextKind, SourceKind};

/// What a text is taken from when the writer does not say.
pub fn usual_source(actor: &Actor) -> Option<SourceContextKind> {
    match actor.kind {
        ActorKind::User => Some(SourceContextKind::DirectUserConversation),
        ActorKind::Assistant => Some(SourceContextKind::AssistantResponse),
        ActorKind::Tool => Some(SourceContextKind::ToolResult),
        ActorKind::Extractor | ActorKind::System => None,
    }
}

/// How good the evidence is.
pub fn classify(
    source: Option<SourceContextKind>,
    provenance: &Provenance,
    evidence: &[Evidence],
) -> EvidenceClass {
    let is_quoted = evidence.iter().any(|piece| piece.quote.is_some());
    match source {
        Some(SourceContextKind::DirectUserConversation) if is_quoted => {
            if provenance.source_kind == Some(SourceKind::UserCorrection) {
                EvidenceClass::DirectUserCorrection
            } else {
                EvidenceClass::DirectUserAssertion
            }
        }
        Some(SourceContextKind::GeneratedSummary) => EvidenceClass::GeneratedSummary,
        _ => EvidenceClass::MissingOrWeak,
    }
}

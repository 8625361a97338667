//! A semantic write on its way to the policy: checked, named, embedded, and how good its evidence is.

use serde_json::{Map, Value};

use super::outcome::{Fact, Parts};
use super::policy::{self, CandidatePolicy, EvidenceClass, Origin, Proposal, Verdict, is_secret};
use super::semantic::{SemanticWrite, SemanticWritten};
use super::trust::{classify, usual_source};
use super::word::{Disposition, Explicitness, Relation, SensitivityHint};
use super::{Detail, Stored, key};
use crate::app::App;
use crate::auth::{Actor, ActorKind, Permit};
use crate::error::Result;
use crate::extract::secret;
use crate::id::CandidateId;
use crate::memory::write::Changes;
use crate::memory::{Provenance, SourceContextKind};

/// What stands in the place of a text that must not be kept.
const WITHHELD: &str = "(withheld)";

/// A proposal, checked; and embedded before it is decided.
pub struct Proposed {
    pub fact: Fact,
    origin: Origin,
    evidence_class: EvidenceClass,
    disposition: Disposition,
    provenance: Provenance,
    source_context_kind: Option<SourceContextKind>,
    importance: f64,
    client: Map<String, Value>,
}

impl Proposed {
    /// Checks a proposal, and names it.
    pub fn check(app: &App, permit: &Permit, mut new: SemanticWrite, origin: Origin) -> Result<Self> {
        new.check()?;
        crate::memory::draft::check_metadata(new.metadata.as_ref())?;
        if !is_secret(new.semantic.sensitivity) && holds_secret(&new) {
            // Whatever the writer takes it for: a key or a password is kept out (PC-36).
            new.semantic.sensitivity = SensitivityHint::Secret;
        }
        let source_context_kind = new.source_context_kind.or_else(|| usual_source(permit.actor()));
        let provenance = new.provenance.unwrap_or_default();
        let evidence_class = classify(source_context_kind, &provenance, &new.evidence);
        let client = new.metadata.unwrap_or_default();
        let mut kept = client.clone();
        let ignored = [
            ("client_provided_key", new.client_provided_key.map(Value::from)),
            ("client_status", new.status.map(Value::from)),
            ("client_score", new.score.map(Value::from)),
        ];
        kept.extend(ignored.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
        let importance = new.importance.unwrap_or(0.5);
        let parts = Parts {
            scope: new.scope,
            semantic: new.semantic,
            content: new.content,
            value: new.value,
            evidence: new.evidence,
            provenance: provenance.clone(),
            source_context_kind,
            confidence: new.confidence,
            importance: new.importance,
            context: new.context,
            client: kept.clone(),
        };
        let fact = Fact::check(app, permit, parts)?;
        let provenance = Provenance { created_by: Some(permit.actor().clone()), ..provenance };
        let disposition = new.disposition;
        Ok(Self {
            fact,
            origin,
            evidence_class,
            disposition,
            provenance,
            source_context_kind,
            importance,
            client: kept,
        })
    }

    /// What the policy looks at.
    pub fn judged(&self, relation: Relation) -> Proposal<'_> {
        Proposal {
            semantic: &self.fact.semantic,
            scope: self.fact.scope.kind,
            evidence: self.evidence_class,
            pieces: self.fact.evidence.len(),
            relation,
            disposition: self.disposition,
            origin: self.origin,
        }
    }

    /// Whether it was said outright and is to be active.
    pub fn insists(&self) -> bool {
        self.disposition == Disposition::AcceptActive
            && self.fact.semantic.explicitness == Explicitness::Explicit
    }

    /// An answer that names it, and nothing that became of it.
    pub fn answer(&self, permit: &Permit, relation: Relation) -> SemanticWritten {
        SemanticWritten {
            relation,
            canonical_key: self.fact.canonical_key(permit),
            semantic_fingerprint: key::hex(&self.fact.fingerprint),
            record: None,
            candidate: None,
            created: false,
            superseded_memory_id: None,
            evidence_merged: false,
        }
    }

    /// The candidate it is in the state that the policy gives it.
    pub fn candidate(
        &self,
        permit: &Permit,
        verdict: Verdict,
        policy: &CandidatePolicy,
        changes: &Changes,
    ) -> Stored {
        let record = self.fact.incoming.record();
        let is_withheld = is_secret(self.fact.semantic.sensitivity);
        let is_decided = !verdict.status.is_pending();
        let mut evidence = self.fact.evidence.clone();
        if is_withheld {
            for piece in &mut evidence {
                piece.quote = None;
            }
        }
        let days = chrono::TimeDelta::days(i64::from(policy.expire_after_days));
        Stored {
            id: CandidateId::new(),
            fingerprint: self.fact.fingerprint,
            scope: self.fact.scope.clone(),
            namespace: permit.namespace().clone(),
            category: self.fact.semantic.category,
            key: self.fact.key.key.clone(),
            text: if is_withheld { WITHHELD.to_owned() } else { record.content.clone() },
            status: verdict.status,
            sensitivity: record.sensitivity,
            confidence: record.confidence,
            reason: verdict.reason_code.clone(),
            repeats: 0,
            created_at: changes.now.into(),
            expires_at: (changes.now + days).into(),
            decided_at: is_decided.then(|| changes.now.into()),
            decision_reason: is_decided.then(|| verdict.reason_code.clone()),
            decided_by: is_decided
                .then(|| Actor { kind: ActorKind::System, id: Some(policy::VERSION.to_owned()) }),
            memory_id: None,
            detail: Detail {
                semantic: self.fact.semantic.clone(),
                value: self.fact.value.clone().filter(|_| !is_withheld),
                evidence,
                verdict,
                provenance: self.provenance.clone(),
                source_context_kind: self.source_context_kind,
                context: Some(record.context.clone()),
                importance: self.importance,
                client: if is_withheld { Map::new() } else { self.client.clone() },
                original_text: None,
                suppress_similar: false,
            },
        }
    }
}

/// Whether a text of the proposal holds what looks like a key, a password or a card number.
fn holds_secret(new: &SemanticWrite) -> bool {
    let value =
        new.value.as_ref().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    let quotes = new.evidence.iter().filter_map(|piece| piece.quote.as_deref());
    let mut texts = [Some(new.content.as_str()), value.as_deref()].into_iter().flatten().chain(quotes);
    texts.any(|text| !secret::find(text).is_empty())
}

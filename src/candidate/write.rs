//! The semantic write (PC-38, XC-35 to XC-39): a proposal comes with its meaning, and the service decides.

use serde_json::{Map, Value};

use super::outcome::{Fact, Known, Parts, add_evidence};
use super::policy::{
    self, CandidatePolicy, EvidenceClass, Origin, Proposal, Verdict, forced_rejection, is_secret, judge,
};
use super::semantic::{SemanticWrite, SemanticWritten};
use super::similar::{CLOSE, may_be_same};
use super::trust::{classify, usual_source};
use super::word::{CandidateStatus, Disposition, Explicitness, Relation};
use super::{Detail, Stored, key, merge_evidence, store};
use crate::app::App;
use crate::auth::{Action, Actor, ActorKind, Area, Caller, Permit};
use crate::db::{TenantTx, with_retry};
use crate::error::{Error, Result};
use crate::event;
use crate::id::CandidateId;
use crate::idempotency::{self, Answer, Key};
use crate::memory::write::Changes;
use crate::memory::{Provenance, Record, SourceContextKind};

/// What stands in the place of a text that must not be kept.
const WITHHELD: &str = "(withheld)";

/// A proposal, checked and embedded.
pub(super) struct Proposed {
    pub(super) fact: Fact,
    origin: Origin,
    evidence_class: EvidenceClass,
    disposition: Disposition,
    provenance: Provenance,
    source_context_kind: Option<SourceContextKind>,
    importance: f64,
    client: Map<String, Value>,
}

/// Writes a proposal with its meaning: it becomes a record or a candidate, or adds its evidence to what is there.
///
/// `accept_active` needs write on durable memory beside write on candidates.
pub async fn semantic_write(
    app: &App,
    caller: &Caller,
    new: SemanticWrite,
    key: Option<Key>,
) -> Result<Answer<SemanticWritten>> {
    let permit = &caller.permit(Action::Write, Area::Candidates)?;
    if new.disposition == Disposition::AcceptActive {
        caller.permit(Action::Write, Area::Durable)?;
    }
    let once = idempotency::run(app, permit, key, |claim| async move {
        let mut proposed = Proposed::check(app, permit, new, Origin::Suggestion)?;
        proposed.fact.embed(app, permit).await?;
        with_retry(|| async {
            let mut tx = app.db.begin(permit).await?;
            let mut changes = Changes::new(permit, app.clock.now());
            let answer = Answer::ok(decide(&mut tx, permit, &mut changes, &proposed).await?);
            changes.write(&mut tx).await?;
            claim.settle(&mut tx, permit, &answer).await?;
            tx.commit().await?;
            Ok(answer)
        })
        .await
    });
    Box::pin(once).await
}

/// Like [`semantic_write`], with a key that stands beside the request or in it, but not in both places.
pub async fn semantic_write_once(
    app: &App,
    caller: &Caller,
    mut new: SemanticWrite,
    beside: Option<String>,
    route: &str,
) -> Result<Answer<SemanticWritten>> {
    caller.permit(Action::Write, Area::Candidates)?;
    if beside.is_some() {
        if new.idempotency_key.is_some() {
            return Err(Error::invalid("idempotency_key", "is given in the header too: give one of them"));
        }
        new.idempotency_key = beside;
    }
    let key = take_key(&mut new, route)?;
    semantic_write(app, caller, new, key).await
}

/// Takes the `idempotency_key` out of a request: it is not part of what the key stands for.
pub fn take_key(new: &mut SemanticWrite, route: &str) -> Result<Option<Key>> {
    let Some(key) = new.idempotency_key.take() else { return Ok(None) };
    let body = serde_json::to_value(&*new).map_err(Error::internal)?;
    Key::new(&key, route, &body).map(Some)
}

impl Proposed {
    pub(super) fn check(app: &App, permit: &Permit, mut new: SemanticWrite, origin: Origin) -> Result<Self> {
        new.check()?;
        crate::memory::draft::check_metadata(new.metadata.as_ref())?;
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

    fn judged(&self, relation: Relation) -> Proposal<'_> {
        Proposal {
            semantic: &self.fact.semantic,
            category: self.fact.semantic.category,
            scope: self.fact.scope.kind,
            evidence: self.evidence_class,
            pieces: self.fact.evidence.len(),
            relation,
            disposition: self.disposition,
            origin: self.origin,
        }
    }

    /// Whether it was said outright and is to be active.
    fn insists(&self) -> bool {
        self.disposition == Disposition::AcceptActive
            && self.fact.semantic.explicitness == Explicitness::Explicit
    }

    fn answer(&self, permit: &Permit, relation: Relation) -> SemanticWritten {
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

    fn candidate(
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

pub(super) async fn decide(
    tx: &mut TenantTx,
    permit: &Permit,
    changes: &mut Changes,
    proposed: &Proposed,
) -> Result<SemanticWritten> {
    let fact = &proposed.fact;
    store::lock_keys(tx, &fact.scope, &[&fact.key.key]).await?;
    let policy = store::policy(tx).await?.unwrap_or_else(|| {
        tracing::warn!(tenant.id = %permit.tenant(), "the tenant's candidate_policy cannot be read: the default counts");
        CandidatePolicy::default()
    });
    let known = fact.look_up(tx, changes).await?;
    let same = store::lock_same(tx, &fact.fingerprint).await?;
    let mut relation = match &known {
        Known::Same(_) => Relation::Duplicate,
        Known::Other(_) if proposed.insists() => Relation::CompatibleUpdate,
        Known::Other(_) => Relation::Contradiction,
        Known::Nothing => Relation::Novel,
    };
    let has_last_word = proposed.insists() && permit.actor().kind == ActorKind::User;
    if relation != Relation::Duplicate && !has_last_word && is_suppressed(tx, fact, &same).await? {
        relation = Relation::SuppressedByRejection;
    }
    if forced_rejection(&proposed.judged(relation)).is_none() {
        if let Known::Same(record) = known {
            let (record, merged) = add_evidence(tx, permit, changes, *record, &fact.evidence).await?;
            let answer = proposed.answer(permit, Relation::Duplicate);
            return Ok(SemanticWritten { record: Some(record), evidence_merged: merged, ..answer });
        }
        let pending = same.iter().find(|stored| stored.is_open(changes.now));
        if let Some(pending) = pending.filter(|_| !proposed.insists()) {
            return add_to_pending(tx, permit, changes, proposed, pending.clone()).await;
        }
    }
    let verdict = judge(&policy, &proposed.judged(relation));
    let old = match known {
        Known::Other(record) => Some(*record),
        Known::Nothing | Known::Same(_) => None,
    };
    if verdict.status == CandidateStatus::Approved {
        let candidate = proposed.candidate(permit, verdict, &policy, changes);
        return approve(tx, permit, changes, proposed, candidate, &same, old.as_ref()).await;
    }
    let candidate = proposed.candidate(permit, verdict, &policy, changes);
    keep(tx, permit, changes, proposed, candidate, same).await
}

/// Whether the same or the like was rejected, suppressed, or forgotten by a user.
async fn is_suppressed(tx: &mut TenantTx, fact: &Fact, same: &[Stored]) -> Result<bool> {
    if same.iter().any(|stored| stored.status == CandidateStatus::Rejected) {
        return Ok(true);
    }
    let category = fact.semantic.category;
    let embedding = fact.incoming.embedding();
    let suppressed =
        store::suppressed(tx, &fact.scope, category, &fact.fingerprint, embedding, CLOSE).await?;
    if suppressed.iter().any(|(is_same, text)| *is_same || may_be_same(text, fact.content())) {
        return Ok(true);
    }
    fact.is_forgotten(tx).await
}

async fn add_to_pending(
    tx: &mut TenantTx,
    permit: &Permit,
    changes: &Changes,
    proposed: &Proposed,
    mut pending: Stored,
) -> Result<SemanticWritten> {
    permit.require(&pending.scope, pending.sensitivity)?;
    let evidence_merged = merge_evidence(&mut pending.detail.evidence, &proposed.fact.evidence);
    if evidence_merged {
        store::update(tx, &pending).await?;
    }
    let candidate = Some(pending.shown(changes.now));
    Ok(SemanticWritten { candidate, evidence_merged, ..proposed.answer(permit, Relation::Duplicate) })
}

/// Makes it a record. A candidate that waits for the same is approved by it.
async fn approve(
    tx: &mut TenantTx,
    permit: &Permit,
    changes: &mut Changes,
    proposed: &Proposed,
    mut candidate: Stored,
    same: &[Stored],
    old: Option<&Record>,
) -> Result<SemanticWritten> {
    let relation = candidate.detail.verdict.relation;
    let remembered = proposed.fact.accept(tx, permit, changes, old).await?;
    candidate.memory_id = Some(remembered.record.id);
    match same.iter().find(|stored| stored.is_open(changes.now)) {
        Some(pending) => {
            candidate.id = pending.id;
            candidate.created_at = pending.created_at;
            merge_evidence(&mut candidate.detail.evidence, &pending.detail.evidence);
            store::update(tx, &candidate).await?;
        }
        None => store::insert(tx, &candidate).await?,
    }
    tx.audit(permit, "candidate.approve", &candidate.id.to_string(), changes.now).await?;
    Ok(SemanticWritten {
        record: Some(remembered.record),
        candidate: Some(candidate.shown(changes.now)),
        created: remembered.created,
        superseded_memory_id: remembered.superseded_memory_id,
        ..proposed.answer(permit, relation)
    })
}

/// Keeps it as a candidate. One that was rejected for the same reason before is counted, not stored again (XC-32).
async fn keep(
    tx: &mut TenantTx,
    permit: &Permit,
    changes: &Changes,
    proposed: &Proposed,
    candidate: Stored,
    same: Vec<Stored>,
) -> Result<SemanticWritten> {
    let relation = candidate.detail.verdict.relation;
    let is_repeated = |stored: &Stored| {
        !candidate.status.is_pending()
            && stored.status == candidate.status
            && stored.reason == candidate.reason
    };
    if let Some(mut before) = same.into_iter().find(is_repeated) {
        before.repeats += 1;
        let evidence_merged = merge_evidence(&mut before.detail.evidence, &candidate.detail.evidence);
        store::update(tx, &before).await?;
        let candidate = Some(before.shown(changes.now));
        return Ok(SemanticWritten { candidate, evidence_merged, ..proposed.answer(permit, relation) });
    }
    store::insert(tx, &candidate).await?;
    let (sensitivity, action) = (candidate.sensitivity, format!("candidate.{}", candidate.status.as_str()));
    let candidate = candidate.shown(changes.now);
    event::candidate_created(tx, &candidate, sensitivity, changes.now).await?;
    tx.audit(permit, &action, &candidate.id.to_string(), changes.now).await?;
    let created = relation != Relation::SuppressedByRejection;
    Ok(SemanticWritten { candidate: Some(candidate), created, ..proposed.answer(permit, relation) })
}

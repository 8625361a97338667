//! The semantic write (PC-38, XC-35 to XC-39): a proposal comes with its meaning, and the service decides.

use super::outcome::{Fact, Known, add_evidence};
use super::policy::{CandidatePolicy, Origin, forced_rejection, judge};
use super::proposal::Proposed;
use super::semantic::{SemanticWrite, SemanticWritten};
use super::similar::{CLOSE, may_be_same};
use super::word::{CandidateStatus, Disposition, Relation};
use super::{Stored, store, suppression_store};
use crate::app::App;
use crate::auth::{Action, ActorKind, Area, Caller, Permit};
use crate::db::{TenantTx, with_retry};
use crate::error::{Error, Result};
use crate::event;
use crate::idempotency::{self, Answer, Key};
use crate::memory::Record;
use crate::memory::write::Changes;

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
    let reads = caller.claims().rights.allows(Area::Durable, Action::Read);
    let once = idempotency::run(app, permit, key, |claim| async move {
        let mut proposed = Proposed::check(app, permit, new, Origin::Suggestion)?;
        proposed.fact.embed(app, permit).await?;
        with_retry(|| async {
            let mut tx = app.db.begin(permit).await?;
            let mut changes = Changes::new(permit, app.clock.now());
            let all = decide_all(&mut tx, permit, &mut changes, std::slice::from_ref(&proposed));
            let written = Box::pin(all).await?.pop();
            let mut written = written.ok_or_else(|| Error::internal("no result for a proposal"))?;
            // What somebody else wrote is shown to whoever may read it.
            written.record = written.record.filter(|_| written.created || reads);
            let answer = Answer::ok(written);
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

/// Decides what becomes of each of these proposals, in order. All others are kept from their facts until the transaction
/// ends, in one order, so that two who write the same facts do not wait for each other in a ring.
pub(super) async fn decide_all(
    tx: &mut TenantTx,
    permit: &Permit,
    changes: &mut Changes,
    proposed: &[Proposed],
) -> Result<Vec<SemanticWritten>> {
    let facts: Vec<_> = proposed.iter().map(|new| (&new.fact.scope, new.fact.key.key.as_str())).collect();
    store::lock_keys(tx, &facts).await?;
    let policy = store::policy(tx).await?.unwrap_or_else(|| {
        tracing::warn!(tenant.id = %permit.tenant(), "the tenant's candidate_policy cannot be read: the default counts");
        CandidatePolicy::default()
    });
    let mut written = Vec::with_capacity(proposed.len());
    for new in proposed {
        written.push(decide(tx, permit, changes, &policy, new).await?);
    }
    Ok(written)
}

async fn decide(
    tx: &mut TenantTx,
    permit: &Permit,
    changes: &mut Changes,
    policy: &CandidatePolicy,
    proposed: &Proposed,
) -> Result<SemanticWritten> {
    let fact = &proposed.fact;
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
    let verdict = judge(policy, &proposed.judged(relation));
    if forced_rejection(&proposed.judged(relation)).is_none() {
        if let Known::Same(record) = known {
            let sensitivity = fact.incoming.record().sensitivity;
            let (record, merged) =
                add_evidence(tx, permit, changes, *record, &fact.evidence, sensitivity).await?;
            let answer = proposed.answer(permit, Relation::Duplicate);
            return Ok(SemanticWritten { record: Some(record), evidence_merged: merged, ..answer });
        }
        // Who insists settles what is pending, unless that has to wait as well.
        let is_settling = proposed.insists() && !verdict.status.is_pending();
        let pending = same.iter().find(|stored| stored.is_open(changes.now));
        if let Some(pending) = pending.filter(|_| !is_settling) {
            return add_to_pending(tx, permit, changes, proposed, pending.clone()).await;
        }
    }
    let old = match known {
        Known::Other(record) => Some(*record),
        Known::Nothing | Known::Same(_) => None,
    };
    let is_approved = verdict.status == CandidateStatus::Approved;
    let candidate = proposed.candidate(permit, verdict, policy, changes);
    if is_approved {
        return approve(tx, permit, changes, proposed, candidate, &same, old.as_ref()).await;
    }
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
        suppression_store::find_close(tx, &fact.scope, category, &fact.fingerprint, embedding, CLOSE).await?;
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
    let fact = &proposed.fact;
    let evidence_merged = pending.gather(&fact.evidence, fact.incoming.record().sensitivity);
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
    let pending = same.iter().find(|stored| stored.is_open(changes.now));
    if let Some(pending) = pending {
        permit.require(&pending.scope, pending.sensitivity)?;
    }
    let remembered = proposed.fact.accept(tx, permit, changes, old).await?;
    candidate.memory_id = Some(remembered.record.id);
    match pending {
        Some(pending) => {
            candidate.id = pending.id;
            candidate.created_at = pending.created_at;
            candidate.gather(&pending.detail.evidence, pending.sensitivity);
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
        permit.require(&before.scope, before.sensitivity)?;
        before.repeats += 1;
        let evidence_merged = before.gather(&candidate.detail.evidence, candidate.sensitivity);
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

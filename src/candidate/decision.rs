//! One decision within its transaction: what an act does to a candidate in its state (PC-39).

use super::Stored;
use super::act::{Act, Decided, Step, Target};
use super::outcome::{Fact, Known, Parts, add_evidence};
use super::semantic::check_value;
use super::word::CandidateStatus;
use super::{store, suppression_store};
use crate::app::App;
use crate::auth::Permit;
use crate::db::TenantTx;
use crate::error::{Error, Result};
use crate::id::MemoryId;
use crate::memory::accept;
use crate::memory::draft::check_content;
use crate::memory::write::Changes;
use crate::memory::{Record, Status};

/// The fact that the candidate stands for, or will: with a vector, for a record or for a suppression.
pub async fn prepare(app: &App, writer: &Permit, known: &Stored, act: &Act) -> Result<Option<Fact>> {
    let (content, value) = match act {
        Act::Approve(Some(edit)) => {
            check_value("edited_value", edit.edited_value.as_ref())?;
            (check_content("edited_text", &edit.edited_text)?, edit.edited_value.clone())
        }
        Act::Approve(None) | Act::Suppress => (known.text.clone(), known.detail.value.clone()),
        Act::Reject | Act::Expire | Act::Merge(_) => return Ok(None),
    };
    let detail = &known.detail;
    let parts = Parts {
        scope: known.scope.clone(),
        semantic: detail.semantic.clone(),
        content,
        value,
        evidence: detail.evidence.clone(),
        provenance: detail.provenance.clone(),
        source_context_kind: detail.source_context_kind,
        confidence: Some(known.confidence),
        importance: Some(detail.importance),
        context: detail.context.clone(),
        client: detail.client.clone(),
    };
    let author = detail.provenance.created_by.clone();
    Ok(Some(Fact::prepare(app, writer, parts).await?.by(author)))
}

/// One decision within its transaction.
pub struct Case<'a> {
    pub act: &'a Act,
    pub fact: Option<&'a Fact>,
    pub reason: &'a str,
    pub known: &'a Stored,
}

impl Case<'_> {
    /// Decides, or gives what was decided in the same way before.
    pub async fn make(&self, tx: &mut TenantTx, writer: &Permit, changes: &mut Changes) -> Result<Decided> {
        let new_key = self.fact.map_or(self.known.key.as_str(), |fact| &fact.key.key);
        let scope = &self.known.scope;
        store::lock_keys(tx, &[(scope, &self.known.key), (scope, new_key)]).await?;
        let mut ids = vec![self.known.id];
        if let Act::Merge(Target::Candidate(target)) = self.act {
            ids.push(*target);
        }
        let mut locked = store::lock_many(tx, &ids).await?;
        let place = locked.iter().position(|stored| stored.id == self.known.id);
        let mut candidate = locked.swap_remove(place.ok_or(Error::NotFound("candidate"))?);
        // It may have become more sensitive since it was looked at.
        if !writer.sees(&candidate.scope, candidate.sensitivity) {
            return Err(Error::NotFound("candidate"));
        }
        match self.act.step_now(&candidate, changes.now)? {
            Step::Decide => {}
            Step::OnlySuppress => {
                if self.suppress(tx, &candidate, changes).await? {
                    self.audit(tx, writer, changes).await?;
                }
                return Ok(Decided { candidate: candidate.shown(changes.now), record: None });
            }
            Step::Stay | Step::Refuse => {
                let record = match candidate.memory_id {
                    Some(id) => accept::find(tx, writer, id).await?,
                    None => None,
                };
                // What was forgotten since is not told again.
                let record = record.filter(|record| record.status != Status::Deleted);
                return Ok(Decided { candidate: candidate.shown(changes.now), record });
            }
        }
        candidate.decision_reason = Some(self.reason.to_owned());
        candidate.decided_at = Some(changes.now.into());
        candidate.decided_by = Some(writer.actor().clone());
        let record = match self.act {
            Act::Approve(edit) => {
                Some(self.approve(tx, writer, changes, &mut candidate, edit.is_some()).await?)
            }
            Act::Merge(Target::Memory(id)) => {
                Some(merge_into_record(tx, writer, changes, &mut candidate, *id).await?)
            }
            Act::Merge(Target::Candidate(_)) => {
                merge_into_candidate(tx, writer, changes, &mut candidate, locked.pop()).await?;
                None
            }
            Act::Suppress => {
                candidate.status = CandidateStatus::AutoRejected;
                candidate.detail.suppress_similar = true;
                self.suppress(tx, &candidate, changes).await?;
                None
            }
            Act::Reject => {
                candidate.status = CandidateStatus::Rejected;
                None
            }
            Act::Expire => {
                candidate.status = CandidateStatus::Expired;
                None
            }
        };
        store::update(tx, &candidate).await?;
        self.audit(tx, writer, changes).await?;
        Ok(Decided { candidate: candidate.shown(changes.now), record })
    }

    async fn audit(&self, tx: &mut TenantTx, writer: &Permit, changes: &Changes) -> Result<()> {
        let action = format!("candidate.{}", self.act.usual_reason());
        tx.audit(writer, &action, &self.known.id.to_string(), changes.now).await
    }

    /// Tells whether it was not suppressed before.
    async fn suppress(&self, tx: &mut TenantTx, candidate: &Stored, changes: &Changes) -> Result<bool> {
        let embedding = self.fact.and_then(|fact| fact.incoming.embedding());
        suppression_store::insert(tx, candidate, embedding, changes.now).await
    }

    /// Makes it a record; what is known already gets its evidence instead (C114).
    async fn approve(
        &self,
        tx: &mut TenantTx,
        writer: &Permit,
        changes: &mut Changes,
        candidate: &mut Stored,
        is_edited: bool,
    ) -> Result<Record> {
        let fact = self.fact.ok_or_else(|| Error::internal("an approval without a fact"))?;
        // Evidence may have come since it was looked at.
        let fact = fact.proven_by(candidate)?;
        if is_edited {
            let original = std::mem::replace(&mut candidate.text, fact.content().to_owned());
            candidate.detail.original_text = Some(original);
            candidate.detail.value.clone_from(&fact.value);
            candidate.key.clone_from(&fact.key.key);
            candidate.fingerprint = fact.fingerprint;
        }
        let record = match fact.look_up(tx, changes).await? {
            Known::Same(record) => {
                candidate.status = CandidateStatus::MergedDuplicate;
                let sensitivity = candidate.sensitivity;
                add_evidence(tx, writer, changes, *record, &fact.evidence, sensitivity).await?.0
            }
            known => {
                let old = match &known {
                    Known::Other(old) => Some(&**old),
                    Known::Nothing | Known::Same(_) => None,
                };
                candidate.status = CandidateStatus::Approved;
                fact.accept(tx, writer, changes, old).await?.record
            }
        };
        candidate.memory_id = Some(record.id);
        Ok(record)
    }
}

async fn merge_into_record(
    tx: &mut TenantTx,
    writer: &Permit,
    changes: &mut Changes,
    candidate: &mut Stored,
    target: MemoryId,
) -> Result<Record> {
    let record = accept::lock_active(tx, writer, changes, target).await?;
    if record.scope != candidate.scope {
        return Err(Error::invalid("target_memory_id", "belongs to another scope"));
    }
    candidate.status = CandidateStatus::MergedDuplicate;
    candidate.memory_id = Some(target);
    let (evidence, sensitivity) = (&candidate.detail.evidence, candidate.sensitivity);
    Ok(add_evidence(tx, writer, changes, record, evidence, sensitivity).await?.0)
}

async fn merge_into_candidate(
    tx: &mut TenantTx,
    writer: &Permit,
    changes: &Changes,
    candidate: &mut Stored,
    target: Option<Stored>,
) -> Result<()> {
    let target = target.filter(|target| writer.sees(&target.scope, target.sensitivity));
    // Alone in what was locked: it was to be merged into itself.
    let mut target = target.ok_or(Error::NotFound("candidate"))?;
    if target.scope != candidate.scope {
        return Err(Error::invalid("target_candidate_id", "belongs to another scope"));
    }
    if !target.is_open(changes.now) {
        return Err(Error::NotPending(target.shown(changes.now).status.as_str()));
    }
    candidate.status = CandidateStatus::MergedDuplicate;
    target.gather(&candidate.detail.evidence, candidate.sensitivity);
    store::update(tx, &target).await
}

//! One decision within its transaction: what an act does to a candidate in its state (PC-39).

use super::Stored;
use super::merge_evidence;
use super::outcome::{Fact, Known, Parts, add_evidence};
use super::review::{Decided, Edit};
use super::semantic::check_value;
use super::store;
use super::word::CandidateStatus;
use crate::app::App;
use crate::auth::Permit;
use crate::db::TenantTx;
use crate::error::{Error, Result};
use crate::id::{CandidateId, MemoryId};
use crate::memory::Record;
use crate::memory::accept;
use crate::memory::draft::check_content;
use crate::memory::write::Changes;

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
    pub fn step_now(&self, candidate: &Stored, now: chrono::DateTime<chrono::Utc>) -> Result<Step> {
        let is_late = candidate.status.is_pending() && !candidate.is_open(now);
        let status = if is_late { CandidateStatus::Expired } else { candidate.status };
        match self.step(status, candidate.detail.suppress_similar) {
            Step::Refuse => Err(Error::NotPending(status.as_str())),
            step => Ok(step),
        }
    }
}

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
        match self.act.step_now(&candidate, changes.now)? {
            Step::Decide => {}
            Step::OnlySuppress => {
                self.suppress(tx, &candidate, changes).await?;
                return Ok(Decided { candidate: candidate.shown(changes.now), record: None });
            }
            Step::Stay | Step::Refuse => {
                let record = match candidate.memory_id {
                    Some(id) => accept::find(tx, writer, id).await?,
                    None => None,
                };
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
        let action = format!("candidate.{}", self.act.usual_reason());
        tx.audit(writer, &action, &candidate.id.to_string(), changes.now).await?;
        Ok(Decided { candidate: candidate.shown(changes.now), record })
    }

    async fn suppress(&self, tx: &mut TenantTx, candidate: &Stored, changes: &Changes) -> Result<()> {
        let embedding = self.fact.and_then(|fact| fact.incoming.embedding());
        store::suppress(tx, candidate, embedding, changes.now).await
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
                add_evidence(tx, writer, changes, *record, &candidate.detail.evidence).await?.0
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
    Ok(add_evidence(tx, writer, changes, record, &candidate.detail.evidence).await?.0)
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
    merge_evidence(&mut target.detail.evidence, &candidate.detail.evidence);
    store::update(tx, &target).await
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

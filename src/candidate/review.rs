//! Decisions of reviewers (PC-39, XC-30, XC-31). A candidate is decided once.

use super::act::{Act, Step, Target};
pub use super::act::{Decide, Decided, Edit, Merge, Review};
use super::decision::{Case, prepare};
use super::read::{find_seen, parse_reference};
use super::word::Decision;
use crate::app::App;
use crate::auth::{Action, Area, Caller};
use crate::db::with_retry;
use crate::error::{Error, Result};
use crate::idempotency::{self, Answer, Key};
use crate::memory::draft::parse_reference as parse_memory;
use crate::memory::forget::check_reason;
use crate::memory::write::Changes;

/// Approves, rejects or expires a candidate.
pub async fn decide(
    app: &App,
    caller: &Caller,
    id: &str,
    decide: Decide,
    key: Option<Key>,
) -> Result<Answer<Decided>> {
    let act = match decide.decision {
        Decision::Approve => Act::Approve(None),
        Decision::Reject => Act::Reject,
        Decision::Expire => Act::Expire,
    };
    review(app, caller, id, act, decide.reason, key).await
}

/// Makes a candidate an active record.
pub async fn approve(
    app: &App,
    caller: &Caller,
    id: &str,
    why: Review,
    key: Option<Key>,
) -> Result<Answer<Decided>> {
    review(app, caller, id, Act::Approve(None), why.reason, key).await
}

/// Rejects a candidate; machines do not propose it again.
pub async fn reject(
    app: &App,
    caller: &Caller,
    id: &str,
    why: Review,
    key: Option<Key>,
) -> Result<Answer<Decided>> {
    review(app, caller, id, Act::Reject, why.reason, key).await
}

/// Makes a candidate an active record with another text.
pub async fn edit_and_approve(
    app: &App,
    caller: &Caller,
    id: &str,
    mut edit: Edit,
    key: Option<Key>,
) -> Result<Answer<Decided>> {
    let reason = edit.reason.take();
    review(app, caller, id, Act::Approve(Some(edit)), reason, key).await
}

/// Merges a candidate into a record or another candidate, which gets its evidence.
pub async fn merge(
    app: &App,
    caller: &Caller,
    id: &str,
    merge: Merge,
    key: Option<Key>,
) -> Result<Answer<Decided>> {
    // Which right is needed depends on the target, so that it is looked at before rights.
    let target = match (&merge.target_memory_id, &merge.target_candidate_id) {
        (Some(id), None) => parse_memory("target_memory_id", id).map(Target::Memory),
        (None, Some(id)) => parse_reference("target_candidate_id", id).map(Target::Candidate),
        _ => Err(Error::invalid("", "exactly one of `target_memory_id` and `target_candidate_id` is wanted")),
    };
    caller.permit(Action::Review, Area::Candidates)?;
    if merge.target_memory_id.is_some() {
        caller.permit(Action::Write, Area::Durable)?;
    }
    review(app, caller, id, Act::Merge(target?), merge.reason, key).await
}

/// Rejects a candidate and what is like it from now on (XC-31).
pub async fn suppress_similar(
    app: &App,
    caller: &Caller,
    id: &str,
    why: Review,
    key: Option<Key>,
) -> Result<Answer<Decided>> {
    review(app, caller, id, Act::Suppress, why.reason, key).await
}

/// One way for all decisions: rights, then what is slow, then one transaction.
async fn review(
    app: &App,
    caller: &Caller,
    id: &str,
    act: Act,
    reason: Option<String>,
    key: Option<Key>,
) -> Result<Answer<Decided>> {
    let permit = &caller.permit(Action::Review, Area::Candidates)?;
    let writer =
        &if act.changes_memory() { caller.permit(Action::Write, Area::Durable)? } else { permit.clone() };
    let once = idempotency::run(app, permit, key, |claim| async move {
        let (act, id) = (&act, parse_reference("candidate_id", id)?);
        let reason = check_reason(reason.as_deref())?.filter(|reason| !reason.is_empty());
        let reason = reason.unwrap_or_else(|| act.usual_reason().to_owned());
        let known = find_seen(app, permit, id).await?;
        let fact = match act.step_now(&known, app.clock.now())? {
            Step::Stay => None,
            _ => prepare(app, writer, &known, act).await?,
        };
        with_retry(|| async {
            let mut tx = app.db.begin(writer).await?;
            let mut changes = Changes::new(writer, app.clock.now());
            let decision = Case { act, fact: fact.as_ref(), reason: &reason, known: &known };
            let decided = decision.make(&mut tx, writer, &mut changes).await?;
            changes.write(&mut tx).await?;
            let answer = Answer::ok(decided);
            claim.settle(&mut tx, permit, &answer).await?;
            tx.commit().await?;
            Ok(answer)
        })
        .await
    });
    Box::pin(once).await
}

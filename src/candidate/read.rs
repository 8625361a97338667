//! Getting one candidate and listing many.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Candidate, CandidateStatus, Stored, store};
use crate::app::App;
use crate::auth::{Action, Area, Caller, Permit};
use crate::db::TenantTx;
use crate::error::{Error, Result};
use crate::id::{CandidateId, MemoryId, ParseIdError};
use crate::memory::filter::Filter;
use crate::memory::{Category, Scope, Status, accept};
use crate::page::{CursorScope, Limit};

/// Which candidates to list. Absent members do not limit.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemoryCandidateListParams")]
#[serde(deny_unknown_fields)]
pub struct CandidateList {
    /// Only these scopes.
    #[serde(default)]
    pub scopes: Option<Vec<Scope>>,
    /// Only these categories.
    #[serde(default)]
    pub categories: Option<Vec<Category>>,
    /// Only these statuses.
    #[serde(default)]
    pub statuses: Option<Vec<CandidateStatus>>,
    /// How many a page holds.
    #[serde(default)]
    pub limit: Option<Limit>,
    /// Where the page before ended.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// A page of candidates, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemoryCandidatePage")]
pub struct CandidatePage {
    /// The candidates.
    pub candidates: Vec<Candidate>,
    /// Where the next page starts, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Gives a candidate; nothing when there is none for this token.
pub async fn find(app: &App, caller: &Caller, id: &str) -> Result<Option<Candidate>> {
    let permit = caller.permit(Action::Read, Area::Candidates)?;
    let id = match id.parse() {
        Ok(id) => id,
        Err(ParseIdError::OtherKind) => return Ok(None),
        Err(error) => return Err(Error::invalid("candidate_id", error.to_string())),
    };
    match find_seen(app, &permit, id).await {
        Ok(stored) => Ok(Some(stored.shown(app.clock.now()))),
        Err(Error::NotFound(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The candidate of an id, if it exists for the token.
pub(super) async fn find_seen(app: &App, permit: &Permit, id: CandidateId) -> Result<Stored> {
    let mut tx = app.db.begin(permit).await?;
    let mut found = store::find_many(&mut tx, &[id]).await?;
    leave_out_gone(&mut tx, &mut found, app.clock.now()).await?;
    let found = found.pop();
    found.filter(|stored| permit.sees(&stored.scope, stored.sensitivity)).ok_or(Error::NotFound("candidate"))
}

/// Leaves out what became a record that can no longer be taken back, whether or not it was purged.
async fn leave_out_gone(tx: &mut TenantTx, found: &mut Vec<Stored>, now: DateTime<Utc>) -> Result<()> {
    let memories: Vec<MemoryId> = found.iter().filter_map(|stored| stored.memory_id).collect();
    let gone = accept::gone(tx, &memories, now).await?;
    found.retain(|stored| !stored.memory_id.is_some_and(|id| gone.contains(&id)));
    Ok(())
}

/// A candidate that a request names; the id of something else names one that does not exist.
pub(super) fn parse_reference(field: &'static str, text: &str) -> Result<CandidateId> {
    match text.parse() {
        Ok(id) => Ok(id),
        Err(ParseIdError::OtherKind) => Err(Error::NotFound("candidate")),
        Err(error) => Err(Error::invalid(field, error.to_string())),
    }
}

/// Gives a page of candidates, newest first.
pub async fn list(app: &App, caller: &Caller, list: &CandidateList) -> Result<CandidatePage> {
    let permit = caller.permit(Action::Read, Area::Candidates)?;
    // The statuses of records mean nothing here; one stands in for all.
    let filter =
        Filter::new(&permit, list.scopes.as_deref(), list.categories.as_deref(), &[Status::Active], None)?;
    let (now, limit) = (app.clock.now(), list.limit.unwrap_or_default().get());
    let question = CandidateList { limit: None, cursor: None, ..list.clone() };
    let cursors = CursorScope::new(permit.tenant(), "candidates", &(permit.namespace(), question))?;
    let before = list.cursor.as_deref().map(|cursor| cursors.place(&app.seal, now, cursor)).transpose()?;
    if filter.is_empty() || list.statuses.as_ref().is_some_and(Vec::is_empty) {
        return Ok(CandidatePage { candidates: Vec::new(), next_cursor: None });
    }
    let mut tx = app.db.begin(&permit).await?;
    tx.plan_for_values().await?;
    let mut ids = store::list_ids(&mut tx, &filter, list.statuses.as_deref(), before, limit + 1, now).await?;
    let has_more = ids.len() > limit;
    ids.truncate(limit);
    let mut found = store::find_many(&mut tx, &ids).await?;
    found.sort_by_key(|stored| std::cmp::Reverse(stored.id));
    leave_out_gone(&mut tx, &mut found, now).await?;
    let last = ids.last().filter(|_| has_more);
    let next_cursor = last.map(|last| cursors.cursor(&app.seal, now, last)).transpose()?;
    Ok(CandidatePage { candidates: found.into_iter().map(|stored| stored.shown(now)).collect(), next_cursor })
}

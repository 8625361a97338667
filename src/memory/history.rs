//! What a record was.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::draft::parse_reference;
use super::forget::is_gone;
use super::read::parse;
use super::{ChangeKind, Record, store};
use crate::app::App;
use crate::auth::{Action, Actor, Area, Caller};
use crate::error::{Error, Result};
use crate::page::{CursorScope, Limit, given};
use crate::time::UnixTime;

/// One version of a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Version {
    /// Its number, from 1.
    pub version: i64,
    /// What made it.
    pub change_kind: ChangeKind,
    /// When.
    pub changed_at: UnixTime,
    /// In whose name.
    pub actor: Actor,
    /// The record as it was then.
    pub record: Record,
}

/// A page of versions, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VersionPage {
    /// The versions.
    pub versions: Vec<Version>,
    /// Where the next page starts, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Which page of the history.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HistoryQuery {
    /// How many a page holds.
    #[serde(default, deserialize_with = "given")]
    pub limit: Option<String>,
    /// Where the page before ended.
    #[serde(default, deserialize_with = "given")]
    pub cursor: Option<String>,
}

/// Gives the versions of a record, newest first. Versions above the token's sensitivity are left out.
pub async fn history(app: &App, caller: &Caller, id: &str, query: &HistoryQuery) -> Result<VersionPage> {
    let permit = caller.permit(Action::Read, Area::Durable)?;
    let id = parse_reference("id", id)?;
    let limit: Option<Limit> = query.limit.as_deref().map(|limit| parse("limit", limit)).transpose()?;
    let (now, limit) = (app.clock.now(), limit.unwrap_or_default().get());
    let cursors = CursorScope::new(permit.tenant(), "history", &(permit.namespace(), id))?;
    let before = query.cursor.as_deref().map(|cursor| cursors.place(&app.seal, now, cursor)).transpose()?;
    let mut tx = app.db.begin(&permit).await?;
    let current = store::find_many(&mut tx, &[id]).await?.pop();
    current
        .filter(|record| !is_gone(record, now))
        .filter(|record| permit.sees(&record.scope, record.sensitivity))
        .ok_or(Error::NotFound("memory"))?;
    let mut versions = store::versions(&mut tx, id, before, limit + 1).await?;
    let has_more = versions.len() > limit;
    versions.truncate(limit);
    let last = versions.last().filter(|_| has_more).map(|version| version.version);
    let next_cursor = last.map(|last| cursors.cursor(&app.seal, now, &last)).transpose()?;
    versions.retain(|version| permit.sees(&version.record.scope, version.record.sensitivity));
    Ok(VersionPage { versions, next_cursor })
}

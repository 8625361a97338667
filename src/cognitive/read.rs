//! Getting a session, listing many, and reading what was written down in order (XB-68).

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::entry::Entry;
use super::{MAX_AGENT_ID_BYTES, Session, SessionReply, SessionStatus, entry_store, parse_session, store};
use crate::app::App;
use crate::auth::{Action, Area, Caller};
use crate::error::{Error, Result};
use crate::memory::draft::check_name;
use crate::memory::read::parse;
use crate::page::{CursorScope, Limit, given};

/// Which sessions to list, as a query string.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionQuery {
    /// Only this agent's.
    #[serde(default, deserialize_with = "given")]
    pub agent_id: Option<String>,
    /// Only active or only closed ones.
    #[serde(default, deserialize_with = "given_status")]
    pub status: Option<SessionStatus>,
    /// How many a page holds: 1 to 100, 20 unless given.
    #[serde(default, deserialize_with = "given")]
    pub limit: Option<String>,
    /// Where the page before ended.
    #[serde(default, deserialize_with = "given")]
    pub cursor: Option<String>,
}

/// An empty one is none of the two, and not left out.
fn given_status<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SessionStatus>, D::Error> {
    SessionStatus::deserialize(deserializer).map(Some)
}

/// A page of sessions, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CognitiveSessionPage")]
pub struct SessionPage {
    /// The sessions.
    pub sessions: Vec<Session>,
    /// Where the next page starts, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Which entries of a session.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimelineQuery {
    /// Only entries after this number; 0 unless given.
    #[serde(default, deserialize_with = "given")]
    pub after_seq: Option<String>,
    /// How many: 1 to 100, 20 unless given.
    #[serde(default, deserialize_with = "given")]
    pub limit: Option<String>,
}

/// Entries of a session, in the order in which they were written down.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CognitiveTimeline")]
pub struct Timeline {
    /// The entries.
    pub entries: Vec<Entry>,
    /// The number to go on after, if there are more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_after_seq: Option<i64>,
}

/// Gives a session.
pub async fn get(app: &App, caller: &Caller, id: &str) -> Result<SessionReply> {
    let permit = caller.permit(Action::Read, Area::Cognitive)?;
    let id = parse_session("id", id)?;
    let mut tx = app.db.begin(&permit).await?;
    let session = store::find(&mut tx, id).await?.ok_or(Error::NotFound("session"))?;
    Ok(SessionReply { session })
}

/// Gives a page of sessions, newest first.
pub async fn list(app: &App, caller: &Caller, query: &SessionQuery) -> Result<SessionPage> {
    let permit = caller.permit(Action::Read, Area::Cognitive)?;
    check_name("agent_id", query.agent_id.as_deref(), MAX_AGENT_ID_BYTES)?;
    let limit: Option<Limit> = query.limit.as_deref().map(|limit| parse("limit", limit)).transpose()?;
    let (now, limit) = (app.clock.now(), limit.unwrap_or_default().get());
    let question = SessionQuery { limit: None, cursor: None, ..query.clone() };
    let cursors = CursorScope::new(permit.tenant(), "sessions", &(permit.namespace(), question))?;
    let before = query.cursor.as_deref().map(|cursor| cursors.place(&app.seal, now, cursor)).transpose()?;
    let mut tx = app.db.begin(&permit).await?;
    tx.plan_for_values().await?;
    let agent = query.agent_id.as_deref();
    let mut sessions = store::list(&mut tx, agent, query.status, before, limit + 1).await?;
    let has_more = sessions.len() > limit;
    sessions.truncate(limit);
    let last = sessions.last().filter(|_| has_more).map(|session| session.id);
    let next_cursor = last.map(|last| cursors.cursor(&app.seal, now, &last)).transpose()?;
    Ok(SessionPage { sessions, next_cursor })
}

/// Gives entries of a session in order.
pub async fn timeline(app: &App, caller: &Caller, id: &str, query: &TimelineQuery) -> Result<Timeline> {
    let permit = caller.permit(Action::Read, Area::Cognitive)?;
    let id = parse_session("id", id)?;
    let after = query.after_seq.as_deref().map_or(Ok(0), parse_seq)?;
    let limit: Option<Limit> = query.limit.as_deref().map(|limit| parse("limit", limit)).transpose()?;
    let limit = limit.unwrap_or_default().get();
    let mut tx = app.db.begin(&permit).await?;
    store::find(&mut tx, id).await?.ok_or(Error::NotFound("session"))?;
    let mut entries = entry_store::entries(&mut tx, id, after, limit + 1).await?;
    let has_more = entries.len() > limit;
    entries.truncate(limit);
    let next_after_seq = entries.last().filter(|_| has_more).map(Entry::seq);
    Ok(Timeline { entries, next_after_seq })
}

fn parse_seq(text: &str) -> Result<i64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let parsed = text.parse().ok().filter(|_| is_number);
    parsed.ok_or_else(|| Error::invalid("after_seq", "must be the number of an entry, or 0"))
}

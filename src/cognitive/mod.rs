//! Cognitive sessions: a record of a task's goal, and of what an agent thought, decided and said on the way (B-040).
//!
//! - A session belongs to a namespace. It is active until it is closed, and never opened again.
//! - Entries of all three kinds share one counter, from 1 and without gaps (XB-66). It is the sum of the session's
//!   counts, raised in the row of the session, so that whoever adds an entry waits for the one before.
//! - Entries are added and never changed. A closed session changes no more.
//! - Nothing here fills working memory; what is to last becomes durable memory when the session is closed ([`close`]).

pub mod close;
mod consolidate;
pub mod context;
pub mod decision;
pub mod entry;
mod entry_store;
pub mod interaction;
mod prompt;
pub mod read;
mod store;
pub mod thought;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use self::entry::Entry;
use crate::app::App;
use crate::auth::{Action, Area, Caller};
use crate::db::{TenantTx, with_retry};
use crate::error::{Error, Result};
use crate::id::{ParseIdError, SessionId};
use crate::idempotency::{self, Answer, Key};
use crate::memory::check_identifier;
use crate::memory::draft::{check_metadata, clean};
use crate::memory::text::is_blank;
use crate::time::UnixTime;

/// The longest id of an agent, in bytes (XB-62).
const MAX_AGENT_ID_BYTES: usize = 128;

/// The longest goal, in bytes after trimming (XB-62).
const MAX_GOAL_BYTES: usize = 4_096;

/// The longest text of an entry, in bytes (XB-67), and the longest rationale or summary.
const MAX_TEXT_BYTES: usize = 65_536;

/// A session: what an agent is after.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CognitiveSession")]
pub struct Session {
    /// The session's id.
    pub id: SessionId,
    /// The agent at work, in the tenant's own terms.
    pub agent_id: String,
    /// What it is after.
    pub goal: String,
    /// Whether it goes on.
    pub status: SessionStatus,
    /// When it was started.
    pub created_at: UnixTime,
    /// When it was last written to.
    pub updated_at: UnixTime,
    /// When it was closed.
    pub closed_at: Option<UnixTime>,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// What came of it, as it was said when it was closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// How many thoughts it holds.
    pub thought_count: i64,
    /// How many decisions it holds.
    pub decision_count: i64,
    /// How many interactions it holds.
    pub interaction_count: i64,
    /// The client's own data.
    pub metadata: Map<String, Value>,
}

/// Whether a session goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, sqlx::Type)]
#[schemars(rename = "CognitiveSessionStatus")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    /// It does.
    Active,
    /// It has ended.
    Closed,
}

/// How a session ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, sqlx::Type)]
#[schemars(rename = "CognitiveSessionOutcome")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The goal was reached.
    #[default]
    Completed,
    /// It was given up.
    Abandoned,
    /// It could not be reached.
    Failed,
}

/// A session to be started (B-042). Unknown members are passed over.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StartSession")]
pub struct Start {
    /// The agent at work: 1 to 128 bytes without control characters.
    pub agent_id: String,
    /// What it is after: 1 to 4,096 bytes after trimming.
    pub goal: String,
    /// The client's own data: at most 16 KiB.
    #[serde(default)]
    pub metadata: Option<Map<String, Value>>,
}

/// A session (B-043).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CognitiveSessionReply")]
pub struct SessionReply {
    /// The session.
    pub session: Session,
}

/// Starts a session.
pub async fn start(app: &App, caller: &Caller, new: Start, key: Option<Key>) -> Result<Answer<SessionReply>> {
    let permit = &caller.permit(Action::Write, Area::Cognitive)?;
    let once = idempotency::run(app, permit, key, |claim| async move {
        let session = new.check(app.clock.now())?;
        let answer = Answer::ok(SessionReply { session });
        with_retry(|| async {
            let mut tx = app.db.begin(permit).await?;
            store::start(&mut tx, permit, &answer.body.session).await?;
            claim.settle(&mut tx, permit, &answer).await?;
            tx.commit().await
        })
        .await?;
        Ok(answer)
    });
    Box::pin(once).await
}

impl Start {
    fn check(self, now: DateTime<Utc>) -> Result<Session> {
        check_identifier(&self.agent_id, MAX_AGENT_ID_BYTES).map_err(|error| error.inside("agent_id"))?;
        let goal = check_goal(&self.goal)?;
        check_metadata(self.metadata.as_ref())?;
        Ok(Session {
            id: SessionId::new(),
            agent_id: self.agent_id,
            goal,
            status: SessionStatus::Active,
            created_at: now.into(),
            updated_at: now.into(),
            closed_at: None,
            outcome: None,
            summary: None,
            thought_count: 0,
            decision_count: 0,
            interaction_count: 0,
            metadata: self.metadata.unwrap_or_default(),
        })
    }
}

impl Session {
    /// The number of its latest entry; 0 when there is none.
    pub fn last_seq(&self) -> i64 {
        self.thought_count + self.decision_count + self.interaction_count
    }

    /// The session as it was when it was started.
    #[must_use]
    pub fn as_started(self) -> Self {
        Self {
            status: SessionStatus::Active,
            updated_at: self.created_at,
            closed_at: None,
            outcome: None,
            summary: None,
            thought_count: 0,
            decision_count: 0,
            interaction_count: 0,
            ..self
        }
    }
}

/// The goal of an active session, for what works beside it. Needs read on sessions.
///
/// Fails with `NotFound` when there is no such session, with `Conflict` when it is closed.
pub async fn goal(app: &App, caller: &Caller, id: &str) -> Result<String> {
    let permit = caller.permit(Action::Read, Area::Cognitive)?;
    let id = parse_session("session_id", id)?;
    let mut tx = app.db.begin(&permit).await?;
    let session = store::find(&mut tx, id).await?.ok_or(Error::NotFound("session"))?;
    if session.status == SessionStatus::Closed { Err(closed()) } else { Ok(session.goal) }
}

/// What is there of these sessions and of these entries of theirs, in no order: for who tells of them.
pub async fn look_up(
    tx: &mut TenantTx,
    sessions: &[SessionId],
    entries: &[(SessionId, i64)],
) -> Result<(Vec<Session>, Vec<Entry>)> {
    let sessions = if sessions.is_empty() { Vec::new() } else { store::find_many(tx, sessions).await? };
    let entries = if entries.is_empty() { Vec::new() } else { entry_store::entries_at(tx, entries).await? };
    Ok((sessions, entries))
}

fn closed() -> Error {
    Error::Conflict("the session is closed".into())
}

/// A session that a request names; the id of something else names one that does not exist.
fn parse_session(field: &'static str, text: &str) -> Result<SessionId> {
    match text.parse() {
        Ok(id) => Ok(id),
        Err(ParseIdError::OtherKind) => Err(Error::NotFound("session")),
        Err(error) => Err(Error::invalid(field, error.to_string())),
    }
}

/// A goal as it is kept: without U+0000 and without white space around it.
pub fn check_goal(goal: &str) -> Result<String> {
    clean("goal", goal.replace('\0', "").trim(), MAX_GOAL_BYTES)
}

/// The text of an entry as it is kept: without U+0000, and otherwise as it was sent. Too large is 413.
fn check_text(field: &'static str, text: &str) -> Result<String> {
    let text = text.replace('\0', "");
    if text.len() > MAX_TEXT_BYTES {
        return Err(Error::too_large(field, MAX_TEXT_BYTES as u64, text.len() as u64));
    }
    clean(field, &text, MAX_TEXT_BYTES)
}

/// A text that may be left out; a blank one is.
fn check_more(field: &'static str, text: Option<String>) -> Result<Option<String>> {
    let text = text.map(|text| text.replace('\0', "")).filter(|text| !is_blank(text));
    text.map(|text| clean(field, &text, MAX_TEXT_BYTES)).transpose()
}

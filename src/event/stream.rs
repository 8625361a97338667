//! One reader's stream: from a place on, in order and once, as long as its token lasts.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::sync::watch;

use super::KEPT_FOR;
use super::hub::{Topic, Turn};
use super::payload::{Event, Notification, What};
use super::store::{self, Row};
use crate::app::App;
use crate::auth::{Action, Area, Caller, Permit};
use crate::cognitive::entry::Entry;
use crate::cognitive::{self, Session};
use crate::error::{Error, Result};
use crate::id::{MemoryId, SessionId};
use crate::memory::accept::{self, AtVersion};
use crate::memory::read::shown;
use crate::memory::{ChangeKind, Status};

/// How often a stream without events looks whether its token has ended. A look is into memory.
const TOKEN_CHECK: Duration = Duration::from_secs(1);

/// How long a stream waits before it tries again when the database is away.
const RETRY: Duration = Duration::from_secs(1);

/// What tells of an entry of a session.
const ENTRY_ADDED: &str = "cognitive/entry_added";

/// A stream that is open.
#[derive(Debug)]
pub struct Stream {
    caller: Caller,
    permit: Permit,
    topic: Arc<Topic>,
    word: watch::Receiver<u64>,
    /// The number of the last event that was looked at.
    position: i64,
    _turn: Turn,
}

/// Opens a stream after a number: 0 is the oldest event that is kept; without one it starts now.
///
/// Needs `read` on events, and a turn, which it keeps. Fails with `CursorExpired` when events after the number are gone, with `Invalid` when there
/// is no such number yet.
pub async fn open(app: &App, caller: &Caller, after: Option<&str>, turn: Turn) -> Result<Stream> {
    let permit = caller.permit(Action::Read, Area::Events)?;
    let after = after.map(parse).transpose()?;
    let word = app.events.follow(permit.tenant());
    let head = {
        let mut tx = app.db.begin(&permit).await?;
        store::head(&mut tx, app.clock.now() - KEPT_FOR).await?
    };
    let position = match after {
        None => head.seq,
        Some(0) => head.purged,
        Some(after) if after > head.seq => {
            return Err(Error::invalid("after", "is a number that no event has yet"));
        }
        Some(after) if after < head.purged => return Err(Error::CursorExpired),
        Some(after) => after,
    };
    let topic = app.events.topic(permit.tenant(), permit.namespace());
    Ok(Stream { caller: caller.clone(), permit, topic, word, position, _turn: turn })
}

fn parse(after: &str) -> Result<i64> {
    let is_number = !after.is_empty() && after.bytes().all(|byte| byte.is_ascii_digit());
    let parsed = after.parse().ok().filter(|_| is_number);
    parsed.ok_or_else(|| Error::invalid("after", "must be the number of an event, or 0"))
}

impl Stream {
    /// Waits for the next events that the caller may know of. Never gives none; may be given up at any time without
    /// losing any.
    ///
    /// Fails when the token has ended. When the database is away, it waits until it is back.
    pub async fn next(&mut self, app: &App) -> Result<Vec<Notification>> {
        loop {
            self.caller = app.auth.readmit(app, &self.caller)?;
            let word = *self.word.borrow_and_update();
            match self.topic.after(app, &self.permit, self.position, word).await {
                Ok(events) => {
                    let Some(last) = events.last() else {
                        self.wait().await;
                        continue;
                    };
                    let told: Vec<Notification> =
                        events.iter().filter_map(|event| event.told_to(&self.caller)).collect();
                    self.position = last.seq;
                    if !told.is_empty() {
                        return Ok(told);
                    }
                }
                Err(Error::Unavailable { .. }) => tokio::time::sleep(RETRY).await,
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits for a word, but not longer than the token may go unlooked at.
    async fn wait(&mut self) {
        // The sender lives as long as the hub.
        let _ = tokio::time::timeout(TOKEN_CHECK, self.word.changed()).await;
    }
}

/// Reads events after a number, with everything anybody may be told of them: two statements, and two more when some are
/// of sessions.
pub(super) async fn read(app: &App, permit: &Permit, seq: i64, limit: i64) -> Result<Vec<Event>> {
    let mut tx = app.db.begin(permit).await?;
    let rows = store::after(&mut tx, seq, limit).await?;
    let versions: Vec<(MemoryId, i64)> =
        rows.iter().filter_map(|row| row.memory_id.zip(row.version)).collect();
    let versions = accept::at_versions(&mut tx, &versions).await?;
    let versions = versions.into_iter().map(|version| ((version.record.id, version.record.version), version));
    let entry = |row: &&Row| row.method == ENTRY_ADDED;
    let places: Vec<(SessionId, i64)> =
        rows.iter().filter(entry).filter_map(|row| row.session_id.zip(row.version)).collect();
    let sessions: Vec<SessionId> =
        rows.iter().filter(|row| !entry(row)).filter_map(|row| row.session_id).collect();
    let (sessions, entries) = cognitive::look_up(&mut tx, &sessions, &places).await?;
    let known = Known {
        versions: versions.collect(),
        sessions: sessions.into_iter().map(|session| (session.id, session)).collect(),
        entries: entries.into_iter().map(|entry| ((entry.session_id(), entry.seq()), entry)).collect(),
        now: app.clock.now(),
    };
    Ok(rows.into_iter().map(|row| known.event(row)).collect())
}

/// What is there of what events are about.
struct Known {
    versions: HashMap<(MemoryId, i64), AtVersion>,
    sessions: HashMap<SessionId, Session>,
    entries: HashMap<(SessionId, i64), Entry>,
    now: DateTime<Utc>,
}

impl Known {
    fn event(&self, row: Row) -> Event {
        let version = row.memory_id.zip(row.version).and_then(|place| self.versions.get(&place));
        let mut sensitivities: Vec<_> = row.sensitivity.into_iter().collect();
        sensitivities
            .extend(version.iter().flat_map(|version| [version.record.sensitivity, version.sensitivity]));
        let scope = row.scope.clone().or_else(|| version.map(|version| version.record.scope.clone()));
        Event { seq: row.seq, at: row.at, scope, sensitivities, what: self.what(row, version) }
    }

    fn what(&self, row: Row, version: Option<&AtVersion>) -> What {
        let session = || row.session_id.and_then(|id| self.sessions.get(&id)).cloned();
        match (row.method.as_str(), row.memory_id) {
            ("memory/candidate_created", _) => What::CandidateCreated(row.candidate.map(Box::new)),
            ("memory/forgotten", _) => {
                let reason = version.and_then(|version| version.record.delete_reason.clone());
                What::Forgotten { memory_ids: row.memory_ids, reason }
            }
            ("memory/erased", _) => What::Erased,
            (_, Some(memory_id)) => {
                let kept = version.filter(|version| version.status != Status::Deleted);
                let record = kept.map(|version| Box::new(shown(version.record.clone(), self.now)));
                What::Changed { memory_id, kind: row.change_kind.unwrap_or(ChangeKind::Updated), record }
            }
            ("cognitive/session_started", _) => session()
                .map_or(What::Nothing, |session| What::SessionStarted(Box::new(session.as_started()))),
            // A closed session changes no more.
            ("cognitive/session_closed", _) => {
                session().map_or(What::Nothing, |session| What::SessionClosed(Box::new(session)))
            }
            (ENTRY_ADDED, _) => {
                let entry = row.session_id.zip(row.version).and_then(|place| self.entries.get(&place));
                entry.map_or(What::Nothing, |entry| What::EntryAdded(Box::new(entry.clone())))
            }
            _ => What::Nothing,
        }
    }
}

//! One reader's stream: from a place on, in order and once, as long as its token lasts.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::hub::{Topic, Turn};
use super::payload::{Event, Notification, What};
use super::store::{self, Row};
use crate::app::App;
use crate::auth::{Action, Area, Caller, Permit};
use crate::error::{Error, Result};
use crate::id::MemoryId;
use crate::memory::accept::{self, AtVersion};
use crate::memory::read::shown;
use crate::memory::{ChangeKind, Status};

/// How often a stream without events looks whether its token has ended. A look is into memory.
const TOKEN_CHECK: Duration = Duration::from_secs(1);

/// How long a stream waits before it tries again when the database is away.
const RETRY: Duration = Duration::from_secs(1);

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
/// Needs `read` on events. Fails with `CursorExpired` when events after the number are gone, with `Invalid` when there
/// is no such number yet.
pub async fn open(app: &App, caller: &Caller, after: Option<&str>) -> Result<Stream> {
    let permit = caller.permit(Action::Read, Area::Events)?;
    let after = after.map(parse).transpose()?;
    let turn = app.events.take_turn()?;
    let word = app.events.follow(permit.tenant());
    let head = {
        let mut tx = app.db.begin(&permit).await?;
        store::head(&mut tx).await?
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

/// Reads events after a number, with everything anybody may be told of them: two statements.
pub(super) async fn read(app: &App, permit: &Permit, seq: i64, limit: i64) -> Result<Vec<Event>> {
    let mut tx = app.db.begin(permit).await?;
    let rows = store::after(&mut tx, seq, limit).await?;
    let versions: Vec<(MemoryId, i64)> =
        rows.iter().filter_map(|row| row.memory_id.zip(row.version)).collect();
    let versions: HashMap<(MemoryId, i64), AtVersion> = accept::at_versions(&mut tx, &versions)
        .await?
        .into_iter()
        .map(|version| ((version.record.id, version.record.version), version))
        .collect();
    let now = app.clock.now();
    Ok(rows.into_iter().map(|row| event(row, &versions, now)).collect())
}

fn event(
    row: Row,
    versions: &HashMap<(MemoryId, i64), AtVersion>,
    now: chrono::DateTime<chrono::Utc>,
) -> Event {
    let version = row.memory_id.zip(row.version).and_then(|place| versions.get(&place));
    let mut sensitivities: Vec<_> = row.sensitivity.into_iter().collect();
    sensitivities
        .extend(version.iter().flat_map(|version| [version.record.sensitivity, version.sensitivity]));
    let scope = row.scope.or_else(|| version.map(|version| version.record.scope.clone()));
    let what = match (row.method.as_str(), row.memory_id) {
        ("memory/candidate_created", _) => What::CandidateCreated(row.candidate.map(Box::new)),
        ("memory/forgotten", _) => {
            let reason = version.and_then(|version| version.record.delete_reason.clone());
            What::Forgotten { memory_ids: row.memory_ids, reason }
        }
        (_, Some(memory_id)) => {
            let kept = version.filter(|version| version.status != Status::Deleted);
            let record = kept.map(|version| Box::new(shown(version.record.clone(), now)));
            What::Changed { memory_id, kind: row.change_kind.unwrap_or(ChangeKind::Updated), record }
        }
        // Of a sort that only a later version knows: it has a number, and nobody is told.
        _ => What::CandidateCreated(None),
    };
    Event { seq: row.seq, at: row.at, scope, sensitivities, what }
}

//! Events as they are told (PC-30, R-29), each to whom it concerns.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;

use crate::auth::{Action, Area, Caller, Namespace};
use crate::candidate::Candidate;
use crate::cognitive::Session;
use crate::cognitive::entry::Entry;
use crate::id::{MemoryId, SessionId};
use crate::memory::{ChangeKind, Record, Scope, Sensitivity};
use crate::time::UnixTime;

/// An event, with everything anybody may be told of it.
#[derive(Debug, Clone)]
pub struct Event {
    /// Its number in the namespace, from 1.
    pub seq: i64,
    /// When it happened.
    pub at: DateTime<Utc>,
    /// Whose memory it is about; unknown of records that are gone and were changed by an older version.
    pub scope: Option<Scope>,
    /// What a token must see to be told: what the record was, and what it is now.
    pub sensitivities: Vec<Sensitivity>,
    /// What happened.
    pub what: What,
}

/// What happened.
#[derive(Debug, Clone)]
pub enum What {
    /// A record changed.
    Changed { memory_id: MemoryId, kind: ChangeKind, record: Option<Box<Record>> },
    /// Records were forgotten.
    Forgotten { memory_ids: Vec<MemoryId>, reason: Option<String> },
    /// There is a new candidate.
    CandidateCreated(Option<Box<Candidate>>),
    /// Something was erased: it has a number, so that every node drops what it has in memory, and nobody is told.
    Erased,
    /// A session was started: as it was then.
    SessionStarted(Box<Session>),
    /// Something was written down in a session.
    EntryAdded(Box<Entry>),
    /// A session was closed: as it has been since.
    SessionClosed(Box<Session>),
    /// Something that only a later version knows, or of which nothing is left: it has a number, and nobody is told.
    Nothing,
}

/// What a client is told, and under which number it goes on from there.
#[derive(Debug, Clone)]
pub struct Notification {
    /// The number of the event.
    pub seq: i64,
    /// The name of the notification.
    pub method: &'static str,
    /// What is told.
    pub params: Params,
}

/// What is told.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Params {
    /// A record changed.
    Changed(MemoryChanged),
    /// Records were forgotten.
    Forgotten(MemoryForgotten),
    /// There is a new candidate.
    CandidateCreated(CandidateCreated),
    /// A session was started or closed.
    Session(SessionChanged),
    /// Something was written down in a session.
    EntryAdded(EntryAdded),
}

/// `memory/changed`: a record was created, updated, superseded, deleted, restored, or its time is over (C-030).
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "MemoryChangedNotification")]
pub struct MemoryChanged {
    /// The record.
    pub memory_id: MemoryId,
    /// Whose memory it is; absent only when it was erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// What was done to it.
    pub change_kind: ChangeKind,
    /// The record as it was then: for tokens that read durable memory, while it is not forgotten.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<Box<Record>>,
    /// Where in the stream it stands.
    #[serde(flatten)]
    pub place: Place,
}

/// `memory/forgotten`: records were forgotten (C-032).
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "MemoryForgottenNotification")]
pub struct MemoryForgotten {
    /// The records.
    pub memory_ids: Vec<MemoryId>,
    /// Why: for tokens that read durable memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Where in the stream it stands.
    #[serde(flatten)]
    pub place: Place,
}

/// `memory/candidate_created`: something was proposed (C-031). Only for tokens that read candidates.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "MemoryCandidateCreatedNotification")]
pub struct CandidateCreated {
    /// The candidate as it was proposed.
    pub candidate: Box<Candidate>,
    /// Where in the stream it stands.
    #[serde(flatten)]
    pub place: Place,
}

/// `cognitive/session_started` and `cognitive/session_closed`. Only for tokens that read cognitive sessions.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "CognitiveSessionNotification")]
pub struct SessionChanged {
    /// The session as it was then.
    pub session: Box<Session>,
    /// Where in the stream it stands.
    #[serde(flatten)]
    pub place: Place,
}

/// `cognitive/entry_added`: a thought, decision or interaction was written down. Only for tokens that read cognitive
/// sessions.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "CognitiveEntryAddedNotification")]
pub struct EntryAdded {
    /// The session.
    pub session_id: SessionId,
    /// What was written down; its own number is the one within the session.
    pub entry: Box<Entry>,
    /// Where in the stream it stands.
    #[serde(flatten)]
    pub place: Place,
}

/// Where in the stream an event stands.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Place {
    /// Its number in the namespace: every one of them is used, and a token sees those it may.
    pub seq: i64,
    /// The namespace.
    pub namespace: Namespace,
    /// When it happened.
    pub at: UnixTime,
}

impl Event {
    /// What this caller may be told of it, if anything.
    pub fn told_to(&self, caller: &Caller) -> Option<Notification> {
        if !self.concerns(caller) {
            return None;
        }
        let claims = caller.claims();
        let reads = |area| claims.rights.allows(area, Action::Read);
        let place = Place { seq: self.seq, namespace: claims.namespace.clone(), at: self.at.into() };
        let (method, params) = match &self.what {
            What::Changed { memory_id, kind, record } => {
                let record = record.clone().filter(|_| reads(Area::Durable));
                let (memory_id, change_kind) = (*memory_id, *kind);
                let scope = self.scope.clone();
                (
                    "memory/changed",
                    Params::Changed(MemoryChanged { memory_id, scope, change_kind, record, place }),
                )
            }
            What::Forgotten { memory_ids, reason } => {
                let reason = reason.clone().filter(|_| reads(Area::Durable));
                let memory_ids = memory_ids.clone();
                ("memory/forgotten", Params::Forgotten(MemoryForgotten { memory_ids, reason, place }))
            }
            What::CandidateCreated(candidate) => {
                let candidate = candidate.clone().filter(|_| reads(Area::Candidates))?;
                ("memory/candidate_created", Params::CandidateCreated(CandidateCreated { candidate, place }))
            }
            What::SessionStarted(session) => {
                let session = session.clone();
                ("cognitive/session_started", Params::Session(SessionChanged { session, place }))
            }
            What::EntryAdded(entry) => {
                let (session_id, entry) = (entry.session_id(), entry.clone());
                ("cognitive/entry_added", Params::EntryAdded(EntryAdded { session_id, entry, place }))
            }
            What::SessionClosed(session) => {
                let session = session.clone();
                ("cognitive/session_closed", Params::Session(SessionChanged { session, place }))
            }
            What::Erased | What::Nothing => return None,
        };
        Some(Notification { seq: self.seq, method, params })
    }

    /// Whether a caller may know of it at all.
    fn concerns(&self, caller: &Caller) -> bool {
        let claims = caller.claims();
        match self.what {
            // Sessions are bound by the namespace alone.
            What::SessionStarted(_) | What::EntryAdded(_) | What::SessionClosed(_) => {
                claims.rights.allows(Area::Cognitive, Action::Read)
            }
            What::Changed { .. } | What::Forgotten { .. } | What::CandidateCreated(_) | What::Nothing => {
                let is_reached = match (&claims.scopes, &self.scope) {
                    (None, _) => true,
                    (Some(scopes), Some(scope)) => scopes.contains(scope),
                    (Some(_), None) => false,
                };
                is_reached && self.sensitivities.iter().all(|level| claims.sensitivity.contains(level))
            }
            What::Erased => false,
        }
    }
}

//! Entries of a session: one order for all kinds of them.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::decision::Decision;
use super::interaction::{Interaction, Role};
use super::thought::{Thought, ThoughtKind};
use super::{entry_store, parse_session};
use crate::app::App;
use crate::auth::{Action, Area, Caller};
use crate::db::with_retry;
use crate::error::Result;
use crate::id::{DecisionId, InteractionId, SessionId, ThoughtId};
use crate::idempotency::{self, Answer, Key};

/// An entry of any kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CognitiveEntry")]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Entry {
    /// Something was thought.
    Thought(Thought),
    /// Something was decided.
    Decision(Decision),
    /// Something was said, or done with somebody.
    Interaction(Interaction),
}

/// The kinds of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub(super) enum EntryKind {
    Thought,
    Decision,
    Interaction,
}

/// An entry as it is stored.
#[derive(Debug, Clone)]
pub(super) struct Stored {
    pub id: Uuid,
    pub session: SessionId,
    pub seq: i64,
    pub kind: EntryKind,
    pub content: String,
    pub detail: Detail,
    pub created_at: DateTime<Utc>,
}

/// What an entry has besides its text.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Detail {
    Thought {
        kind: ThoughtKind,
        confidence: Option<f64>,
        metadata: Map<String, Value>,
    },
    Decision {
        rationale: Option<String>,
        alternatives: Vec<String>,
        confidence: Option<f64>,
        based_on: Vec<String>,
        metadata: Map<String, Value>,
    },
    Interaction {
        role: Role,
        counterparty: Option<String>,
        metadata: Map<String, Value>,
    },
}

/// Adds an entry to an active session, which gives it the next number.
///
/// Fails with `NotFound` when there is no such session, with `Conflict` when it is closed.
pub(super) async fn add<E, R>(
    app: &App,
    caller: &Caller,
    session: &str,
    key: Option<Key>,
    check: impl FnOnce(SessionId, DateTime<Utc>) -> Result<E>,
    reply: impl Fn(E, i64) -> R,
) -> Result<Answer<R>>
where
    E: Clone + Into<Entry>,
    R: Serialize + DeserializeOwned,
{
    let permit = &caller.permit(Action::Write, Area::Cognitive)?;
    let once = idempotency::run(app, permit, key, |claim| async move {
        let new = check(parse_session("session_id", session)?, app.clock.now())?;
        let stored = Stored::from(new.clone().into());
        with_retry(|| async {
            let mut tx = app.db.begin(permit).await?;
            let seq = entry_store::add(&mut tx, permit, &stored).await?;
            let answer = Answer::ok(reply(new.clone(), seq));
            claim.settle(&mut tx, permit, &answer).await?;
            tx.commit().await?;
            Ok(answer)
        })
        .await
    });
    Box::pin(once).await
}

impl Entry {
    /// The session it is in.
    pub fn session_id(&self) -> SessionId {
        match self {
            Self::Thought(thought) => thought.session_id,
            Self::Decision(decision) => decision.session_id,
            Self::Interaction(interaction) => interaction.session_id,
        }
    }

    /// Its number in the session.
    pub fn seq(&self) -> i64 {
        match self {
            Self::Thought(thought) => thought.seq,
            Self::Decision(decision) => decision.seq,
            Self::Interaction(interaction) => interaction.seq,
        }
    }

    /// What it says.
    pub fn text(&self) -> &str {
        match self {
            Self::Thought(thought) => &thought.content,
            Self::Decision(decision) => &decision.decision,
            Self::Interaction(interaction) => &interaction.content,
        }
    }
}

impl EntryKind {
    /// The name on the wire and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Thought => "thought",
            Self::Decision => "decision",
            Self::Interaction => "interaction",
        }
    }
}

impl From<Entry> for Stored {
    fn from(entry: Entry) -> Self {
        let (session, seq) = (entry.session_id(), entry.seq());
        let (id, kind, created_at, content, detail) = match entry {
            Entry::Thought(new) => {
                let Thought { kind, confidence, metadata, .. } = new;
                let detail = Detail::Thought { kind, confidence, metadata };
                (new.id.uuid(), EntryKind::Thought, new.created_at.0, new.content, detail)
            }
            Entry::Decision(new) => {
                let Decision { rationale, alternatives, confidence, based_on, metadata, .. } = new;
                let detail = Detail::Decision { rationale, alternatives, confidence, based_on, metadata };
                (new.id.uuid(), EntryKind::Decision, new.created_at.0, new.decision, detail)
            }
            Entry::Interaction(new) => {
                let Interaction { role, counterparty, metadata, .. } = new;
                let detail = Detail::Interaction { role, counterparty, metadata };
                (new.id.uuid(), EntryKind::Interaction, new.created_at.0, new.content, detail)
            }
        };
        Self { id, session, seq, kind, content, detail, created_at }
    }
}

impl From<Stored> for Entry {
    fn from(stored: Stored) -> Self {
        let Stored { id, session: session_id, seq, content, detail, created_at, .. } = stored;
        let created_at = created_at.into();
        match detail {
            Detail::Thought { kind, confidence, metadata } => {
                let id = ThoughtId::from_uuid(id);
                Self::Thought(Thought {
                    id,
                    session_id,
                    seq,
                    kind,
                    content,
                    confidence,
                    created_at,
                    metadata,
                })
            }
            Detail::Decision { rationale, alternatives, confidence, based_on, metadata } => {
                let (id, decision) = (DecisionId::from_uuid(id), content);
                Self::Decision(Decision {
                    id,
                    session_id,
                    seq,
                    decision,
                    rationale,
                    alternatives,
                    confidence,
                    based_on,
                    created_at,
                    metadata,
                })
            }
            Detail::Interaction { role, counterparty, metadata } => {
                let id = InteractionId::from_uuid(id);
                Self::Interaction(Interaction {
                    id,
                    session_id,
                    seq,
                    role,
                    content,
                    counterparty,
                    created_at,
                    metadata,
                })
            }
        }
    }
}

impl From<Thought> for Entry {
    fn from(thought: Thought) -> Self {
        Self::Thought(thought)
    }
}

impl From<Decision> for Entry {
    fn from(decision: Decision) -> Self {
        Self::Decision(decision)
    }
}

impl From<Interaction> for Entry {
    fn from(interaction: Interaction) -> Self {
        Self::Interaction(interaction)
    }
}

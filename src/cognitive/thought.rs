//! Thoughts (XB-63).

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{check_text, entry};
use crate::app::App;
use crate::auth::Caller;
use crate::error::Result;
use crate::id::{SessionId, ThoughtId};
use crate::idempotency::{Answer, Key};
use crate::memory::draft::{check_fraction, check_metadata};
use crate::time::UnixTime;

/// Something an agent thought.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CognitiveThought")]
pub struct Thought {
    /// The thought's id.
    pub id: ThoughtId,
    /// The session it is in.
    pub session_id: SessionId,
    /// Its number among all entries of the session, from 1.
    pub seq: i64,
    /// What sort of thought it is.
    pub kind: ThoughtKind,
    /// What was thought.
    pub content: String,
    /// How sure the agent is, 0 to 1.
    pub confidence: Option<f64>,
    /// When it was written down.
    pub created_at: UnixTime,
    /// The client's own data.
    pub metadata: Map<String, Value>,
}

/// The sorts of thoughts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ThoughtKind {
    /// What is the case.
    #[default]
    Observation,
    /// What may be the case.
    Hypothesis,
    /// What is to be done.
    Plan,
    /// What is to be made of what was done.
    Reflection,
}

/// A thought to be written down. Unknown members are passed over.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AddThought")]
pub struct Think {
    /// The session, which must be active.
    pub session_id: String,
    /// What was thought: 1 to 65,536 bytes.
    pub content: String,
    /// What sort of thought it is; an observation unless given.
    #[serde(default)]
    pub kind: ThoughtKind,
    /// How sure the agent is, 0 to 1.
    #[serde(default)]
    pub confidence: Option<f64>,
    /// The client's own data: at most 16 KiB.
    #[serde(default)]
    pub metadata: Option<Map<String, Value>>,
}

/// A thought.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CognitiveThoughtReply")]
pub struct ThoughtReply {
    /// The thought.
    pub thought: Thought,
}

/// Writes a thought down.
pub async fn think(app: &App, caller: &Caller, new: Think, key: Option<Key>) -> Result<Answer<ThoughtReply>> {
    let session = new.session_id.clone();
    let reply = |thought: Thought, seq| ThoughtReply { thought: Thought { seq, ..thought } };
    entry::add(app, caller, &session, key, |session, now| new.check(session, now), reply).await
}

impl Think {
    fn check(self, session_id: SessionId, now: DateTime<Utc>) -> Result<Thought> {
        let content = check_text("content", &self.content)?;
        check_fraction("confidence", self.confidence)?;
        check_metadata(self.metadata.as_ref())?;
        Ok(Thought {
            id: ThoughtId::new(),
            session_id,
            seq: 0,
            kind: self.kind,
            content,
            confidence: self.confidence,
            created_at: now.into(),
            metadata: self.metadata.unwrap_or_default(),
        })
    }
}

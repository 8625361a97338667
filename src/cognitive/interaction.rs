//! Interactions (XB-65).

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{check_text, entry};
use crate::app::App;
use crate::auth::Caller;
use crate::error::Result;
use crate::id::{InteractionId, SessionId};
use crate::idempotency::{Answer, Key};
use crate::memory::draft::{check_metadata, check_name};
use crate::time::UnixTime;

/// The longest name of a counterparty, in bytes.
const MAX_COUNTERPARTY_BYTES: usize = 256;

/// Something that was said, or done with somebody.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CognitiveInteraction")]
pub struct Interaction {
    /// The interaction's id.
    pub id: InteractionId,
    /// The session it is in.
    pub session_id: SessionId,
    /// Its number among all entries of the session, from 1.
    pub seq: i64,
    /// Who spoke or acted.
    pub role: Role,
    /// What was said or done.
    pub content: String,
    /// With whom.
    pub counterparty: Option<String>,
    /// When it was written down.
    pub created_at: UnixTime,
    /// The client's own data.
    pub metadata: Map<String, Value>,
}

/// Who speaks or acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "InteractionRole")]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A person.
    User,
    /// The model.
    Assistant,
    /// A tool.
    Tool,
    /// Whoever instructs the agent.
    System,
    /// Another agent.
    Agent,
}

/// An interaction to be written down. Unknown members are passed over.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AddInteraction")]
pub struct Interact {
    /// The session, which must be active.
    pub session_id: String,
    /// Who spoke or acted.
    pub role: Role,
    /// What was said or done: 1 to 65,536 bytes.
    pub content: String,
    /// With whom: 1 to 256 bytes.
    #[serde(default)]
    pub counterparty: Option<String>,
    /// The client's own data: at most 16 KiB.
    #[serde(default)]
    pub metadata: Option<Map<String, Value>>,
}

/// An interaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CognitiveInteractionReply")]
pub struct InteractionReply {
    /// The interaction.
    pub interaction: Interaction,
}

/// Writes an interaction down.
pub async fn interact(
    app: &App,
    caller: &Caller,
    new: Interact,
    key: Option<Key>,
) -> Result<Answer<InteractionReply>> {
    let session = new.session_id.clone();
    let reply =
        |interaction: Interaction, seq| InteractionReply { interaction: Interaction { seq, ..interaction } };
    entry::add(app, caller, &session, key, |session, now| new.check(session, now), reply).await
}

impl Interact {
    fn check(self, session_id: SessionId, now: DateTime<Utc>) -> Result<Interaction> {
        let content = check_text("content", &self.content)?;
        check_name("counterparty", self.counterparty.as_deref(), MAX_COUNTERPARTY_BYTES)?;
        check_metadata(self.metadata.as_ref())?;
        Ok(Interaction {
            id: InteractionId::new(),
            session_id,
            seq: 0,
            role: self.role,
            content,
            counterparty: self.counterparty,
            created_at: now.into(),
            metadata: self.metadata.unwrap_or_default(),
        })
    }
}

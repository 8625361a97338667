//! What happens in a workspace, as it is told to who watches (SSE): enough to draw activation falling without asking.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::decay::Decay;
use super::gate::Reason;
use crate::error::{Error, Result};

/// What a step publishes: everything that one change did.
#[derive(Debug, Clone, Deserialize)]
pub struct Change {
    /// The version before.
    pub from: u64,
    /// The version after; the same when the gate only refused something.
    pub version: u64,
    /// When, in milliseconds.
    pub at_ms: i64,
    /// When the next item ends, in milliseconds; 0 when there is none.
    pub next_ms: i64,
    /// What happened, in order.
    pub events: Vec<Happened>,
}

/// One thing that happened.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Happened {
    /// What.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// To which slot.
    pub id: String,
    /// What else is known of it.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// What can happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// An item came in, or was set again.
    Admitted,
    /// An item was refused, with the reason.
    Refused,
    /// An item was rehearsed.
    Rehearsed,
    /// An item is in focus now.
    Focused,
    /// An item is in focus no more.
    Released,
    /// An item left: it has `faded`, or was `displaced`.
    Evicted,
    /// An item's time was over.
    Expired,
    /// An item was taken out.
    Cleared,
}

impl Kind {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Admitted => "admitted",
            Self::Refused => "refused",
            Self::Rehearsed => "rehearsed",
            Self::Focused => "focused",
            Self::Released => "released",
            Self::Evicted => "evicted",
            Self::Expired => "expired",
            Self::Cleared => "cleared",
        }
    }
}

/// The beginning of the event of an item that came in; the step adds what only it knows, and the closing brace.
pub(super) fn admitted(id: &str, is_injected: bool, decay: &Decay, priority: Option<f64>) -> Result<String> {
    let mut event = json!({ "type": Kind::Admitted, "id": id, "injected": is_injected, "decay": decay });
    if let Some(priority) = priority {
        event["priority"] = priority.into();
    }
    open(&event)
}

/// The beginning of the event of an item that was rehearsed.
pub(super) fn rehearsed(id: &str, decay: &Decay) -> Result<String> {
    open(&json!({ "type": Kind::Rehearsed, "id": id, "decay": decay }))
}

/// The event of an item that the gate refused.
pub(super) fn refused(id: &str, reason: Reason, priority: f64) -> Result<String> {
    let event = json!({ "type": Kind::Refused, "id": id, "reason": reason, "priority": priority });
    serde_json::to_string(&event).map_err(Error::internal)
}

fn open(event: &Value) -> Result<String> {
    let mut text = serde_json::to_string(event).map_err(Error::internal)?;
    text.pop();
    Ok(text)
}

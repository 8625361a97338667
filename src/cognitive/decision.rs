//! Decisions (XB-64).

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{check_more, check_text, entry};
use crate::app::App;
use crate::auth::Caller;
use crate::error::{Error, Result};
use crate::id::{DecisionId, SessionId};
use crate::idempotency::{Answer, Key};
use crate::memory::check_identifier;
use crate::memory::draft::{check_fraction, check_metadata, clean};
use crate::time::UnixTime;

/// How many alternatives a decision names, at most, and how many things it is based on.
const MAX_NAMED: usize = 64;
/// The longest alternative, in bytes.
const MAX_ALTERNATIVE_BYTES: usize = 4_096;
/// The longest id of what a decision is based on, in bytes.
const MAX_ID_BYTES: usize = 128;

/// Something an agent decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CognitiveDecision")]
pub struct Decision {
    /// The decision's id.
    pub id: DecisionId,
    /// The session it is in.
    pub session_id: SessionId,
    /// Its number among all entries of the session, from 1.
    pub seq: i64,
    /// What was decided.
    pub decision: String,
    /// Why.
    pub rationale: Option<String>,
    /// What else could have been decided.
    pub alternatives: Vec<String>,
    /// How sure the agent is, 0 to 1.
    pub confidence: Option<f64>,
    /// The ids of what it is based on: entries, records, or the client's own.
    pub based_on: Vec<String>,
    /// When it was written down.
    pub created_at: UnixTime,
    /// The client's own data.
    pub metadata: Map<String, Value>,
}

/// A decision to be written down. Unknown members are passed over.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AddDecision")]
pub struct Decide {
    /// The session, which must be active.
    pub session_id: String,
    /// What was decided: 1 to 65,536 bytes.
    pub decision: String,
    /// Why: at most 65,536 bytes.
    #[serde(default)]
    pub rationale: Option<String>,
    /// What else could have been decided: at most 64, of 4,096 bytes each.
    #[serde(default)]
    pub alternatives: Option<Vec<String>>,
    /// How sure the agent is, 0 to 1.
    #[serde(default)]
    pub confidence: Option<f64>,
    /// The ids of what it is based on, which are kept as they are: at most 64, of 128 bytes each.
    #[serde(default)]
    pub based_on: Option<Vec<String>>,
    /// The client's own data: at most 16 KiB.
    #[serde(default)]
    pub metadata: Option<Map<String, Value>>,
}

/// A decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CognitiveDecisionReply")]
pub struct DecisionReply {
    /// The decision.
    pub decision: Decision,
}

/// Writes a decision down.
pub async fn decide(
    app: &App,
    caller: &Caller,
    new: Decide,
    key: Option<Key>,
) -> Result<Answer<DecisionReply>> {
    let session = new.session_id.clone();
    let reply = |decision: Decision, seq| DecisionReply { decision: Decision { seq, ..decision } };
    entry::add(app, caller, &session, key, |session, now| new.check(session, now), reply).await
}

impl Decide {
    fn check(self, session_id: SessionId, now: DateTime<Utc>) -> Result<Decision> {
        let decision = check_text("decision", &self.decision)?;
        let rationale = check_more("rationale", self.rationale)?;
        let mut alternatives = self.alternatives.unwrap_or_default();
        check_count("alternatives", alternatives.len())?;
        for (place, alternative) in alternatives.iter_mut().enumerate() {
            let cleaned = clean("", alternative, MAX_ALTERNATIVE_BYTES);
            *alternative = cleaned.map_err(|error| error.inside(&format!("alternatives[{place}]")))?;
        }
        check_fraction("confidence", self.confidence)?;
        let based_on = self.based_on.unwrap_or_default();
        check_count("based_on", based_on.len())?;
        for (place, id) in based_on.iter().enumerate() {
            check_identifier(id, MAX_ID_BYTES)
                .map_err(|error| error.inside(&format!("based_on[{place}]")))?;
        }
        check_metadata(self.metadata.as_ref())?;
        Ok(Decision {
            id: DecisionId::new(),
            session_id,
            seq: 0,
            decision,
            rationale,
            alternatives,
            confidence: self.confidence,
            based_on,
            created_at: now.into(),
            metadata: self.metadata.unwrap_or_default(),
        })
    }
}

fn check_count(field: &'static str, count: usize) -> Result<()> {
    if count > MAX_NAMED {
        let rule = format!("must not hold more than {MAX_NAMED}");
        return Err(Error::over_limit(field, rule, MAX_NAMED as u64, count as u64));
    }
    Ok(())
}

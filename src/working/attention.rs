//! What an agent does with what is there: rehearse, focus, release, clear (XB-52 to XB-54, XB-56).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::settings::{Isolation, WorkingMemoryConfig};
use super::store::{self, Reply};
use super::{check_slot_id, event, open};
use crate::app::App;
use crate::auth::{Action, Caller};
use crate::error::{Error, Result};

/// A slot meant by its id.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Meant {
    /// The slot's id.
    pub id: String,
    /// The version the workspace must have.
    #[serde(default)]
    pub if_version: Option<u64>,
}

/// The whole workspace.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Whole {
    /// The version the workspace must have.
    #[serde(default)]
    pub if_version: Option<u64>,
}

/// How present an item is now that it was rehearsed.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Rehearsed {
    /// Always true.
    pub ok: bool,
    /// The slot's id.
    pub id: String,
    /// Its activation, 0 to 1.
    pub activation: f64,
    /// The version of the workspace now.
    pub version: u64,
}

/// What is in focus now.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Focused {
    /// Always true.
    pub ok: bool,
    /// The slot's id.
    pub focus: String,
    /// The version of the workspace now.
    pub version: u64,
}

/// What was in focus.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Released {
    /// Always true.
    pub ok: bool,
    /// The slot's id; null when nothing was.
    pub released: Option<String>,
    /// The version of the workspace now.
    pub version: u64,
}

/// How many slots were taken out.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ClearedAll {
    /// Always true.
    pub ok: bool,
    /// How many there were.
    pub removed: u64,
    /// The version of the workspace now.
    pub version: u64,
}

/// Raises an item's activation, and starts its clock again (XB-24).
pub async fn rehearse(app: &App, caller: &Caller, meant: Meant) -> Result<Rehearsed> {
    let store = open(app, caller, Action::Write).await?;
    let engine = &store.config.engine;
    let arguments = vec![
        checked(&meant, &store.config)?,
        version(meant.if_version),
        u8::from(engine.protect_injected).to_string(),
        engine.decay.law.number().to_string(),
        engine.decay.parameter.to_string(),
        engine.decay.tick_ms.to_string(),
        engine.rehearsal_boost.to_string(),
        engine.evict_below.to_string(),
        event::rehearsed(&meant.id, &engine.decay)?,
    ];
    let mut reply = there(store.step(&store::REHEARSE, arguments).await?)?;
    let activation: String = reply.get(0)?;
    let activation = activation.parse().map_err(Error::internal)?;
    Ok(Rehearsed { ok: true, id: meant.id, activation, version: reply.version })
}

/// Puts an item into focus, in the place of any other.
pub async fn focus(app: &App, caller: &Caller, meant: Meant) -> Result<Focused> {
    let store = open(app, caller, Action::Write).await?;
    let arguments = vec![checked(&meant, &store.config)?, version(meant.if_version)];
    let reply = there(store.step(&store::FOCUS, arguments).await?)?;
    Ok(Focused { ok: true, focus: meant.id, version: reply.version })
}

/// Lets go of what is in focus, if anything is.
pub async fn release(app: &App, caller: &Caller, whole: &Whole) -> Result<Released> {
    let store = open(app, caller, Action::Write).await?;
    check_version(&store.config, whole.if_version)?;
    let arguments = vec![version(whole.if_version)];
    let mut reply = there(store.step(&store::RELEASE, arguments).await?)?;
    let released = Some(reply.get::<String>(0)?).filter(|id| !id.is_empty());
    Ok(Released { ok: true, released, version: reply.version })
}

/// Takes out everything, the injected slots as well.
pub async fn clear(app: &App, caller: &Caller, whole: &Whole) -> Result<ClearedAll> {
    let store = open(app, caller, Action::Delete).await?;
    check_version(&store.config, whole.if_version)?;
    let arguments = vec![version(whole.if_version)];
    let mut reply = there(store.step(&store::CLEAR_ALL, arguments).await?)?;
    Ok(ClearedAll { ok: true, removed: reply.get(0)?, version: reply.version })
}

fn checked(meant: &Meant, config: &WorkingMemoryConfig) -> Result<String> {
    check_slot_id(&meant.id, config.max_slot_id_bytes)?;
    check_version(config, meant.if_version)?;
    Ok(meant.id.clone())
}

/// Under Serializable, whoever changes something says what it has seen (XB-48).
pub(super) fn check_version(config: &WorkingMemoryConfig, if_version: Option<u64>) -> Result<()> {
    if config.engine.isolation == Isolation::Serializable && if_version.is_none() {
        return Err(Error::invalid("if_version", "is needed: the isolation is Serializable"));
    }
    Ok(())
}

/// The version as a step takes it.
pub(super) fn version(if_version: Option<u64>) -> String {
    if_version.map(|version| version.to_string()).unwrap_or_default()
}

/// The answer of a step that needed something to be there, and as the caller has seen it.
pub(super) fn there(reply: Reply) -> Result<Reply> {
    match reply.outcome.as_str() {
        "absent" => Err(Error::NotFound("slot")),
        "stale" => Err(stale(&reply)),
        _ => Ok(reply),
    }
}

pub(super) fn stale(reply: &Reply) -> Error {
    Error::Conflict(format!("the workspace is at version {}", reply.version).into())
}

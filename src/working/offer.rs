//! Offering items to the workspace: the gate judges them, and each that is admitted makes room for itself (XB-51).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::activation::Trace;
use super::attention::{check_version, stale};
use super::binding::{self, Binding};
use super::decay::Law;
use super::gate::{self, Candidate, Reason};
use super::settings::{Gate, MAX_SLOTS, WorkingMemoryConfig};
use super::slots::check_value;
use super::{check_slot_id, event, open, store};
use crate::app::App;
use crate::auth::{Action, Area, Caller};
use crate::cognitive;
use crate::embed::Embedding;
use crate::error::{Error, Result};
use crate::id::TenantId;
use crate::memory::check_identifier;
use crate::time::UnixTime;

/// How many items one request offers, at most (XB-51).
pub const MAX_ITEMS: usize = 64;

/// The longest chunk label, in bytes.
const MAX_CHUNK_BYTES: usize = 128;

/// The highest cost of one item: more than any capacity.
const MAX_COST: f64 = 1_000_000.0;

/// Items for the workspace.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Offer {
    /// 1 to 64 items, judged in this order.
    pub items: Vec<OfferedItem>,
    /// What the agent is after: the measure of relevance. 1 to 4,096 bytes.
    #[serde(default)]
    pub goal: Option<String>,
    /// The active session whose goal counts unless one is given. Needs `read` on `memory.cognitive`.
    #[serde(default)]
    pub session_id: Option<String>,
    /// The version the workspace must have.
    #[serde(default)]
    pub if_version: Option<u64>,
}

/// An item for the workspace. One that is there already under its id is replaced.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfferedItem {
    /// Its slot's id.
    pub id: String,
    /// Its value.
    pub value: Value,
    /// How much it matters, 0 to 1; 0.5 unless given.
    #[serde(default)]
    pub importance: Option<f64>,
    /// How relevant it is, 0 to 1; unless given, measured against the goal, or 0.5 without one.
    #[serde(default)]
    pub relevance: Option<f64>,
    /// How present it is, 0 to 1; 1 unless given. ActR alone knows it from the law, and refuses it.
    #[serde(default)]
    pub activation: Option<f64>,
    /// When it was observed; now unless given.
    #[serde(default)]
    pub observed_at: Option<UnixTime>,
    /// What it costs of a capacity that counts costs; 1 unless given.
    #[serde(default)]
    pub cost: Option<f64>,
    /// The chunk it belongs to, 1 to 128 bytes; items of one chunk count once where chunks are counted.
    #[serde(default)]
    pub chunk: Option<String>,
    /// What it binds; at most 32.
    #[serde(default)]
    pub bindings: Vec<Binding>,
}

/// What became of the items.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Offered {
    /// Always true.
    pub ok: bool,
    /// What became of each, in order.
    pub verdicts: Vec<Verdict>,
    /// The ids that had to make room.
    pub evicted: Vec<String>,
    /// The version of the workspace now.
    pub version: u64,
}

/// What became of an item (XB-35).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Its id.
    pub id: String,
    /// Whether it is in the workspace.
    pub admitted: bool,
    /// What the gate weighed.
    pub priority: f64,
    /// Why.
    pub reason: Reason,
}

/// Judges the items and takes in those that are admitted. Being refused is no failure (XB-36).
///
/// GoalDirected needs a goal (400) and an embedder (503). A session that is named needs the right to read it (403) and
/// must be active (404, 409).
pub async fn offer(app: &App, caller: &Caller, mut offer: Offer) -> Result<Offered> {
    let store = open(app, caller, Action::Write).await?;
    if offer.session_id.is_some() {
        caller.permit(Action::Read, Area::Cognitive)?;
    }
    let config = &store.config;
    check_version(config, offer.if_version)?;
    let values = check(&mut offer, config)?;
    if let Some(session) = &offer.session_id {
        let goal = cognitive::goal(app, caller, session).await?;
        offer.goal.get_or_insert(goal);
    }
    if matches!(config.engine.gate, Gate::GoalDirected { .. }) && offer.goal.is_none() {
        return Err(Error::invalid("goal", "is needed: the gate is GoalDirected"));
    }
    let relevances = measure(app, caller.claims().tenant, &offer, &values, config).await?;
    let now_ms = app.clock.now().timestamp_millis();
    let (candidates, reasons) = judge(&offer, &relevances, config, now_ms)?;
    let mut arguments = settings(config, offer.if_version);
    for (place, item) in offer.items.iter().enumerate() {
        let judged = Judged {
            value: &values[place],
            relevance: relevances[place],
            priority: candidates[place].priority,
            reason: reasons[place],
        };
        arguments.extend(describe(item, &judged, config)?);
    }
    let mut reply = store.step(&store::OFFER, arguments).await?;
    if reply.outcome == "stale" {
        return Err(stale(&reply));
    }
    let is_in: Vec<bool> = reply.get(0)?;
    let verdict = |((candidate, reason), is_in): ((Candidate, Reason), bool)| Verdict {
        id: candidate.id,
        admitted: is_in,
        priority: candidate.priority,
        reason: if reason == Reason::Admitted && !is_in { Reason::NoRoom } else { reason },
    };
    let verdicts = candidates.into_iter().zip(reasons).zip(is_in).map(verdict).collect();
    Ok(Offered { ok: true, verdicts, evicted: reply.get(1)?, version: reply.version })
}

/// Checks every rule, and gives the values as they are kept.
fn check(offer: &mut Offer, config: &WorkingMemoryConfig) -> Result<Vec<String>> {
    let count = offer.items.len();
    if count == 0 || count > MAX_ITEMS {
        let rule = format!("must hold 1 to {MAX_ITEMS} items");
        return Err(Error::over_limit("items", rule, MAX_ITEMS as u64, count as u64));
    }
    offer.goal = offer.goal.take().map(|goal| cognitive::check_goal(&goal)).transpose()?;
    let each = |(place, item): (usize, &OfferedItem)| {
        check_item(item, config).map_err(|error| error.inside(&format!("items[{place}]")))
    };
    offer.items.iter().enumerate().map(each).collect()
}

fn check_item(item: &OfferedItem, config: &WorkingMemoryConfig) -> Result<String> {
    check_slot_id(&item.id, config.max_slot_id_bytes).map_err(|error| error.inside("id"))?;
    let fractions =
        [("importance", item.importance), ("relevance", item.relevance), ("activation", item.activation)];
    for (field, value) in fractions {
        if value.is_some_and(|value| !(0.0..=1.0).contains(&value)) {
            return Err(Error::invalid(field, "must be from 0 to 1"));
        }
    }
    if item.activation.is_some() && config.engine.decay.law == Law::ActR {
        return Err(Error::invalid("activation", "follows from the law under ActR and cannot be given"));
    }
    if item.cost.is_some_and(|cost| !(0.0..=MAX_COST).contains(&cost)) {
        return Err(Error::invalid("cost", format!("must be from 0 to {MAX_COST}")));
    }
    if let Some(chunk) = &item.chunk {
        check_identifier(chunk, MAX_CHUNK_BYTES).map_err(|error| error.inside("chunk"))?;
    }
    binding::check(&item.bindings, config.max_value_bytes)?;
    check_value(&item.value, config)
}

/// How relevant each item is: as given, or as close to the goal as the embedder says, or not known.
///
/// GoalDirected listens to the goal alone. For the others a missing embedder is no reason to refuse.
async fn measure(
    app: &App,
    tenant: TenantId,
    offer: &Offer,
    values: &[String],
    config: &WorkingMemoryConfig,
) -> Result<Vec<Option<f64>>> {
    let is_directed = matches!(config.engine.gate, Gate::GoalDirected { .. });
    let mut relevances: Vec<Option<f64>> =
        offer.items.iter().map(|item| item.relevance.filter(|_| !is_directed)).collect();
    let Some(goal) = &offer.goal else { return Ok(relevances) };
    let unknown: Vec<usize> = (0..relevances.len()).filter(|&place| relevances[place].is_none()).collect();
    if unknown.is_empty() {
        return Ok(relevances);
    }
    let text = |&place: &usize| match &offer.items[place].value {
        Value::String(text) => text.clone(),
        _ => values[place].clone(),
    };
    let texts: Vec<String> = unknown.iter().map(text).collect();
    let embed = async {
        let goal = app.embedder.embed_query(tenant, goal).await?;
        Ok((goal, app.embedder.embed_texts(tenant, &texts).await?))
    };
    match embed.await {
        Ok((goal, embedded)) => {
            for (place, embedded) in unknown.into_iter().zip(embedded) {
                relevances[place] = Some(embedded.embedding.map_or(0.0, |item| closeness(&goal, &item)));
            }
            Ok(relevances)
        }
        Err(Error::Unavailable { .. }) if !is_directed => Ok(relevances),
        Err(error) => Err(error),
    }
}

/// The cosine of two vectors of unit length, cut to 0 to 1.
fn closeness(a: &Embedding, b: &Embedding) -> f64 {
    let products = a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| f64::from(*a) * f64::from(*b));
    products.sum::<f64>().clamp(0.0, 1.0)
}

fn judge(
    offer: &Offer,
    relevances: &[Option<f64>],
    config: &WorkingMemoryConfig,
    now_ms: i64,
) -> Result<(Vec<Candidate>, Vec<Reason>)> {
    let engine = &config.engine;
    let candidate = |(item, relevance): (&OfferedItem, &Option<f64>)| {
        let observed_ms = item.observed_at.map_or(now_ms, |time| time.0.timestamp_millis());
        let relevance = relevance.unwrap_or(DEFAULT_RELEVANCE);
        let activation = Trace::new(level(item), now_ms).activation(&engine.decay, now_ms);
        let priority = gate::priority(
            &engine.priority_weights,
            gate::recency(now_ms - observed_ms),
            relevance,
            activation,
            item.importance.unwrap_or(DEFAULT_IMPORTANCE),
        );
        Candidate { id: item.id.clone(), priority, relevance, observed_ms }
    };
    let candidates: Vec<Candidate> = offer.items.iter().zip(relevances).map(candidate).collect();
    let mut chance = [0; 8];
    getrandom::fill(&mut chance).map_err(|error| Error::internal(error.to_string()))?;
    let reasons = gate::judge(&engine.gate, &candidates, u64::from_le_bytes(chance));
    Ok((candidates, reasons))
}

/// What an item's importance is when nobody says.
pub(super) const DEFAULT_IMPORTANCE: f64 = 0.5;
/// What an item's relevance is when nobody says and there is no goal.
pub(super) const DEFAULT_RELEVANCE: f64 = 0.5;

fn level(item: &OfferedItem) -> f64 {
    item.activation.unwrap_or(1.0)
}

/// What is known of an item besides what was sent.
struct Judged<'a> {
    value: &'a str,
    relevance: Option<f64>,
    priority: f64,
    reason: Reason,
}

/// What `lua/offer.lua` is told for all items.
fn settings(config: &WorkingMemoryConfig, if_version: Option<u64>) -> Vec<String> {
    let engine = &config.engine;
    vec![
        if_version.map(|version| version.to_string()).unwrap_or_default(),
        format!("{:?}", engine.capacity_metric),
        config.capacity().to_string(),
        u8::from(engine.protect_injected).to_string(),
        (config.ttl_seconds * 1_000).to_string(),
        engine.decay.law.number().to_string(),
        engine.decay.parameter.to_string(),
        engine.decay.tick_ms.to_string(),
        MAX_SLOTS.to_string(),
    ]
}

/// What it is told of each.
fn describe(item: &OfferedItem, judged: &Judged<'_>, config: &WorkingMemoryConfig) -> Result<[String; 12]> {
    let decay = &config.engine.decay;
    let life_ms = i64::try_from(config.ttl_seconds * 1_000).unwrap_or(i64::MAX);
    let trace = Trace::new(level(item), 0);
    let fade = trace.fades_after(decay, config.engine.evict_below, 0, life_ms);
    let is_admitted = judged.reason == Reason::Admitted;
    let event = if is_admitted {
        event::admitted(&item.id, false, decay, Some(judged.priority))?
    } else {
        event::refused(&item.id, judged.reason, judged.priority)?
    };
    let bindings = match item.bindings.as_slice() {
        [] => String::new(),
        bindings => serde_json::to_string(bindings).map_err(Error::internal)?,
    };
    Ok([
        item.id.clone(),
        judged.value.to_owned(),
        u8::from(is_admitted).to_string(),
        trace.activation(decay, 0).to_string(),
        fade.unwrap_or(-1).to_string(),
        item.importance.unwrap_or(DEFAULT_IMPORTANCE).to_string(),
        judged.relevance.unwrap_or(-1.0).to_string(),
        item.cost.unwrap_or(1.0).to_string(),
        item.chunk.clone().unwrap_or_default(),
        bindings,
        item.observed_at.map(|time| time.0.timestamp_millis().to_string()).unwrap_or_default(),
        event,
    ])
}

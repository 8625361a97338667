//! A tenant's working-memory settings and their rules (XA-C1 to XA-C7, XB-08 to XB-19).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod written;

use self::written::{WrittenEngine, WrittenGate};
use super::decay::Decay;
use crate::error::{Error, Result};

/// The most slots a namespace can be given, and the most items it holds whatever their costs (XA-C1, XB-11).
pub const MAX_SLOTS: u32 = 1_024;

/// The longest life of a slot, in seconds: a year (XA-C2).
const MAX_TTL_S: u64 = 31_536_000;

/// Whatever the working memory of a tenant is told: how much, how long, and how attention works.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkingMemoryConfig {
    /// Slots of a namespace that inject may fill: 0 to 1,024; 0 turns working memory off (XA-C1).
    pub max_slots: u32,
    /// How long a slot lives after it was injected or offered: 1 to 31,536,000 s (XA-C2).
    pub ttl_seconds: u64,
    /// The largest value, in bytes of compact JSON: 1 to 1,048,576 (XA-C3).
    pub max_value_bytes: usize,
    /// Namespaces of the tenant that hold slots at the same time: 1 to 1,000,000 (XA-C4).
    pub max_namespace_entries: u64,
    /// The longest slot id, in bytes: 1 to 512 (XA-C5).
    pub max_slot_id_bytes: usize,
    /// How attention works.
    #[serde(default)]
    pub engine: Engine,
}

/// How attention works in a workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "WrittenEngine")]
pub struct Engine {
    /// Whether injected slots neither fade nor make room (XB-57).
    pub protect_injected: bool,
    /// Where the capacity comes from when it is not given (XB-10).
    pub preset: Preset,
    /// What the workspace holds, in the capacity's metric: 1 to 1,024. `max_slots`, when smaller, counts (XB-11).
    pub capacity: u32,
    /// What the capacity counts.
    pub capacity_metric: CapacityMetric,
    /// How items fade.
    pub decay: Decay,
    /// What rehearsal adds, 0 to 1.
    pub rehearsal_boost: f64,
    /// Items below this activation leave; 0 to below 1.
    pub evict_below: f64,
    /// Which of the items offered come in.
    pub gate: Gate,
    /// What the gate weighs; the sum is 1.
    pub priority_weights: PriorityWeights,
    /// How reads and writes of one client see those of others.
    pub isolation: Isolation,
    /// After how many seconds in the workspace an item becomes a durable record by itself; null is never.
    pub consolidate_after_seconds: Option<u64>,
}

/// How much a workspace holds, in a word (B-022, B-023).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// Seven.
    #[default]
    Default,
    /// Three.
    Minimal,
    /// Twelve.
    #[serde(alias = "high-capacity")]
    HighCapacity,
}

/// What a capacity counts (B-024).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum CapacityMetric {
    /// Items.
    #[default]
    #[serde(alias = "slots")]
    Slots,
    /// The sum of the items' costs.
    #[serde(alias = "resource")]
    Resource,
    /// Chunks: items with the same label are one.
    #[serde(alias = "chunks")]
    Chunks,
    /// Items and costs, each within the capacity.
    #[serde(alias = "hybrid")]
    Hybrid,
}

/// Which of the items offered come in (B-030, B-031).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", try_from = "WrittenGate")]
pub enum Gate {
    /// Those whose priority meets the threshold.
    ThresholdBased {
        /// From 0 to 1.
        threshold: f64,
    },
    /// The k best of the request.
    TopK {
        /// From 1 to 1,024.
        k: u32,
    },
    /// Winners of a draw in which a higher priority is likelier to win.
    SoftmaxCompetition {
        /// Above 0, at most 100. The smaller, the surer the highest priority wins.
        temperature: f64,
        /// From 1 to 1,024.
        winners: u32,
        /// Makes draws repeatable.
        seed: Option<u64>,
    },
    /// Those that matter for the goal and whose priority meets the threshold.
    GoalDirected {
        /// From 0 to 1.
        threshold: f64,
    },
    /// All.
    Open,
}

/// What a gate weighs (B-032).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PriorityWeights {
    /// How recently it was observed.
    pub recency: f64,
    /// How relevant it is.
    pub relevance: f64,
    /// How present it is.
    pub activation: f64,
    /// How much it matters.
    pub importance: f64,
}

/// How reads and writes of one client see those of others (B-034, XB-48).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum Isolation {
    /// Every read is of the newest state; a snapshot is not held.
    #[serde(alias = "read_committed", alias = "read-committed")]
    ReadCommitted,
    /// Reads with the id of a snapshot see that snapshot.
    #[default]
    #[serde(alias = "repeatable_read", alias = "repeatable-read")]
    RepeatableRead,
    /// The same, and engine writes must say on which version they build.
    #[serde(alias = "serializable")]
    Serializable,
}

impl Preset {
    /// How much it holds.
    pub fn capacity(self) -> u32 {
        match self {
            Self::Default => 7,
            Self::Minimal => 3,
            Self::HighCapacity => 12,
        }
    }
}

impl Default for WorkingMemoryConfig {
    fn default() -> Self {
        Self {
            max_slots: Preset::Default.capacity(),
            ttl_seconds: 3_600,
            max_value_bytes: 65_536,
            max_namespace_entries: 10_000,
            max_slot_id_bytes: 128,
            engine: Engine::default(),
        }
    }
}

impl Default for Engine {
    fn default() -> Self {
        let preset = Preset::default();
        Self {
            protect_injected: true,
            preset,
            capacity: preset.capacity(),
            capacity_metric: CapacityMetric::default(),
            decay: Decay::default(),
            rehearsal_boost: 0.3,
            evict_below: 0.1,
            gate: Gate::default(),
            priority_weights: PriorityWeights::default(),
            isolation: Isolation::default(),
            consolidate_after_seconds: None,
        }
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::ThresholdBased { threshold: 0.3 }
    }
}

impl Default for PriorityWeights {
    fn default() -> Self {
        Self { recency: 0.30, relevance: 0.30, activation: 0.25, importance: 0.15 }
    }
}

impl WorkingMemoryConfig {
    /// Refuses a setting out of its range (A-304, XA-C1 to XA-C6).
    pub fn check(&self) -> Result<()> {
        within("max_slots", u64::from(self.max_slots), 0, u64::from(MAX_SLOTS))?;
        within("ttl_seconds", self.ttl_seconds, 1, MAX_TTL_S)?;
        within("max_value_bytes", self.max_value_bytes as u64, 1, 1_048_576)?;
        within("max_namespace_entries", self.max_namespace_entries, 1, 1_000_000)?;
        within("max_slot_id_bytes", self.max_slot_id_bytes as u64, 1, 512)?;
        self.engine.check().map_err(|error| error.inside("engine"))
    }

    /// What the workspace holds: the engine's capacity, or `max_slots` when that is smaller (XB-11).
    pub fn capacity(&self) -> u32 {
        self.engine.capacity.min(self.max_slots)
    }
}

impl Engine {
    fn check(&self) -> Result<()> {
        within("capacity", u64::from(self.capacity), 1, u64::from(MAX_SLOTS))?;
        self.decay.check().map_err(|error| error.inside("decay"))?;
        fraction("rehearsal_boost", self.rehearsal_boost)?;
        if !(0.0..1.0).contains(&self.evict_below) {
            return Err(Error::invalid("evict_below", "must be from 0 to below 1"));
        }
        self.gate.check().map_err(|error| error.inside("gate"))?;
        self.priority_weights.check().map_err(|error| error.inside("priority_weights"))?;
        match self.consolidate_after_seconds {
            Some(0) => Err(Error::invalid("consolidate_after_seconds", "must be at least 1, or null")),
            _ => Ok(()),
        }
    }
}

impl Gate {
    fn check(&self) -> Result<()> {
        match *self {
            Self::ThresholdBased { threshold } | Self::GoalDirected { threshold } => {
                fraction("threshold", threshold)
            }
            Self::TopK { k } => within("k", u64::from(k), 1, 1_024),
            Self::SoftmaxCompetition { temperature, winners, .. } => {
                if !(temperature > 0.0 && temperature <= 100.0) {
                    return Err(Error::invalid("temperature", "must be above 0 and at most 100"));
                }
                within("winners", u64::from(winners), 1, 1_024)
            }
            Self::Open => Ok(()),
        }
    }
}

impl PriorityWeights {
    fn check(&self) -> Result<()> {
        let weights = [self.recency, self.relevance, self.activation, self.importance];
        let sum: f64 = weights.iter().sum();
        if weights.iter().any(|&weight| weight < 0.0) || (sum - 1.0).abs() > 1e-6 {
            return Err(Error::invalid("", "must be 0 or more each, and 1 together"));
        }
        Ok(())
    }
}

fn within(field: &'static str, value: u64, least: u64, most: u64) -> Result<()> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let limit = if value > most { most } else { least };
    Err(Error::over_limit(field, format!("must be {least} to {most}"), limit, value))
}

fn fraction(field: &'static str, value: f64) -> Result<()> {
    if (0.0..=1.0).contains(&value) { Ok(()) } else { Err(Error::invalid(field, "must be from 0 to 1")) }
}

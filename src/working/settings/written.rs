//! Settings as they may be sent: every member is optional, other spellings of names are read, and a member of another
//! gate is refused (XB-01, R-51).

use schemars::JsonSchema;
use serde::Deserialize;

use super::{CapacityMetric, Engine, Gate, Isolation, Preset, PriorityWeights};
use crate::working::decay::Decay;

/// [`Engine`] as it may be sent: every member is optional.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Engine")]
pub(super) struct WrittenEngine {
    /// Whether injected slots neither fade nor make room; true unless given.
    protect_injected: bool,
    /// Where the capacity comes from when it is not given.
    preset: Preset,
    /// What the workspace holds, in its metric: 1 to 1,024. `max_slots`, when smaller, counts.
    capacity: Option<u32>,
    /// What the capacity counts.
    capacity_metric: CapacityMetric,
    /// How items fade.
    decay: Decay,
    /// What rehearsal adds, 0 to 1; 0.3 unless given.
    rehearsal_boost: f64,
    /// Items below this activation leave; 0 to below 1, 0.1 unless given.
    evict_below: f64,
    /// Which of the items offered come in.
    gate: Gate,
    /// What the gate weighs; the sum is 1.
    priority_weights: PriorityWeights,
    /// How reads and writes of one client see those of others.
    isolation: Isolation,
    /// After how many seconds in the workspace an item becomes a durable record by itself; null is never.
    consolidate_after_seconds: Option<u64>,
}

impl Default for WrittenEngine {
    fn default() -> Self {
        let engine = Engine::default();
        Self {
            protect_injected: engine.protect_injected,
            preset: engine.preset,
            capacity: None,
            capacity_metric: engine.capacity_metric,
            decay: engine.decay,
            rehearsal_boost: engine.rehearsal_boost,
            evict_below: engine.evict_below,
            gate: engine.gate,
            priority_weights: engine.priority_weights,
            isolation: engine.isolation,
            consolidate_after_seconds: None,
        }
    }
}

impl From<WrittenEngine> for Engine {
    fn from(written: WrittenEngine) -> Self {
        Self {
            protect_injected: written.protect_injected,
            preset: written.preset,
            capacity: written.capacity.unwrap_or(written.preset.capacity()),
            capacity_metric: written.capacity_metric,
            decay: written.decay,
            rehearsal_boost: written.rehearsal_boost,
            evict_below: written.evict_below,
            gate: written.gate,
            priority_weights: written.priority_weights,
            isolation: written.isolation,
            consolidate_after_seconds: written.consolidate_after_seconds,
        }
    }
}

/// [`Gate`] as it may be sent: every member is optional, and one of another type is refused.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Gate")]
pub(super) struct WrittenGate {
    /// Which gate.
    r#type: GateType,
    /// ThresholdBased and GoalDirected: 0 to 1; 0.3 unless given.
    threshold: Option<f64>,
    /// TopK: 1 to 1,024; 7 unless given.
    k: Option<u32>,
    /// SoftmaxCompetition: above 0, at most 100; 0.1 unless given.
    temperature: Option<f64>,
    /// SoftmaxCompetition: 1 to 1,024; 1 unless given.
    winners: Option<u32>,
    /// SoftmaxCompetition: makes draws repeatable.
    seed: Option<u64>,
}

/// The gates by name.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize, JsonSchema)]
enum GateType {
    /// Those whose priority meets the threshold.
    #[default]
    #[serde(alias = "threshold_based", alias = "threshold-based")]
    ThresholdBased,
    /// The k best of the request.
    #[serde(alias = "top_k", alias = "top-k")]
    TopK,
    /// Winners of a draw in which a higher priority is likelier to win.
    #[serde(alias = "softmax_competition", alias = "softmax-competition")]
    SoftmaxCompetition,
    /// Those that matter for the goal and whose priority meets the threshold.
    #[serde(alias = "goal_directed", alias = "goal-directed")]
    GoalDirected,
    /// All.
    #[serde(alias = "open")]
    Open,
}

impl TryFrom<WrittenGate> for Gate {
    type Error = String;

    fn try_from(written: WrittenGate) -> Result<Self, String> {
        let kind = written.r#type;
        let has_threshold = matches!(kind, GateType::ThresholdBased | GateType::GoalDirected);
        let is_draw = kind == GateType::SoftmaxCompetition;
        let misplaced = [
            ("threshold", written.threshold.is_some() && !has_threshold),
            ("k", written.k.is_some() && kind != GateType::TopK),
            ("temperature", written.temperature.is_some() && !is_draw),
            ("winners", written.winners.is_some() && !is_draw),
            ("seed", written.seed.is_some() && !is_draw),
        ];
        if let Some((member, _)) = misplaced.into_iter().find(|(_, is_misplaced)| *is_misplaced) {
            return Err(format!("gate: {kind:?} has no `{member}`"));
        }
        let threshold = written.threshold.unwrap_or(0.3);
        Ok(match kind {
            GateType::ThresholdBased => Self::ThresholdBased { threshold },
            GateType::GoalDirected => Self::GoalDirected { threshold },
            GateType::TopK => Self::TopK { k: written.k.unwrap_or(Preset::Default.capacity()) },
            GateType::SoftmaxCompetition => Self::SoftmaxCompetition {
                temperature: written.temperature.unwrap_or(0.1),
                winners: written.winners.unwrap_or(1),
                seed: written.seed,
            },
            GateType::Open => Self::Open,
        })
    }
}

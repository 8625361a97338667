//! What is done at random.

use proptest::prelude::*;
use serde_json::json;

use super::workspace::Settings;

#[derive(Debug, Clone)]
pub enum Act {
    Inject(String),
    Clear(String),
    Offer(Vec<Offered>),
    Rehearse(String),
    Focus(String),
    Release,
    ClearAll,
    Pass(u8),
    Configure(Settings),
}

#[derive(Debug, Clone)]
pub struct Offered {
    pub id: String,
    pub importance: f64,
    pub relevance: Option<f64>,
    pub activation: f64,
    pub cost: f64,
    pub chunk: Option<String>,
}

pub fn ids() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c", "d", "e"]).prop_map(str::to_owned)
}

pub fn settings() -> impl Strategy<Value = Settings> {
    let law =
        prop::sample::select(vec![("Linear", 0.02), ("Exponential", 0.05), ("PowerLaw", 0.6), ("ActR", 0.7)]);
    let gate = prop_oneof![
        Just(json!({ "type": "Open" })),
        (0.3..0.8_f64).prop_map(|threshold| json!({ "type": "ThresholdBased", "threshold": threshold })),
        (1..3_u32).prop_map(|k| json!({ "type": "TopK", "k": k })),
        (0..1_000_u64).prop_map(
            |seed| json!({ "type": "SoftmaxCompetition", "temperature": 0.1, "winners": 1, "seed": seed })
        ),
    ];
    let metric = prop::sample::select(vec!["Slots", "Resource", "Chunks", "Hybrid"]);
    let numbers = (0.5..1.5_f64, 0.0..1.0_f64, 0.05..0.5_f64);
    (law, gate, metric, numbers, 1..5_u32, 0..5_u32, any::<bool>()).prop_map(
        |((law, parameter), gate, metric, (factor, boost, evict_below), capacity, max_slots, protects)| {
            Settings {
                law,
                parameter: parameter * factor,
                boost,
                evict_below,
                gate,
                metric,
                capacity,
                max_slots,
                protects,
            }
        },
    )
}

pub fn offered() -> impl Strategy<Value = Offered> {
    let chunk = prop::option::of(prop::sample::select(vec!["x", "y"]).prop_map(str::to_owned));
    (ids(), 0.0..1.0_f64, prop::option::of(0.0..1.0_f64), 0.2..1.0_f64, 0.1..2.5_f64, chunk).prop_map(
        |(id, importance, relevance, activation, cost, chunk)| Offered {
            id,
            importance,
            relevance,
            activation,
            cost,
            chunk,
        },
    )
}

/// What is done, and whether the workspace is looked at after it.
pub fn acts() -> impl Strategy<Value = Vec<(Act, bool)>> {
    let act = prop_oneof![
        4 => ids().prop_map(Act::Inject),
        2 => ids().prop_map(Act::Clear),
        6 => prop::collection::vec(offered(), 1..4).prop_map(Act::Offer),
        3 => ids().prop_map(Act::Rehearse),
        2 => ids().prop_map(Act::Focus),
        1 => Just(Act::Release),
        1 => Just(Act::ClearAll),
        5 => (1..5_u8).prop_map(Act::Pass),
        1 => settings().prop_map(Act::Configure),
    ];
    prop::collection::vec((act, prop::bool::weighted(0.4)), 1..40)
}

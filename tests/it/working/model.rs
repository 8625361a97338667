//! Random operations under a clock that jumps, against a workspace of a few lines in memory: every decay law, every
//! gate, every metric.
//!
//! A tick takes 10 s and time passes in whole ticks, so that what the test itself takes is never seen.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering};

use memtide::working::gate::{self, Candidate, Reason};
use memtide::working::settings::Gate;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::{Value, json};
use tokio::runtime::Handle;

use super::engine::slow;
use super::{OFFER, WORKSPACE};
use crate::support::{Client, TestApp, find_env};

const TICK_S: f64 = 10.0;

/// Not a whole number of ticks, so that nothing depends on a few milliseconds.
const TTL_S: u32 = 95;

#[derive(Debug, Clone)]
struct Settings {
    law: &'static str,
    parameter: f64,
    boost: f64,
    evict_below: f64,
    gate: Value,
    metric: &'static str,
    capacity: u32,
    max_slots: u32,
    protects: bool,
}

#[derive(Debug, Clone)]
struct Item {
    injected: bool,
    law: &'static str,
    parameter: f64,
    level: f64,
    since: f64,
    presentations: Vec<f64>,
    expires: f64,
    /// When it leaves, by the law and the settings at the time it was last set or rehearsed.
    ends: f64,
    /// The number of the operation that accessed it last.
    accessed: usize,
    cost: f64,
    chunk: Option<String>,
}

impl Item {
    fn new(settings: &Settings, injected: bool, level: f64, now: f64, turn: usize) -> Self {
        let mut item = Self {
            injected,
            law: settings.law,
            parameter: settings.parameter,
            level,
            since: now,
            presentations: vec![now],
            expires: now + f64::from(TTL_S),
            ends: 0.0,
            accessed: turn,
            cost: 1.0,
            chunk: None,
        };
        item.date(settings);
        item
    }

    fn activation(&self, now: f64) -> f64 {
        let t = ((now - self.since) / TICK_S).floor() * TICK_S;
        match self.law {
            "Linear" => (self.level - self.parameter * t).max(0.0),
            "Exponential" => self.level * (-self.parameter * t).exp(),
            "PowerLaw" => self.level * (1.0 + t).powf(-self.parameter),
            _ => {
                let odds: f64 =
                    self.presentations.iter().map(|at| (now - at).max(TICK_S).powf(-self.parameter)).sum();
                odds / (1.0 + odds)
            }
        }
    }

    fn date(&mut self, settings: &Settings) {
        let is_kept = self.injected && settings.protects;
        let ticks = (0..=10).map(|tick| self.since + f64::from(tick) * TICK_S);
        let fades = ticks
            .filter(|&at| at < self.expires)
            .find(|&at| self.activation(at) < settings.evict_below - 1e-9);
        self.ends = fades.filter(|_| !is_kept).unwrap_or(self.expires);
    }
}

#[derive(Debug, Default)]
struct Model {
    now: f64,
    turn: usize,
    items: BTreeMap<String, Item>,
    focus: Option<String>,
    version: u64,
}

impl Model {
    /// What every operation begins with.
    fn prune(&mut self) {
        let now = self.now;
        let before = self.items.len();
        self.items.retain(|_, item| now < item.ends);
        self.let_go();
        self.version += u64::from(self.items.len() < before);
    }

    fn let_go(&mut self) {
        let items = &self.items;
        self.focus = self.focus.take().filter(|id| items.contains_key(id));
    }

    fn fits(&self, settings: &Settings) -> bool {
        let capacity = settings.capacity.min(settings.max_slots);
        let cost: f64 = self.items.values().map(|item| item.cost).sum();
        let mut chunks: Vec<&String> = self.items.values().filter_map(|item| item.chunk.as_ref()).collect();
        chunks.sort_unstable();
        chunks.dedup();
        let lone = self.items.values().filter(|item| item.chunk.is_none()).count();
        let (slots_fit, costs_fit) =
            (self.items.len() <= capacity as usize, cost <= f64::from(capacity) + 1e-9);
        match settings.metric {
            "Slots" => slots_fit,
            "Resource" => costs_fit,
            "Chunks" => chunks.len() + lone <= capacity as usize,
            _ => slots_fit && costs_fit,
        }
    }

    /// Takes an item in, or changes nothing. Gives who had to leave.
    fn admit(&mut self, id: &str, item: Item, settings: &Settings) -> Option<Vec<String>> {
        let before = self.items.clone();
        self.items.insert(id.to_owned(), item);
        let mut evicted = Vec::new();
        while !self.fits(settings) {
            let now = self.now;
            let may_leave = self.items.iter().filter(|(other, item)| {
                other.as_str() != id
                    && Some(*other) != self.focus.as_ref()
                    && !(item.injected && settings.protects)
            });
            let first = may_leave.min_by(|(a, x), (b, y)| {
                let (p, q) = (x.activation(now), y.activation(now));
                let by_activation =
                    if (p - q).abs() > 1e-9 { p.total_cmp(&q) } else { std::cmp::Ordering::Equal };
                by_activation.then(x.accessed.cmp(&y.accessed)).then(a.cmp(b))
            });
            let Some((first, _)) = first else {
                self.items = before;
                return None;
            };
            let first = first.clone();
            self.items.remove(&first);
            evicted.push(first);
        }
        Some(evicted)
    }
}

#[derive(Debug, Clone)]
enum Act {
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
struct Offered {
    id: String,
    importance: f64,
    relevance: Option<f64>,
    activation: f64,
    cost: f64,
    chunk: Option<String>,
}

fn ids() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c", "d", "e"]).prop_map(str::to_owned)
}

fn settings() -> impl Strategy<Value = Settings> {
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

fn offered() -> impl Strategy<Value = Offered> {
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

fn acts() -> impl Strategy<Value = Vec<Act>> {
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
    prop::collection::vec(act, 1..40)
}

struct Run<'a> {
    app: &'a TestApp,
    client: Client,
    settings: Settings,
    model: Model,
}

impl Run<'_> {
    async fn configure(&mut self, settings: Settings) {
        let engine = json!({
            "protect_injected": settings.protects,
            "capacity": settings.capacity,
            "capacity_metric": settings.metric,
            "decay": slow(settings.law, settings.parameter),
            "rehearsal_boost": settings.boost,
            "evict_below": settings.evict_below,
            "gate": settings.gate,
        });
        let changes = json!({ "max_slots": settings.max_slots, "ttl_seconds": TTL_S, "engine": engine });
        self.client.configure(changes).await;
        self.settings = settings;
    }

    async fn act(&mut self, act: &Act) {
        // Two operations are never within the same millisecond.
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        self.model.turn += 1;
        let (now, turn, settings) = (self.model.now, self.model.turn, self.settings.clone());
        if !matches!(act, Act::Pass(_) | Act::Configure(_)) {
            self.model.prune();
        }
        match act {
            Act::Pass(ticks) => {
                self.model.now += f64::from(*ticks) * TICK_S;
                self.app.pass(f64::from(*ticks) * TICK_S);
            }
            Act::Configure(settings) => self.configure(settings.clone()).await,
            Act::Inject(id) => {
                let is_full = self.model.items.len() >= settings.max_slots as usize
                    && !self.model.items.contains_key(id);
                let reply = self.client.inject(id, json!(turn)).await;
                assert_eq!(reply.status.as_u16(), if is_full { 409 } else { 200 }, "{}", reply.text);
                if !is_full {
                    self.model.items.insert(id.clone(), Item::new(&settings, true, 1.0, now, turn));
                    self.model.version += 1;
                }
            }
            Act::Clear(id) => {
                let was_there = self.model.items.remove(id).is_some();
                assert_eq!(self.client.clear(id).await, was_there);
                self.model.let_go();
                self.model.version += u64::from(was_there);
            }
            Act::Offer(items) => self.offer(items).await,
            Act::Rehearse(id) => {
                let reply = self.client.rehearse(id).await;
                let Some(item) = self.model.items.get_mut(id) else {
                    reply.refused(404, "not_found");
                    return;
                };
                if settings.law == "ActR" {
                    // An item of another law has been presented once: when it was last set.
                    if item.law != "ActR" {
                        item.presentations = vec![item.since];
                    }
                    item.presentations.push(now);
                } else {
                    item.level = (item.activation(now) + settings.boost).min(1.0);
                    item.presentations = vec![now];
                }
                (item.law, item.parameter, item.since, item.accessed) =
                    (settings.law, settings.parameter, now, turn);
                if settings.law == "ActR" {
                    item.level = item.activation(now);
                }
                item.date(&settings);
                let answer = reply.expect(200)["activation"].as_f64().unwrap();
                assert!((answer - item.activation(now)).abs() < 1e-9, "{answer} for {item:?}");
                self.model.version += 1;
            }
            Act::Focus(id) => {
                let reply = self.client.post("/v1/working-memory/focus", json!({ "id": id })).await;
                let Some(item) = self.model.items.get_mut(id) else {
                    reply.refused(404, "not_found");
                    return;
                };
                item.accessed = turn;
                self.model.focus = Some(id.clone());
                self.model.version += 1;
                reply.expect(200);
            }
            Act::Release => {
                let reply = self.client.post("/v1/working-memory/focus/release", json!({})).await.expect(200);
                assert_eq!(reply["released"], json!(self.model.focus));
                self.model.version += u64::from(self.model.focus.take().is_some());
            }
            Act::ClearAll => {
                let reply = self.client.post("/v1/working-memory/clear", json!({})).await.expect(200);
                assert_eq!(reply["removed"], self.model.items.len());
                self.model.version += u64::from(!self.model.items.is_empty());
                self.model.items.clear();
                self.model.focus = None;
            }
        }
    }

    async fn offer(&mut self, items: &[Offered]) {
        let (now, turn, settings) = (self.model.now, self.model.turn, self.settings.clone());
        let is_act_r = settings.law == "ActR";
        let body: Vec<Value> = items
            .iter()
            .map(|item| {
                let mut body =
                    json!({ "id": item.id, "value": turn, "importance": item.importance, "cost": item.cost });
                if let Some(relevance) = item.relevance {
                    body["relevance"] = relevance.into();
                }
                if let Some(chunk) = &item.chunk {
                    body["chunk"] = chunk.as_str().into();
                }
                if !is_act_r {
                    body["activation"] = item.activation.into();
                }
                body
            })
            .collect();
        let reply = self.client.post(OFFER, json!({ "items": body })).await.expect(200);
        let odds = TICK_S.powf(-settings.parameter);
        let level = |item: &Offered| if is_act_r { odds / (1.0 + odds) } else { item.activation };
        let priority = |item: &Offered| {
            0.30 + 0.30 * item.relevance.unwrap_or(0.5) + 0.25 * level(item) + 0.15 * item.importance
        };
        let verdicts = reply["verdicts"].as_array().unwrap();
        let admitted = self.judge(items, &priority);
        let (mut evicted, mut is_changed) = (Vec::new(), false);
        for ((item, verdict), admitted) in items.iter().zip(verdicts).zip(admitted) {
            assert_eq!(verdict["id"], item.id);
            assert!((verdict["priority"].as_f64().unwrap() - priority(item)).abs() < 1e-9);
            if !admitted {
                assert!(verdict["admitted"] == false && verdict["reason"] != "no_room", "{verdict}");
                continue;
            }
            let level = if is_act_r { 1.0 } else { item.activation };
            let mut new = Item::new(&settings, false, level, now, turn);
            (new.cost, new.chunk) = (item.cost, item.chunk.clone());
            match self.model.admit(&item.id, new, &settings) {
                Some(leavers) => {
                    assert_eq!(verdict["reason"], "admitted", "{verdict}");
                    evicted.extend(leavers);
                    is_changed = true;
                }
                None => assert_eq!(verdict["reason"], "no_room", "{verdict}"),
            }
        }
        assert_eq!(reply["evicted"], json!(evicted));
        self.model.let_go();
        self.model.version += u64::from(is_changed);
    }

    fn judge(&self, items: &[Offered], priority: &dyn Fn(&Offered) -> f64) -> Vec<bool> {
        let gate: Gate = serde_json::from_value(self.settings.gate.clone()).unwrap();
        match gate {
            Gate::Open => vec![true; items.len()],
            Gate::ThresholdBased { threshold } => {
                items.iter().map(|item| priority(item) >= threshold).collect()
            }
            // Draws and ranks are tested where they are made; equal times of observation leave the id to decide.
            _ => {
                let candidate = |item: &Offered| Candidate {
                    id: item.id.clone(),
                    priority: priority(item),
                    relevance: 0.5,
                    observed_ms: 0,
                };
                let candidates: Vec<Candidate> = items.iter().map(candidate).collect();
                gate::judge(&gate, &candidates, 0)
                    .into_iter()
                    .map(|reason| reason == Reason::Admitted)
                    .collect()
            }
        }
    }

    /// All views agree with the model.
    async fn check(&mut self) {
        self.model.prune();
        let model = &self.model;
        let ids: Vec<&String> = model.items.keys().collect();
        assert_eq!(self.client.ids().await.iter().collect::<Vec<_>>(), ids);
        assert_eq!(self.client.stats().await["slotCount"], ids.len());
        let look = self.client.get(WORKSPACE).await.expect(200);
        let version = if ids.is_empty() { 0 } else { model.version };
        assert_eq!((&look["version"], &look["focus"]), (&json!(version), &json!(model.focus)), "{look}");
        for item in look["items"].as_array().unwrap() {
            let expected = model.items[item["id"].as_str().unwrap()].activation(model.now);
            let seen = item["activation"].as_f64().unwrap();
            assert!((seen - expected).abs() < 1e-9, "{seen} for {expected}: {item}");
        }
    }
}

async fn run(app: &TestApp, client: Client, settings: Settings, acts: Vec<Act>) {
    let mut run = Run { app, client, settings: settings.clone(), model: Model::default() };
    run.configure(settings).await;
    for act in &acts {
        run.act(act).await;
        run.check().await;
    }
    // It goes on where it left off, whatever this namespace was used for before.
    run.client.post("/v1/working-memory/clear", json!({})).await.expect(200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_and_a_model_in_memory_agree_after_every_operation_a616_xb20_to_xb57() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await;
    let cases = find_env("PROPTEST_CASES").map_or(48, |cases| cases.parse().unwrap());
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let number = AtomicUsize::new(0);
    let cases = |(settings, acts)| {
        let space = format!("case-{}", number.fetch_add(1, Ordering::Relaxed));
        let case = async {
            // So that no token ends on the way; a namespace of its own does not mind.
            app.app.clock.shift(-app.app.clock.shifted_by());
            let client = app.within(&alice.key, &space).await;
            run(&app, client, settings, acts).await;
        };
        let caught = AssertUnwindSafe(|| Handle::current().block_on(case));
        std::panic::catch_unwind(caught).map_err(|_| TestCaseError::fail("see above"))
    };
    tokio::task::block_in_place(|| {
        if let Err(error) = runner.run(&(settings(), acts()), cases) {
            panic!("{error}");
        }
    });
}

//! Random operations under a clock that jumps, against a workspace of a few lines in memory: every decay law, every
//! gate, every metric.
//!
//! A tick takes 10 s and time passes in whole ticks, so that what the test itself takes is never seen.

mod act;
mod workspace;

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering};

use memtide::working::gate::{self, Candidate, Reason};
use memtide::working::settings::Gate;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::{Value, json};
use tokio::runtime::Handle;

use self::act::{Act, Offered, acts, settings};
use self::workspace::{Item, Model, Settings, TICK_S, TTL_S};
use super::engine::slow;
use super::{OFFER, WORKSPACE};
use crate::support::{Client, TestApp, find_env};

struct Run<'a> {
    app: &'a TestApp,
    client: Client,
    settings: Settings,
    model: Model,
    /// The version that the model's version 0 stands for.
    first: Option<u64>,
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
        self.app.pass(0.002);
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
        // It begins with a number of Redis' own.
        let version = look["version"].as_u64().unwrap();
        let first = *self.first.get_or_insert(version.saturating_sub(model.version));
        let expected = if model.version == 0 { 0 } else { first + model.version };
        assert_eq!((version, &look["focus"]), (expected, &json!(model.focus)), "{look}");
        if model.version == 0 {
            self.first = None;
        }
        for item in look["items"].as_array().unwrap() {
            let expected = model.items[item["id"].as_str().unwrap()].activation(model.now);
            let seen = item["activation"].as_f64().unwrap();
            assert!((seen - expected).abs() < 1e-9, "{seen} for {expected}: {item}");
        }
    }
}

/// Looks after some acts only: a look takes out what has ended, which the next act would otherwise have to do.
async fn run(app: &TestApp, client: Client, settings: Settings, acts: Vec<(Act, bool)>) {
    let mut run = Run { app, client, settings: settings.clone(), model: Model::default(), first: None };
    run.configure(settings).await;
    for (act, is_looked_at) in &acts {
        run.act(act).await;
        if *is_looked_at {
            run.check().await;
        }
    }
    run.check().await;
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

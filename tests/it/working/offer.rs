//! Offers: gates, room, bindings, the goal (XB-30 to XB-45, XB-51).

use serde_json::{Value, json};

use super::engine::slow;
use super::{OFFER, WORKSPACE};
use crate::support::redis::TestRedis;
use crate::support::{Client, TestApp};

/// The reasons in order.
fn reasons(reply: &Value) -> Vec<&str> {
    let verdicts = reply["verdicts"].as_array().unwrap();
    for verdict in verdicts {
        assert_eq!(verdict["admitted"], verdict["reason"] == "admitted", "{verdict}");
        assert!((0.0..=1.0).contains(&verdict["priority"].as_f64().unwrap()));
    }
    verdicts.iter().map(|verdict| verdict["reason"].as_str().unwrap()).collect()
}

/// An item whose priority is its importance.
fn important(id: &str, importance: f64) -> Value {
    json!({ "id": id, "value": id, "importance": importance })
}

const IMPORTANCE_ALONE: &str = r#"{"recency":0,"relevance":0,"activation":0,"importance":1}"#;

async fn gate(client: &Client, gate: Value) {
    let weights: Value = serde_json::from_str(IMPORTANCE_ALONE).unwrap();
    client.engine(json!({ "gate": gate, "priority_weights": weights })).await;
}

#[tokio::test]
async fn every_item_gets_a_verdict_and_a_reason_b020_b030_b031_b032_xb30_xb31_xb32_xb34_xb35_xb36_xb51() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    let items = json!([important("a", 0.3), important("b", 0.9), important("c", 0.299), important("d", 0.3)]);
    gate(&alice, json!({ "type": "ThresholdBased", "threshold": 0.3 })).await;
    let reply = alice.offer(items.clone()).await;
    assert_eq!(reasons(&reply), ["admitted", "admitted", "below_threshold", "admitted"]);
    let verdict = reply["verdicts"][1].as_object().unwrap();
    assert_eq!(verdict.keys().collect::<Vec<_>>(), ["admitted", "id", "priority", "reason"]);
    assert_eq!((&reply["ok"], &reply["evicted"]), (&json!(true), &json!([])));
    assert_eq!(alice.ids().await, ["a", "b", "d"]);
    gate(&alice, json!({ "type": "TopK", "k": 2 })).await;
    let ties = json!([important("z", 0.3), important("b", 0.9), important("c", 0.1), important("d", 0.3)]);
    assert_eq!(
        reasons(&alice.offer(ties).await),
        ["outranked", "admitted", "outranked", "admitted"],
        "ties by id"
    );
    let mut older = important("z", 0.3);
    older["observed_at"] = 1.into();
    let ties = json!([older, important("b", 0.9), important("d", 0.3)]);
    assert_eq!(reasons(&alice.offer(ties).await), ["admitted", "admitted", "outranked"], "the older first");
    gate(&alice, json!({ "type": "SoftmaxCompetition", "temperature": 1e-6, "winners": 2 })).await;
    assert_eq!(reasons(&alice.offer(items.clone()).await)[1], "admitted");
    gate(&alice, json!({ "type": "SoftmaxCompetition", "temperature": 100, "winners": 2, "seed": 7 })).await;
    let first = alice.offer(items.clone()).await["verdicts"].clone();
    for _ in 0..3 {
        assert_eq!(alice.offer(items.clone()).await["verdicts"], first, "a seed repeats");
    }
    let reply = json!({ "verdicts": first });
    assert_eq!(reasons(&reply).iter().filter(|&&reason| reason == "lost_competition").count(), 2);
    gate(&alice, json!({ "type": "Open" })).await;
    assert_eq!(reasons(&alice.offer(json!([important("a", 0.0)])).await), ["admitted"]);
}

#[tokio::test]
async fn priority_weighs_four_things_b019_b032_xb17() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    let now = app.app.clock.now().timestamp();
    let item = json!({ "id": "a", "value": 1, "importance": 0.2, "relevance": 0.4, "activation": 0.6, "observed_at": now - 3_600 });
    let reply = alice.offer(json!([item])).await;
    let priority = reply["verdicts"][0]["priority"].as_f64().unwrap();
    let expected = 0.30 * 0.5 + 0.30 * 0.4 + 0.25 * 0.6 + 0.15 * 0.2;
    assert!((priority - expected).abs() < 1e-3, "{priority} for {expected}");
    let reply = alice.offer(json!([{ "id": "b", "value": 1 }])).await;
    let priority = reply["verdicts"][0]["priority"].as_f64().unwrap();
    assert!((priority - (0.30 + 0.15 + 0.25 + 0.075)).abs() < 1e-3, "{priority}");
}

#[tokio::test]
async fn when_it_is_full_the_least_active_leaves_b012_xb37_z1_r52() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    let engine = json!({ "decay": slow("Exponential", 0.01), "gate": { "type": "Open" } });
    alice.configure(json!({ "max_slots": 3, "engine": engine })).await;
    for id in ["old", "middle", "young"] {
        alice.offer(json!([{ "id": id, "value": 1 }])).await;
        app.pass(10.0);
    }
    alice.rehearse("old").await.expect(200);
    let reply = alice.offer(json!([{ "id": "new", "value": 1 }])).await;
    assert_eq!(reply["evicted"], json!(["middle"]));
    let reply = alice.offer(json!([{ "id": "new", "value": 2 }])).await;
    assert_eq!(reply["evicted"], json!([]), "what is there already needs no room");
    // Equal activation: the longest not accessed.
    alice.post("/v1/working-memory/clear", json!({})).await.expect(200);
    for id in ["c", "b", "a"] {
        alice.offer(json!([{ "id": id, "value": 1 }])).await;
        app.pass(0.01);
    }
    let reply = alice.offer(json!([{ "id": "d", "value": 1 }, { "id": "e", "value": 1 }])).await;
    assert_eq!(reply["evicted"], json!(["c", "b"]));
    // Nobody may leave.
    alice.post("/v1/working-memory/clear", json!({})).await.expect(200);
    for id in ["x", "y"] {
        alice.inject(id, json!(1)).await.expect(200);
    }
    alice.offer(json!([{ "id": "z", "value": 1 }])).await;
    alice.post("/v1/working-memory/focus", json!({ "id": "z" })).await.expect(200);
    let reply = alice.offer(json!([{ "id": "new", "value": 1 }, { "id": "z", "value": 2 }])).await;
    assert_eq!(reasons(&reply), ["no_room", "admitted"]);
    assert_eq!(
        (&reply["evicted"], alice.ids().await),
        (&json!([]), vec!["x".into(), "y".into(), "z".to_string()])
    );
}

#[tokio::test]
async fn capacity_counts_slots_costs_or_chunks_b024_xb12_xb40_xb41_xb42_xb43() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    let item = |id: &str, cost: f64, chunk: Option<&str>| json!({ "id": id, "value": 1, "cost": cost, "chunk": chunk });
    let configure = async |metric: &str| {
        alice.post("/v1/working-memory/clear", json!({})).await.expect(200);
        let engine = json!({ "capacity": 3, "capacity_metric": metric, "gate": { "type": "Open" } });
        alice.engine(engine).await;
    };
    configure("Slots").await;
    let reply = alice
        .offer(json!([
            item("a", 9.0, None),
            item("b", 9.0, None),
            item("c", 9.0, None),
            item("d", 9.0, None)
        ]))
        .await;
    assert_eq!(reply["evicted"], json!(["a"]));
    configure("Resource").await;
    let reply = alice
        .offer(json!([
            item("a", 0.5, None),
            item("b", 0.5, None),
            item("c", 1.5, None),
            item("d", 0.5, None)
        ]))
        .await;
    assert_eq!(
        (reasons(&reply), &reply["evicted"]),
        (vec!["admitted"; 4], &json!([])),
        "four that cost three"
    );
    let reply = alice.offer(json!([item("e", 1.0, None), item("f", 3.1, None)])).await;
    assert_eq!((reasons(&reply), &reply["evicted"]), (vec!["admitted", "no_room"], &json!(["a", "b"])));
    configure("Chunks").await;
    let items = json!([
        item("a", 1.0, Some("x")),
        item("b", 1.0, Some("x")),
        item("c", 1.0, Some("y")),
        item("d", 1.0, None),
        item("e", 1.0, Some("x"))
    ]);
    let reply = alice.offer(items).await;
    assert_eq!(reply["evicted"], json!([]), "x, y and one of its own");
    let reply = alice.offer(json!([item("f", 1.0, Some("z"))])).await;
    assert_eq!(reply["evicted"], json!(["a", "b", "c"]), "the oldest, until a whole chunk is gone");
    configure("Hybrid").await;
    let reply = alice.offer(json!([item("a", 2.0, None), item("b", 1.0, None), item("c", 1.0, None)])).await;
    assert_eq!(reply["evicted"], json!(["a"]), "the costs");
    let reply = alice.offer(json!([item("d", 0.1, None), item("e", 0.1, None)])).await;
    assert_eq!(reply["evicted"], json!(["b"]), "the number");
}

#[tokio::test]
async fn bindings_keep_their_value_when_their_target_leaves_b033_xb45() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    let bindings = json!([
        { "variable": "x", "target": "goal", "value": { "n": 1 } },
        { "variable": "y", "target": null, "value": "v", "source": "user_input" },
        { "variable": "z", "target": "missing", "source": "PatternMatch" },
    ]);
    alice
        .offer(json!([{ "id": "goal", "value": 1 }, { "id": "clue", "value": 1, "bindings": bindings }]))
        .await;
    let seen = async || {
        let look = alice.get(&format!("{WORKSPACE}?id=clue")).await.expect(200);
        look["items"][0]["bindings"].clone()
    };
    let mut expected = json!([
        { "variable": "x", "target": "goal", "value": { "n": 1 }, "source": "Direct" },
        { "variable": "y", "target": null, "value": "v", "source": "UserInput" },
        { "variable": "z", "target": null, "value": null, "source": "PatternMatch" },
    ]);
    assert_eq!(seen().await, expected);
    alice.inject("goal", json!("another value")).await.expect(200);
    assert_eq!(seen().await, expected, "a slot that is set again is the same slot");
    alice.clear("goal").await;
    expected[0]["target"] = Value::Null;
    assert_eq!(seen().await, expected);
    app.pass(0.01);
    alice.inject("goal", json!("somebody else")).await.expect(200);
    alice.rehearse("clue").await.expect(200);
    assert_eq!(seen().await, expected, "another slot of that name is not the one that was bound");
    for source in ["Direct", "Unification", "PatternMatch", "Inference", "UserInput", "Perception"] {
        let item = json!([{ "id": "a", "value": 1, "bindings": [{ "variable": "x", "value": 1, "source": source }] }]);
        alice.offer(item).await;
        let look = alice.get(&format!("{WORKSPACE}?id=a")).await.expect(200);
        assert_eq!(look["items"][0]["bindings"][0]["source"], source);
    }
    let many: Vec<Value> = (0..33).map(|n| json!({ "variable": format!("v{n}") })).collect();
    for (bad, status, code) in [
        (json!(many), 400, "invalid_request"),
        (json!([{ "variable": "" }]), 400, "invalid_request"),
        (json!([{ "variable": "x", "source": "Hearsay" }]), 400, "invalid_request"),
        (json!([{ "variable": "x", "sauce": "Direct" }]), 422, "unprocessable"),
    ] {
        let item = json!({ "items": [{ "id": "a", "value": 1, "bindings": bad }] });
        alice.post(OFFER, item).await.refused(status, code);
    }
}

#[tokio::test]
async fn offers_have_rules_xb51_r08_r52() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    let many: Vec<Value> = (0..65).map(|n| json!({ "id": n.to_string(), "value": 1 })).collect();
    for items in [json!([]), json!(many)] {
        alice.post(OFFER, json!({ "items": items })).await.refused(400, "invalid_request");
    }
    for (member, bad) in [
        ("importance", json!(1.1)),
        ("relevance", json!(-0.1)),
        ("activation", json!(2)),
        ("cost", json!(-1)),
        ("chunk", json!("")),
        ("id", json!("")),
    ] {
        let mut item = json!({ "id": "a", "value": 1 });
        item[member] = bad;
        let reply = alice.post(OFFER, json!({ "items": [{ "id": "good", "value": 1 }, item] })).await;
        let field = reply.body["error"]["details"]["field"].as_str().unwrap_or_default().to_owned();
        reply.refused(400, "invalid_request");
        assert!(field.starts_with("items[1]"), "{member}: {field}");
    }
    for body in [
        json!({ "items": [{ "id": "a", "value": 1, "colour": "red" }] }),
        json!({ "items": [{ "id": "a" }] }),
        json!({ "items": [{ "id": "a", "value": 1 }], "namespace": "x" }),
        json!({ "items": [["a", 1]] }),
        json!({}),
    ] {
        alice.post(OFFER, body).await.refused(422, "unprocessable");
    }
    alice.configure(json!({ "max_value_bytes": 3 })).await;
    alice
        .post(OFFER, json!({ "items": [{ "id": "a", "value": "abc" }] }))
        .await
        .refused(413, "payload_too_large");
    assert_eq!(alice.ids().await, Vec::<String>::new(), "one bad item refuses all");
    let session =
        json!({ "items": [{ "id": "a", "value": 1 }], "session_id": "ses_00000000000000000000000000" });
    alice.post(OFFER, session).await.refused(404, "not_found");
}

#[tokio::test]
async fn relevance_is_measured_against_the_goal_b019_xb33_xb51() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let items = json!([
        { "id": "near", "value": "Sales by channel fell in the third quarter." },
        { "id": "far", "value": { "recipe": "Boil the potatoes for twenty minutes." } },
    ]);
    let goal = "Investigate the Q3 revenue change by sales channel.";
    let reply = alice.post(OFFER, json!({ "items": items, "goal": goal })).await.expect(200);
    assert_eq!(reasons(&reply), ["admitted"; 2]);
    let look = alice.get(WORKSPACE).await.expect(200);
    let relevance = |id: &str| {
        let items = look["items"].as_array().unwrap();
        items.iter().find(|item| item["id"] == id).unwrap()["relevance"].as_f64().unwrap()
    };
    assert!(relevance("near") > 0.4 && relevance("far") < 0.2, "{look}");
    alice.engine(json!({ "gate": { "type": "GoalDirected", "threshold": 0.3 } })).await;
    let mut lying = items.clone();
    lying[1]["relevance"] = 1.into();
    let reply = alice.post(OFFER, json!({ "items": lying, "goal": goal })).await.expect(200);
    assert_eq!(reasons(&reply), ["admitted", "off_goal"], "the goal alone says what is relevant");
    let message = alice.post(OFFER, json!({ "items": items })).await.refused(400, "invalid_request");
    assert!(message.contains("goal"), "{message}");
    for goal in [" ", "\0", &"x".repeat(4_097)] {
        alice.post(OFFER, json!({ "items": items, "goal": goal })).await.refused(400, "invalid_request");
    }
}

#[tokio::test]
async fn without_an_embedder_a_goal_measures_nothing_and_directs_nothing_xb33() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    let body = json!({ "items": [{ "id": "a", "value": "text" }], "goal": "a goal" });
    alice.post(OFFER, body.clone()).await.expect(200);
    assert_eq!(alice.get(WORKSPACE).await.expect(200)["items"][0]["relevance"], 0.5);
    alice.engine(json!({ "gate": { "type": "GoalDirected" } })).await;
    alice.post(OFFER, body).await.refused(503, "unavailable");
}

/// While a script runs, Redis serves nobody else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_offers_to_a_full_workspace_take_little_longer_than_one_r16_r52() {
    let Some(redis) = TestRedis::start(&[]).await else { return };
    let app = TestApp::start_on_redis(&redis.url()).await;
    let alice = app.tenant("alice").await.client;
    let engine = json!({
        "capacity": 1_024,
        "capacity_metric": "Resource",
        "decay": slow("Exponential", 1e-6),
        "gate": { "type": "Open" },
    });
    alice.configure(json!({ "max_slots": 1_024, "engine": engine })).await;
    let items = |ids: std::ops::Range<usize>, cost: f64| -> Value {
        ids.map(|id| json!({ "id": format!("s{id}"), "value": 1, "cost": cost })).collect()
    };
    for start in (0..1_024).step_by(64) {
        alice.offer(items(start..start + 64, 1.0)).await;
    }
    let took = async |items: Value| {
        let before = redis.script_micros().await;
        let reply = alice.offer(items).await;
        (redis.script_micros().await - before, reply)
    };
    let mut new = 2_000;
    for (case, cost, evicted) in [("refused", 1_025.0, 0), ("set again", 1.0, 0), ("displacing", 1.0, 64)] {
        let (mut one, mut many) = (u64::MAX, u64::MAX);
        for _ in 0..3 {
            let start = if case == "set again" { 512 } else { new };
            let (micros, _) = took(items(start..start + 1, cost)).await;
            one = one.min(micros);
            let (micros, reply) = took(items(start + 1..start + 65, cost)).await;
            many = many.min(micros);
            assert_eq!(reply["evicted"].as_array().unwrap().len(), evicted, "{case}");
            new += 100;
        }
        eprintln!("{case}: one {one} us, 64 {many} us");
        assert!(many < 8 * one, "{case}: one {one} us, 64 {many} us");
    }
}

/// Of the numbers that are stored, some have more than the 14 digits that cjson writes.
#[tokio::test]
async fn numbers_are_kept_to_the_last_digit_xb50_xb51_xb55() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    let engine = json!({ "gate": { "type": "Open" }, "decay": slow("Exponential", 1e-6) });
    alice.engine(engine).await;
    let times = [
        json!("9999-12-31T23:59:59.999Z"),
        json!(253_402_300_799_i64),
        json!(-62_135_596_800_i64),
        json!(-1),
    ];
    for (number, time) in times.iter().enumerate() {
        let (exact, active) = (0.123_456_789_012_345_67, 0.876_543_210_987_654_3);
        let item = json!({
            "id": "a", "value": format!("at {time}"), "observed_at": time, "importance": exact, "relevance": exact,
            "activation": active, "cost": 0.3,
        });
        alice.offer(json!([item])).await;
        let look = alice.get(WORKSPACE).await.expect(200);
        let seen = &look["items"][0];
        for (member, exact) in
            [("importance", exact), ("relevance", exact), ("activation", active), ("cost", 0.3)]
        {
            // What reads JSON may be wrong in the last bit.
            let error = (seen[member].as_f64().unwrap() - exact).abs();
            assert!(error < 2e-16, "{member} is {error} off");
        }
        let mut events = alice.events("/v1/working-memory/events").await;
        assert_eq!(events.until("workspace").await["items"][0]["id"], "a");
        alice.rehearse("a").await.expect(200);
        let reply =
            alice.post(super::CONSOLIDATE, json!({ "id": "a", "clear": number == 0 })).await.expect(200);
        let path = format!("/v1/memory/items/{}", reply["memory_id"].as_str().unwrap());
        let kept = alice.get(&path).await.expect(200)["record"]["context"]["observed_at"].clone();
        assert_eq!(kept, if number == 0 { &times[1] } else { time }.clone());
    }
}

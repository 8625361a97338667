//! The workspace: activation, rehearsal, focus (B-001 to B-038, XB-20 to XB-27, XB-50 to XB-57).

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{WORKSPACE, activation};
use crate::support::TestApp;

/// A tick of 10 s, so that what a test itself takes is not seen.
pub fn slow(function: &str, parameter: f64) -> Value {
    let member = match function {
        "PowerLaw" => "exponent",
        "ActR" => "d",
        _ => "rate",
    };
    json!({ "function": function, member: parameter, "tick_ms": 10_000 })
}

#[tokio::test]
async fn the_workspace_shows_its_items_b001_b003_b004_b014_b019_xb50_xb57_z2_z7() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    alice.engine(json!({ "decay": slow("Exponential", 0.01) })).await;
    let empty = json!({ "items": [], "count": 0, "capacity": 7, "focus": null, "version": 0 });
    assert_eq!(alice.get(WORKSPACE).await.expect(200), empty);
    alice.inject("injected", json!({ "goal": true })).await.expect(200);
    app.pass(10.0);
    let item = json!({ "id": "offered", "value": "clue", "importance": 0.8, "relevance": 0.6, "cost": 1.5, "chunk": "c" });
    let reply = alice.offer(json!([item])).await;
    assert_eq!(reply["verdicts"][0]["reason"], "admitted");
    let look = alice.get(WORKSPACE).await.expect(200);
    assert_eq!((&look["count"], &look["version"]), (&json!(2), &reply["version"]));
    let [offered, injected] = look["items"].as_array().unwrap().as_slice() else { panic!("{look}") };
    let members: Vec<&String> = offered.as_object().unwrap().keys().collect();
    let expected = [
        "activation",
        "bindings",
        "chunk",
        "cost",
        "created_at",
        "expires_at",
        "focused",
        "id",
        "importance",
        "last_accessed_at",
        "priority",
        "relevance",
        "value",
    ];
    assert_eq!(members, expected);
    assert_eq!(
        (&offered["id"], &offered["value"], &offered["chunk"]),
        (&json!("offered"), &json!("clue"), &json!("c"))
    );
    assert_eq!(
        (&offered["importance"], &offered["relevance"], &offered["cost"]),
        (&json!(0.8), &json!(0.6), &json!(1.5))
    );
    let priority = offered["priority"].as_f64().unwrap();
    assert!((priority - (0.3 + 0.3 * 0.6 + 0.25 + 0.15 * 0.8)).abs() < 1e-3, "{priority}");
    let lives = offered["expires_at"].as_i64().unwrap() - offered["created_at"].as_i64().unwrap();
    assert_eq!(lives, 3_600);
    assert!((injected["activation"].as_f64().unwrap() - (-0.1_f64).exp()).abs() < 1e-9, "{injected}");
    assert_eq!((&injected["importance"], &injected["relevance"]), (&json!(0.5), &json!(0.5)));
    // One population, two views.
    assert_eq!(alice.ids().await, ["injected", "offered"]);
    assert!(alice.clear("offered").await);
    assert_eq!(alice.get(WORKSPACE).await.expect(200)["count"], 1);
}

/// A law, its parameter, and its activation after some seconds.
type Case = (&'static str, f64, fn(f64) -> f64);

/// The same closed form on the wire for each law, at many times, and gone at the right one.
#[tokio::test]
async fn items_fade_by_their_law_and_leave_below_the_threshold_b002_b016_b018_b025_xb20_xb21_xb22_xb23_xb25()
{
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    let laws: [Case; 4] = [
        ("Linear", 0.005, |t| 1.0 - 0.005 * t),
        ("Exponential", 0.02, |t| (-0.02 * t).exp()),
        ("PowerLaw", 0.45, |t| (1.0 + t).powf(-0.45)),
        ("ActR", 0.4, |t| {
            let odds = t.max(10.0).powf(-0.4);
            odds / (1.0 + odds)
        }),
    ];
    for (law, parameter, closed_form) in laws {
        alice
            .engine(json!({ "decay": slow(law, parameter), "evict_below": 0.15, "gate": { "type": "Open" } }))
            .await;
        alice.offer(json!([{ "id": law, "value": 1 }])).await;
        let mut t = 0.0;
        while closed_form(t) >= 0.15 {
            let value = activation(&alice, law).await.unwrap_or_else(|| panic!("{law} is gone after {t} s"));
            assert!((value - closed_form(t)).abs() < 1e-9, "{law} after {t} s: {value}");
            app.pass(10.0);
            t += 10.0;
            if t > 150.0 {
                break;
            }
        }
        if t <= 150.0 {
            assert_eq!(activation(&alice, law).await, None, "{law} is still there after {t} s");
            assert!(!alice.ids().await.contains(&law.to_owned()));
        }
        alice.post("/v1/working-memory/clear", json!({})).await.expect(200);
    }
}

#[tokio::test]
async fn the_default_item_is_there_at_tick_230_and_gone_at_231_b026_b027_b029() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    let start = Instant::now();
    loop {
        assert!(start.elapsed() < Duration::from_secs(10), "this machine is too slow to look within a tick");
        let begin = Instant::now();
        alice.offer(json!([{ "id": "a", "value": 1 }])).await;
        app.pass(23.0);
        let value = activation(&alice, "a").await;
        if begin.elapsed() < Duration::from_millis(95) {
            assert!((value.unwrap() - (-2.3_f64).exp()).abs() < 1e-9);
            app.pass(0.1);
            assert_eq!(activation(&alice, "a").await, None);
            return;
        }
        app.pass(0.2);
    }
}

#[tokio::test]
async fn rehearsal_raises_activation_b015_b017_b028_xb24_xb52() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    for law in [("Linear", 0.01), ("Exponential", 0.02), ("PowerLaw", 0.5)] {
        alice.engine(json!({ "decay": slow(law.0, law.1), "gate": { "type": "Open" } })).await;
        alice.offer(json!([{ "id": "a", "value": 1, "activation": 0.9 }])).await;
        app.pass(30.0);
        let before = activation(&alice, "a").await.unwrap();
        let reply = alice.rehearse("a").await.expect(200);
        assert_eq!((&reply["ok"], &reply["id"]), (&json!(true), &json!("a")));
        let after = reply["activation"].as_f64().unwrap();
        assert!((after - (before + 0.3).min(1.0)).abs() < 1e-9, "{law:?}: {before} to {after}");
        assert!((activation(&alice, "a").await.unwrap() - after).abs() < 1e-9);
        app.pass(10.0);
        let fallen = activation(&alice, "a").await.unwrap();
        let expected = match law.0 {
            "Linear" => after - 0.1,
            "Exponential" => after * (-0.2_f64).exp(),
            _ => after * 11_f64.powf(-0.5),
        };
        assert!((fallen - expected).abs() < 1e-9, "the clock restarts: {law:?}");
        for _ in 0..4 {
            alice.rehearse("a").await.expect(200);
        }
        assert!((activation(&alice, "a").await.unwrap() - 1.0).abs() < 1e-9, "1 at most");
    }
    alice.rehearse("none").await.refused(404, "not_found");
}

/// Lua reckons while it rehearses, Rust when somebody looks; 70 presentations are more than are kept.
#[tokio::test]
async fn act_r_counts_presentations_and_adds_no_boost_xb23_xb24_r44() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    for d in [0.5, 1.0] {
        alice.engine(json!({ "decay": slow("ActR", d), "gate": { "type": "Open" }, "evict_below": 0 })).await;
        let item = json!([{ "id": "a", "value": 1, "activation": 0.5 }]);
        alice
            .post("/v1/working-memory/workspace/offer", json!({ "items": item }))
            .await
            .refused(400, "invalid_request");
        alice.offer(json!([{ "id": "a", "value": 1 }])).await;
        let mut ages = vec![0.0];
        for round in 0..70 {
            let pause = if round % 7 == 0 { 10.0 } else { 0.0 };
            app.pass(pause);
            for age in &mut ages {
                *age += pause;
            }
            ages.push(0.0);
            let answer = alice.rehearse("a").await.expect(200)["activation"].as_f64().unwrap();
            let seen = activation(&alice, "a").await.unwrap();
            assert!((answer - seen).abs() < 1e-9, "{round}: {answer} and {seen}");
            let odds: f64 = ages.iter().map(|age: &f64| age.max(10.0).powf(-d)).sum();
            let exact = odds / (1.0 + odds);
            let tolerance = if ages.len() > 64 { 0.01 } else { 1e-9 };
            assert!((seen - exact).abs() < tolerance, "{round}: {seen} for {exact}");
        }
        alice.clear("a").await;
    }
}

#[tokio::test]
async fn looking_rehearses_only_when_asked_xb27() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await;
    let client = &alice.client;
    client.engine(json!({ "decay": slow("Exponential", 0.02) })).await;
    client.offer(json!([{ "id": "a", "value": 1 }, { "id": "b", "value": 2 }])).await;
    app.pass(20.0);
    for path in [format!("{WORKSPACE}?id=a"), WORKSPACE.to_owned(), super::SLOTS.to_owned()] {
        client.get(&path).await.expect(200);
    }
    let before = activation(client, "a").await.unwrap();
    assert!((before - (-0.4_f64).exp()).abs() < 1e-9);
    let one = client.get(&format!("{WORKSPACE}?id=a&rehearse=true")).await.expect(200);
    assert_eq!((&one["count"], &one["items"][0]["id"]), (&json!(1), &json!("a")));
    assert!((one["items"][0]["activation"].as_f64().unwrap() - (before + 0.3)).abs() < 1e-9);
    client.get(&format!("{WORKSPACE}?id=c")).await.refused(404, "not_found");
    client.get(&format!("{WORKSPACE}?rehearse=true")).await.refused(400, "invalid_request");
    client.get(&format!("{WORKSPACE}?id=a&rehearse=yes")).await.refused(400, "invalid_request");
    let reader = json!({ "namespace": "default", "capabilities": { "memory.working": ["read"] } });
    let reader = app.anyone().capability(&app.exchange(&alice.key, reader).await);
    reader.get(&format!("{WORKSPACE}?id=a&rehearse=true")).await.refused(403, "forbidden");
}

#[tokio::test]
async fn injected_slots_live_until_their_time_is_over_unless_told_otherwise_xb08_xb57_z1_z2() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    alice.inject("kept", json!(1)).await.expect(200);
    app.pass(600.0);
    assert_eq!(alice.ids().await, ["kept"]);
    assert!(activation(&alice, "kept").await.unwrap() < 1e-9, "its activation falls, and is shown");
    alice.engine(json!({ "protect_injected": false })).await;
    assert_eq!(alice.ids().await, ["kept"], "A-308: what is stored is not dated again");
    alice.inject("fades", json!(1)).await.expect(200);
    app.pass(24.0);
    assert_eq!(alice.ids().await, ["kept"]);
    alice.configure(json!({ "max_slots": 1, "engine": { "protect_injected": false } })).await;
    let reply = alice.offer(json!([{ "id": "new", "value": 1 }])).await;
    assert_eq!(reply["evicted"], json!(["kept"]), "nor is it safe from displacement any more");
}

#[tokio::test]
async fn focus_and_release_b036_b037_b038_xb53_xb54() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    alice.configure(json!({ "max_slots": 2, "engine": { "decay": slow("Exponential", 0.01) } })).await;
    alice.post("/v1/working-memory/focus", json!({ "id": "a" })).await.refused(404, "not_found");
    alice.offer(json!([{ "id": "a", "value": 1 }, { "id": "b", "value": 1 }])).await;
    for id in ["b", "a"] {
        let reply = alice.post("/v1/working-memory/focus", json!({ "id": id })).await.expect(200);
        assert_eq!((&reply["ok"], &reply["focus"]), (&json!(true), &json!(id)));
        let look = alice.get(WORKSPACE).await.expect(200);
        assert_eq!(look["focus"], id, "one at a time");
        let focused = look["items"].as_array().unwrap().iter().filter(|item| item["focused"] == true).count();
        assert_eq!(focused, 1);
    }
    app.pass(10.0);
    alice.rehearse("b").await.expect(200);
    let reply = alice.offer(json!([{ "id": "c", "value": 1 }])).await;
    assert_eq!(
        reply["evicted"],
        json!(["b"]),
        "what is in focus is not displaced, though it is the least active"
    );
    let release = "/v1/working-memory/focus/release";
    assert_eq!(alice.post(release, json!({})).await.expect(200)["released"], "a");
    assert_eq!(alice.post(release, json!({})).await.expect(200)["released"], Value::Null);
    alice.post("/v1/working-memory/focus", json!({ "id": "a" })).await.expect(200);
    alice.clear("a").await;
    assert_eq!(alice.get(WORKSPACE).await.expect(200)["focus"], Value::Null, "and goes with its slot");
}

#[tokio::test]
async fn everything_is_cleared_b004_xb56() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await;
    let other = app.within(&alice.key, "other").await;
    other.inject("x", json!(1)).await.expect(200);
    alice.client.inject("a", json!(1)).await.expect(200);
    alice.client.offer(json!([{ "id": "b", "value": 1 }])).await;
    let reply = alice.client.post("/v1/working-memory/clear", json!({})).await.expect(200);
    assert_eq!((&reply["ok"], &reply["removed"]), (&json!(true), &json!(2)));
    assert_eq!(alice.client.post("/v1/working-memory/clear", json!({})).await.expect(200)["removed"], 0);
    assert_eq!(alice.client.ids().await, Vec::<String>::new());
    assert_eq!(other.ids().await, ["x"]);
}

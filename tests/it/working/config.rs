//! The settings of a tenant (A-201 to A-308, XA-C, XB-01 to XB-19, Z-8).

use axum::http::Method;
use serde_json::{Value, json};
use sqlx::Connection;

use super::{CONFIG, settings};
use crate::support::wire::at_once;
use crate::support::{Client, TestApp};

#[tokio::test]
async fn the_defaults_are_those_of_the_seeds_a203_a701_a702_a703_a704_a705_a706_b011_b021_b026_b027_b028_b029_b030_b032_b034_xac()
 {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    let expected = json!({
        "max_slots": 7,
        "ttl_seconds": 3_600,
        "max_value_bytes": 65_536,
        "max_namespace_entries": 10_000,
        "max_slot_id_bytes": 128,
        "engine": {
            "protect_injected": true,
            "preset": "default",
            "capacity": 7,
            "capacity_metric": "Slots",
            "decay": { "function": "Exponential", "rate": 0.1, "tick_ms": 100 },
            "rehearsal_boost": 0.3,
            "evict_below": 0.1,
            "gate": { "type": "ThresholdBased", "threshold": 0.3 },
            "priority_weights": { "recency": 0.30, "relevance": 0.30, "activation": 0.25, "importance": 0.15 },
            "isolation": "RepeatableRead",
            "consolidate_after_seconds": null,
        },
    });
    assert_eq!(alice.get(CONFIG).await.expect(200), expected);
    let kept = alice.put(CONFIG, expected.clone()).await.expect(200);
    assert_eq!(kept, json!({ "ok": true, "config": expected }), "A-306");
    assert_eq!(alice.configure(json!({})).await["config"], expected, "XA-C6: engine is optional");
}

#[tokio::test]
async fn everything_is_replaced_and_nothing_merged_a301_a305_a306_a307_b010_b035() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    let first = alice.configure(json!({ "max_slots": 2, "engine": { "rehearsal_boost": 0.9 } })).await;
    assert_eq!(first["config"]["engine"]["rehearsal_boost"], 0.9);
    assert_eq!(alice.stats().await["capacity"], 2, "A-307");
    let second = alice.configure(json!({ "max_slots": 3 })).await;
    assert_eq!(second["config"]["engine"]["rehearsal_boost"], 0.3, "A-305");
    assert_eq!(alice.get(CONFIG).await.expect(200), second["config"]);
}

#[tokio::test]
async fn all_namespaces_of_a_tenant_share_them_a020() {
    let app = TestApp::start_lexical().await;
    let (alice, bob) = (app.tenant("alice").await, app.tenant("bob").await);
    let other = app.exchange(&alice.key, json!({ "namespace": "other" })).await;
    let other = app.anyone().capability(&other);
    alice.client.configure(json!({ "max_slots": 2 })).await;
    assert_eq!(other.stats().await["capacity"], 2);
    assert_eq!(bob.client.stats().await["capacity"], 7);
}

#[tokio::test]
async fn what_does_not_decode_or_breaks_a_rule_is_400_and_changes_nothing_a302_a303_a304_xac7_r42_c131() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    let before = alice.configure(json!({ "max_slots": 3 })).await["config"].clone();
    let engine = |engine: Value| settings(&json!({ "engine": engine }));
    let mut bad = vec![
        json!([]),
        json!(null),
        json!("x"),
        json!({}),
        json!([7, 3600, 65_536, 10_000, 128]),
        settings(&json!({ "max_slots": -1 })),
        settings(&json!({ "max_slots": 1.5 })),
        settings(&json!({ "max_slots": "7" })),
        settings(&json!({ "max_slotz": 7 })),
        engine(json!([])),
        engine(json!({ "capasity": 7 })),
        engine(json!({ "decay": { "function": "Linear", "d": 1 } })),
        engine(json!({ "decay": ["Linear", 0.1] })),
        engine(json!({ "gate": { "type": "Open", "threshold": 0.3 } })),
        engine(json!({ "gate": { "type": "TopK", "k": 0 } })),
        engine(json!({ "gate": { "type": "TopK", "k": 1_025 } })),
        engine(json!({ "gate": { "type": "SoftmaxCompetition", "temperature": 0 } })),
        engine(json!({ "gate": { "type": "SoftmaxCompetition", "temperature": 101 } })),
        engine(json!({ "gate": { "type": "SoftmaxCompetition", "winners": 0 } })),
        engine(json!({ "gate": { "type": "ThresholdBased", "threshold": 1.1 } })),
        engine(json!({ "capacity": 0 })),
        engine(json!({ "capacity": 1_025 })),
        engine(json!({ "rehearsal_boost": 1.1 })),
        engine(json!({ "evict_below": 1 })),
        engine(json!({ "evict_below": -0.1 })),
        engine(
            json!({ "priority_weights": { "recency": 1, "relevance": 0.1, "activation": 0, "importance": 0 } }),
        ),
        engine(
            json!({ "priority_weights": { "recency": 1.5, "relevance": -0.5, "activation": 0, "importance": 0 } }),
        ),
        engine(json!({ "consolidate_after_seconds": 0 })),
        engine(json!({ "isolation": "Chaos" })),
        engine(json!({ "preset": "huge" })),
    ];
    for (field, least, most) in [
        ("max_slots", None, 1_025_u64),
        ("ttl_seconds", Some(0), 31_536_001),
        ("max_value_bytes", Some(0), 1_048_577),
        ("max_namespace_entries", Some(0), 1_000_001),
        ("max_slot_id_bytes", Some(0), 513),
    ] {
        bad.extend(least.map(|least| settings(&json!({ field: least }))));
        bad.push(settings(&json!({ field: most })));
        let mut without = settings(&json!({}));
        without.as_object_mut().unwrap().remove(field);
        bad.push(without);
    }
    for body in bad {
        let message = alice.put(CONFIG, body.clone()).await.refused(400, "invalid_request");
        assert!(!message.is_empty(), "{body}");
    }
    alice.send(Method::PUT, CONFIG, Some("{".into())).await.refused(400, "invalid_request");
    assert_eq!(alice.get(CONFIG).await.expect(200), before, "A-304");
}

#[tokio::test]
async fn control_is_needed_and_enough_a202_a302_z8() {
    let app = TestApp::start_lexical().await;
    let (alice, bob) = (app.tenant("alice").await, app.tenant("bob").await);
    let reader = app.exchange(&alice.key, json!({ "namespace": "default" })).await;
    let reader = app.anyone().capability(&reader);
    reader.get(CONFIG).await.refused(403, "forbidden");
    reader.put(CONFIG, json!("nonsense")).await.refused(403, "forbidden");
    alice.client.configure(json!({ "max_slots": 3 })).await;
    assert_eq!(bob.client.get(CONFIG).await.expect(200)["max_slots"], 7, "XA-C8: each tenant has its own");
    let other = app.within(&alice.key, "other").await;
    assert_eq!(other.get(CONFIG).await.expect(200)["max_slots"], 3, "and all its namespaces share it");
}

#[tokio::test]
async fn slots_are_not_touched_a308_c131() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    alice.configure(json!({ "ttl_seconds": 600 })).await;
    for id in ["a", "b", "c", "d", "e", "f"] {
        alice.inject(id, json!(id)).await.expect(200);
    }
    alice.configure(json!({ "max_slots": 3, "ttl_seconds": 1, "max_value_bytes": 1 })).await;
    app.pass(599.0);
    assert_eq!(alice.stats().await, json!({ "slotCount": 6, "capacity": 3, "utilizationPct": 200.0 }));
    alice.inject("g", json!(1)).await.refused(409, "working_memory_capacity");
    alice.inject("f", json!(1)).await.expect(200);
    app.pass(1.0);
    assert_eq!(
        alice.ids().await,
        Vec::<String>::new(),
        "the old ones after ten minutes, the new one after a second"
    );
    alice.configure(json!({ "max_slots": 3 })).await;
    for percent in [0.0, 33.0, 67.0] {
        assert_eq!(alice.stats().await["utilizationPct"], percent);
        alice.inject(&percent.to_string(), json!(1)).await.expect(200);
    }
    alice.configure(json!({ "max_slots": 12 })).await;
    assert_eq!(alice.stats().await["utilizationPct"], 25.0);
}

#[tokio::test]
async fn presets_give_a_capacity_b022_b023_xb10_xb11_z9() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    for (engine, capacity) in [
        (json!({ "preset": "minimal" }), 3),
        (json!({ "preset": "high_capacity" }), 12),
        (json!({ "preset": "minimal", "capacity": 5 }), 5),
        (json!({}), 7),
    ] {
        let kept = alice.configure(json!({ "max_slots": 100, "engine": engine })).await;
        assert_eq!(kept["config"]["engine"]["capacity"], capacity);
        let workspace = alice.get("/v1/working-memory/workspace").await.expect(200);
        assert_eq!(workspace["capacity"], capacity);
    }
    alice.configure(json!({ "max_slots": 2, "engine": { "preset": "high_capacity" } })).await;
    let workspace = alice.get("/v1/working-memory/workspace").await.expect(200);
    assert_eq!(workspace["capacity"], 2, "the smaller of the two counts");
}

#[tokio::test]
async fn names_are_read_in_three_spellings_and_written_in_one_xb01_b024_b025_b031() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    let cases = [
        ("/capacity_metric", json!({ "capacity_metric": "hybrid" }), "Hybrid"),
        ("/capacity_metric", json!({ "capacity_metric": "Chunks" }), "Chunks"),
        ("/capacity_metric", json!({ "capacity_metric": "resource" }), "Resource"),
        ("/decay/function", json!({ "decay": { "function": "power-law" } }), "PowerLaw"),
        ("/decay/function", json!({ "decay": { "function": "ACT-R" } }), "ActR"),
        ("/decay/function", json!({ "decay": { "function": "act-r" } }), "ActR"),
        ("/gate/type", json!({ "gate": { "type": "softmax_competition" } }), "SoftmaxCompetition"),
        ("/gate/type", json!({ "gate": { "type": "top-k" } }), "TopK"),
        ("/gate/type", json!({ "gate": { "type": "goal_directed" } }), "GoalDirected"),
        ("/gate/type", json!({ "gate": { "type": "open" } }), "Open"),
        ("/isolation", json!({ "isolation": "read_committed" }), "ReadCommitted"),
        ("/isolation", json!({ "isolation": "Serializable" }), "Serializable"),
    ];
    for (member, sent, kept) in cases {
        let config = alice.engine(sent).await["config"].clone();
        assert_eq!(config["engine"].pointer(member).unwrap(), kept);
        assert_eq!(
            alice.put(CONFIG, config.clone()).await.expect(200)["config"],
            config,
            "what is given can be sent"
        );
    }
}

#[tokio::test]
async fn another_node_has_them_within_a_second_xac8() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await;
    let (node, router) = app.second_node().await;
    let there = Client::new(router).capability(&alice.capability);
    for max_slots in [3, 4, 5, 6] {
        assert_ne!(there.stats().await["capacity"], max_slots);
        alice.client.configure(json!({ "max_slots": max_slots })).await;
        assert_eq!(alice.client.stats().await["capacity"], max_slots);
        let start = std::time::Instant::now();
        while there.stats().await["capacity"] != max_slots {
            assert!(start.elapsed().as_millis() < 1_000);
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        eprintln!("the other node has it after {:?}", start.elapsed());
    }
    node.stop();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_looks_them_up_for_all_who_ask_at_once_xac8() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    alice.configure(json!({ "max_slots": 3 })).await;
    let mut db = app.db.superuser().await;
    let mut lock = db.begin().await.unwrap();
    sqlx::raw_sql("LOCK TABLE working_memory_configs").execute(&mut *lock).await.unwrap();
    let asked = tokio::spawn(at_once((0..20).map(move |_| {
        let alice = alice.clone();
        async move { alice.stats().await["capacity"].clone() }
    })));
    let mut watcher = app.db.superuser().await;
    let mut most = 0;
    let start = std::time::Instant::now();
    while start.elapsed().as_millis() < 300 {
        let waiting: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
        )
        .fetch_one(&mut watcher)
        .await
        .unwrap();
        most = most.max(waiting);
    }
    lock.rollback().await.unwrap();
    assert_eq!(asked.await.unwrap(), vec![json!(3); 20]);
    assert_eq!(most, 1);
}

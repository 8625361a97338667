//! Hard inputs that concern slots (C003, C013, C047, C049, C055, C057, C121 to C131, C167, C171).

use axum::http::Method;
use serde_json::{Value, json};

use super::{OFFER, SLOTS};
use crate::support::{TestApp, redis};

const INJECT: &str = "/v1/working-memory/slots/inject";

#[tokio::test]
async fn bodies_that_are_no_json_are_400_and_store_nothing_c003_c013_c055_c057() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    for body in [
        r#"{"id":"a","value":"\ud83d"}"#,
        "",
        "{",
        r#"{"id":"a","value":1} x"#,
        r#"{"id":"a","value":NaN}"#,
        "{'id':'a','value':1}",
        r#"{"id":"a",/**/"value":1}"#,
        r#"{"id":"a","value":18446744073709551616}"#,
        r#"{"id":"a","value":1e999}"#,
    ] {
        alice.send(Method::POST, INJECT, Some(body.into())).await.refused(400, "invalid_request");
    }
    for body in [r#"{"id":null,"value":1}"#, "{}", r#"["a",1]"#, r#"{"value":1}"#] {
        alice.send(Method::POST, INJECT, Some(body.into())).await.refused(422, "unprocessable");
    }
    alice
        .with("content-type", "text/plain")
        .inject("a", json!(1))
        .await
        .refused(415, "unsupported_media_type");
    assert_eq!(alice.ids().await, Vec::<String>::new());
    let marked = [b"\xEF\xBB\xBF".as_slice(), br#"{"id":"a","value":1}"#].concat();
    alice.send_bytes(Method::POST, INJECT, Some(marked)).await.expect(200);
    assert_eq!(alice.ids().await, ["a"]);
}

#[tokio::test]
async fn a_deep_value_is_refused_or_read_back_c047_r08_r43() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    for depth in [1, 60, 64] {
        for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
            let value = format!("{}{}{}", open.repeat(depth), "1", close.repeat(depth));
            let body = format!(r#"{{"id":"a","value":{value}}}"#);
            alice.send(Method::POST, INJECT, Some(body)).await.expect(200);
            assert_eq!(
                alice.get(SLOTS).await.text,
                format!(r#"{{"slots":[{{"id":"a","value":{value}}}],"count":1}}"#)
            );
            alice.get(super::WORKSPACE).await.expect(200);
        }
    }
    for depth in [65, 100, 126, 127, 200, 100_000] {
        let value = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let body = format!(r#"{{"id":"a","value":{value}}}"#);
        alice.send(Method::POST, INJECT, Some(body)).await.refused(400, "invalid_request");
    }
    for number in
        ["9223372036854775807", "-9223372036854775808", "18446744073709551615", "0.1", "1e300", "-0.0"]
    {
        let body = format!(r#"{{"id":"a","value":{number}}}"#);
        alice.send(Method::POST, INJECT, Some(body)).await.expect(200);
        let expected: Value = serde_json::from_str(number).unwrap();
        assert_eq!(alice.get(SLOTS).await.expect(200)["slots"][0]["value"], expected, "{number}");
    }
}

#[tokio::test]
async fn the_last_of_equal_members_counts_inside_a_value_c049_v02() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    let body = r#"{"id":"a","value":{"a":{"b":1,"b":2},"a":{"b":3,"b":4}}}"#;
    alice.send(Method::POST, INJECT, Some(body.into())).await.expect(200);
    assert_eq!(alice.get(SLOTS).await.expect(200)["slots"][0]["value"], json!({ "a": { "b": 4 } }));
}

#[tokio::test]
async fn text_is_kept_as_it_is_c167_r04() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    for text in [
        "<img src=x onerror=alert(1)>",
        "</script>",
        "{{7*7}}",
        "\0\u{202e}\u{e0041}",
        "e\u{301}",
        "\\\"\u{7f}/",
    ] {
        alice.inject("a", json!(text)).await.expect(200);
        alice.offer(json!([{ "id": "b", "value": { text: text }, "chunk": "c\"\\" }])).await;
        let reply = alice.get(SLOTS).await;
        assert_eq!(reply.headers["x-content-type-options"], "nosniff");
        assert_eq!(reply.body["slots"][0]["value"], text);
        assert_eq!(reply.body["slots"][1]["value"], json!({ text: text }));
    }
}

#[tokio::test]
async fn each_slot_has_its_own_time_c125() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    alice.configure(json!({ "ttl_seconds": 100 })).await;
    alice.inject("s1", json!(1)).await.expect(200);
    app.pass(80.0);
    alice.inject("s2", json!(1)).await.expect(200);
    for (pause, ids) in [(30.0, ["s2"].as_slice()), (60.0, &["s2"]), (20.0, &[])] {
        app.pass(pause);
        assert_eq!(alice.ids().await, ids);
        assert_eq!(alice.stats().await["slotCount"], ids.len());
    }
}

#[tokio::test]
async fn a_full_namespace_has_room_again_c127() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    let engine = json!({ "protect_injected": false });
    alice.configure(json!({ "max_slots": 2, "ttl_seconds": 100, "engine": engine })).await;
    let full = async |id: &str| {
        alice.inject(id, json!(1)).await.refused(409, "working_memory_capacity");
        assert_eq!(alice.stats().await["slotCount"], 2, "nothing is lost");
    };
    alice.inject("a", json!(1)).await.expect(200);
    app.pass(15.0);
    alice.inject("b", json!(1)).await.expect(200);
    full("c").await;
    alice.inject("b", json!(2)).await.expect(200);
    app.pass(10.0);
    // a has faded.
    alice.inject("c", json!(1)).await.expect(200);
    full("d").await;
    alice.clear("b").await;
    alice.inject("d", json!(1)).await.expect(200);
    full("e").await;
}

#[tokio::test]
async fn a_clock_that_is_set_back_or_forward_harms_nothing_c129_c137() {
    let app = TestApp::start_lexical().await;
    let tenant = app.tenant("alice").await;
    let alice = tenant.client;
    alice.configure(json!({ "ttl_seconds": 600 })).await;
    alice.inject("a", json!(1)).await.expect(200);
    alice.offer(json!([{ "id": "b", "value": 1 }])).await;
    app.pass(-300.0);
    // A token of the future is not good yet.
    let alice = app.within(&tenant.key, "default").await;
    for id in ["a", "b"] {
        let value = super::activation(&alice, id).await.unwrap();
        assert!((value - 1.0).abs() < 1e-9, "{id}: {value}");
    }
    let rehearsed = alice.rehearse("b").await.expect(200)["activation"].as_f64().unwrap();
    assert!((rehearsed - 1.0).abs() < 1e-9);
    alice.inject("c", json!(1)).await.expect(200);
    assert_eq!(alice.ids().await, ["a", "b", "c"]);
    app.pass(300.0);
    assert_eq!(alice.ids().await, ["a", "c"], "b has faded since it was rehearsed");
    app.pass(299.0);
    assert_eq!(alice.ids().await, ["a", "c"]);
    app.pass(1.0);
    assert_eq!(alice.ids().await, ["a"], "c was set 300 s earlier");
}

#[tokio::test]
async fn a_reservation_that_a_crash_left_ends_by_itself_r16() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await;
    alice.client.configure(json!({ "max_namespace_entries": 1, "ttl_seconds": 10 })).await;
    let tenant = alice.id.uuid().simple().to_string();
    let key = format!("{}wm:{{{tenant}}}:namespaces", app.app.config.redis.prefix);
    let until = app.app.clock.now().timestamp_millis() + 5_000;
    redis::tell_keeper(&app, ::redis::cmd("ZADD").arg(&key).arg(until).arg("crashed")).await;
    alice.client.inject("a", json!(1)).await.refused(409, "working_memory_capacity");
    app.pass(5.0);
    alice.client.inject("a", json!(1)).await.expect(200);
}

#[tokio::test]
async fn an_erased_tenant_leaves_nothing_in_redis_c171() {
    let app = TestApp::start_lexical().await;
    let (gone, stays) = (app.tenant("gone").await, app.tenant("stays").await);
    for tenant in [&gone, &stays] {
        for namespace in ["a", "b:c"] {
            let client = app.within(&tenant.key, namespace).await;
            client.inject("x", json!("a marker")).await.expect(200);
            client.get(&format!("{}?snapshot=new", super::WORKSPACE)).await.expect(200);
        }
    }
    let before = redis::dump(&app).await;
    let operator = app.operator().await;
    operator.delete(&format!("/v1/admin/tenants/{}?confirm=gone", gone.id)).await.expect(200);
    let after = redis::dump(&app).await;
    let tenant = gone.id.uuid().simple().to_string();
    assert!(before.keys().any(|key| key.contains(&tenant)) && !after.keys().any(|key| key.contains(&tenant)));
    let others = |dump: std::collections::BTreeMap<String, String>| {
        // Nodes say every second that they are up.
        let is_kept = |key: &str| !key.contains(&tenant) && key != "nodes";
        dump.into_iter().filter(|(key, _)| is_kept(key)).collect::<Vec<_>>()
    };
    assert_eq!(others(before), others(after));
    // A writer that was under way, on a node that has not heard of it.
    let key = format!("{}wm:{{{tenant}}}:namespaces", app.app.config.redis.prefix);
    redis::tell_keeper(&app, ::redis::cmd("ZADD").arg(&key).arg(9e15).arg("late")).await;
    memtide::job::tidy(&app.app).await;
    assert!(!redis::dump(&app).await.keys().any(|key| key.contains(&tenant)));
}

#[tokio::test]
async fn a_body_of_many_large_items_is_taken_or_refused_whole() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    alice.configure(json!({ "max_slots": 64, "engine": { "capacity": 64 } })).await;
    let items = |size: usize| {
        let items: Vec<Value> =
            (0..64).map(|n| json!({ "id": format!("i{n}"), "value": "x".repeat(size) })).collect();
        json!({ "items": items })
    };
    alice.post(OFFER, items(40_000)).await.refused(413, "payload_too_large");
    assert_eq!(alice.stats().await["slotCount"], 0);
    alice.post(OFFER, items(30_000)).await.expect(200);
    assert_eq!(alice.stats().await["slotCount"], 64);
    assert_eq!(alice.get(SLOTS).await.expect(200)["slots"][63]["value"].as_str().unwrap().len(), 30_000);
}

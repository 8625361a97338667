//! The four operations on slots (A-101 to A-617, XA-C12).

use axum::http::Method;
use memtide::auth::{Action, Area, Rights};
use serde_json::{Value, json};

use super::SLOTS;
use crate::support::{Client, TestApp};

const INJECT: &str = "/v1/working-memory/slots/inject";
const CLEAR: &str = "/v1/working-memory/slots/clear";

#[tokio::test]
async fn slots_are_listed_as_they_are_a002_a101_a105_a106_a107_a013_a022_xac10() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    assert_eq!(alice.get(SLOTS).await.text, r#"{"slots":[],"count":0}"#, "A-107");
    for (id, value) in
        [("b", json!({ "deep": [1, null] })), ("é", json!("x")), ("B", Value::Null), ("a", json!(0.1))]
    {
        alice.inject(id, value).await.expect(200);
    }
    let expected = json!({
        "slots": [
            { "id": "B", "value": null },
            { "id": "a", "value": 0.1 },
            { "id": "b", "value": { "deep": [1, null] } },
            { "id": "é", "value": "x" },
        ],
        "count": 4,
    });
    assert_eq!(alice.get(SLOTS).await.expect(200), expected);
}

#[tokio::test]
async fn expired_slots_are_gone_before_every_answer_a104_a108_a404_a505_a612_a613_xac11() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    alice.configure(json!({ "ttl_seconds": 100 })).await;
    alice.inject("a", json!(1)).await.expect(200);
    app.pass(60.0);
    assert_eq!(alice.ids().await, ["a"], "A-108: being listed refreshes nothing");
    alice.inject("b", json!(1)).await.expect(200);
    app.pass(39.0);
    assert_eq!(alice.ids().await, ["a", "b"]);
    app.pass(1.0);
    assert_eq!(alice.ids().await, ["b"], "XA-C11: gone when its time is over, not after");
    assert_eq!(alice.stats().await["slotCount"], 1);
    assert!(!alice.clear("a").await, "A-505");
    app.pass(50.0);
    alice.inject("b", json!(2)).await.expect(200);
    app.pass(99.0);
    assert_eq!(alice.ids().await, ["b"], "A-613: setting it again dates it again");
    app.pass(1.0);
    assert_eq!(alice.stats().await["slotCount"], 0, "A-404");
}

#[tokio::test]
async fn stats_are_three_numbers_a005_a401_a402_a403_a405_a406_a407_a408_a409_a410_v01() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    alice.inject("a", json!(1)).await.expect(200);
    let text = alice.get("/v1/working-memory/stats").await.text;
    assert_eq!(text, r#"{"slotCount":1,"capacity":7,"utilizationPct":14.0}"#);
    alice.configure(json!({ "max_slots": 0 })).await;
    assert_eq!(alice.stats().await, json!({ "slotCount": 1, "capacity": 0, "utilizationPct": 0.0 }));
    alice.configure(json!({ "max_slots": 8 })).await;
    for id in ["b", "c", "d", "e"] {
        alice.inject(id, json!(1)).await.expect(200);
    }
    assert_eq!(alice.stats().await, json!({ "slotCount": 5, "capacity": 8, "utilizationPct": 63.0 }));
}

#[tokio::test]
async fn one_slot_is_cleared_a006_a501_a506_a507_a508() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await;
    assert!(!alice.client.clear("never").await, "A-507: no namespace");
    alice.client.configure(json!({ "max_namespace_entries": 1 })).await;
    alice.client.inject("a", json!(1)).await.expect(200);
    alice.client.inject("b", json!(1)).await.expect(200);
    assert!(
        !alice.client.clear("c").await && alice.client.clear("a").await && !alice.client.clear("a").await
    );
    let other = app.within(&alice.key, "other").await;
    other.inject("x", json!(1)).await.refused(409, "working_memory_capacity");
    assert!(alice.client.clear("b").await);
    other.inject("x", json!(1)).await.expect(200);
    alice.client.inject("a", json!(1)).await.refused(409, "working_memory_capacity");
    alice.client.post(CLEAR, json!({})).await.refused(422, "unprocessable");
}

#[tokio::test]
async fn a_namespace_that_expired_does_not_count_a508_a608_c127() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await;
    alice.client.configure(json!({ "max_namespace_entries": 2, "ttl_seconds": 100 })).await;
    let spaces: Vec<Client> = vec![
        app.within(&alice.key, "a").await,
        app.within(&alice.key, "b").await,
        app.within(&alice.key, "c").await,
    ];
    spaces[0].inject("x", json!(1)).await.expect(200);
    app.pass(50.0);
    spaces[1].inject("x", json!(1)).await.expect(200);
    let message = spaces[2].inject("x", json!(1)).await.refused(409, "working_memory_capacity");
    assert_eq!(message, "working memory namespace capacity exceeded", "A-609");
    spaces[1].inject("y", json!(1)).await.expect(200);
    app.pass(50.0);
    // Nobody looked at namespace a since.
    spaces[2].inject("x", json!(1)).await.expect(200);
    spaces[0].inject("x", json!(1)).await.refused(409, "working_memory_capacity");
    app.pass(50.0);
    spaces[0].inject("x", json!(1)).await.expect(200);
}

#[tokio::test]
async fn a_slot_is_set_a007_a601_a602_a603_a611_a614() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    alice.configure(json!({ "max_slots": 1 })).await;
    for value in
        [Value::Null, json!(""), json!([]), json!({}), json!(u64::MAX), json!(i64::MIN), json!("\0 and {}")]
    {
        let reply = alice.inject("a{b}:c ", value.clone()).await.expect(200);
        assert_eq!(reply, json!({ "ok": true, "id": "a{b}:c " }), "A-614: as sent");
        assert_eq!(alice.get(SLOTS).await.expect(200)["slots"], json!([{ "id": "a{b}:c ", "value": value }]));
    }
    let message = alice.inject("b", json!(1)).await.refused(409, "working_memory_capacity");
    assert_eq!(message, "working memory namespace slot capacity exceeded", "A-610");
    for body in
        [r#"{"id":"a"}"#, r#"{"value":1}"#, r#"{"id":7,"value":1}"#, r#"{"id":"a","id":"b","value":1}"#]
    {
        alice.send(Method::POST, INJECT, Some(body.into())).await.refused(422, "unprocessable");
    }
    let extra = r#"{"id":"a{b}:c ","value":1,"tenant":"other"}"#;
    alice.send(Method::POST, INJECT, Some(extra.into())).await.expect(200);
}

#[tokio::test]
async fn values_have_a_limit_in_compact_json_a605_a606_a607_r47_v02() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    alice.configure(json!({ "max_value_bytes": 7 })).await;
    let send = async |value: &str| {
        alice.send(Method::POST, INJECT, Some(format!(r#"{{"id":"a","value":{value}}}"#))).await
    };
    for value in [r#"{ "a" : 1 }"#, r#""\u00e9""#, "1e2", r#"{"a":1,"a":2}"#, "\"12345\""] {
        send(value).await.expect(200);
    }
    for value in ["\"123456\"", r#""éééx""#, "[1,2,3,4]"] {
        let reply = send(value).await;
        assert_eq!(reply.body["error"]["details"]["limit"], 7);
        let message = reply.refused(413, "payload_too_large");
        assert_eq!(message, "working memory value exceeds 7 bytes");
    }
}

#[tokio::test]
async fn ids_have_a_rule_a504_a604_xac5_xac9_c011_c061() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    alice.configure(json!({ "max_slot_id_bytes": 8, "max_slots": 100 })).await;
    for good in [
        "a",
        "12345678",
        "éééé",
        " a",
        "a/b",
        "a%2Fb",
        "a+b",
        "..",
        ".",
        "%",
        "A",
        "{x}",
        "a:slots",
        "\u{1F980}",
    ] {
        alice.inject(good, json!(good)).await.expect(200);
        assert!(alice.ids().await.contains(&good.to_owned()), "{good}");
    }
    assert!(alice.clear("a/b").await && alice.clear("a%2Fb").await, "two ids");
    for bad in ["", "  ", "123456789", "ééééé", "a\nb", "\u{7f}", "\0", "a\u{202e}b"] {
        for path in [INJECT, CLEAR] {
            let message =
                alice.post(path, json!({ "id": bad, "value": 1 })).await.refused(400, "invalid_request");
            assert!(message.starts_with("working memory slot id"), "{bad:?}: {message}");
        }
    }
}

#[tokio::test]
async fn failures_have_an_order_and_leave_no_trace_a615_a617_xac12_xac15() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await;
    let client = &alice.client;
    let wrong =
        json!({ "max_slots": 0, "max_value_bytes": 4, "max_namespace_entries": 1, "max_slot_id_bytes": 2 });
    client.inject("a", json!("kept")).await.expect(200);
    client.configure(wrong).await;
    let other = app.within(&alice.key, "other").await;
    // Everything is wrong with it, then everything but the first, and so on.
    other.inject("long", json!("long")).await.refused(400, "invalid_request");
    other.inject("id", json!("long")).await.refused(413, "payload_too_large");
    let message = other.inject("id", json!(1)).await.refused(409, "working_memory_capacity");
    assert_eq!(message, "working memory namespace capacity exceeded");
    let message = client.inject("b", json!(1)).await.refused(409, "working_memory_capacity");
    assert_eq!(message, "working memory namespace slot capacity exceeded");
    client.inject("a", json!("long")).await.refused(413, "payload_too_large");
    assert_eq!(
        client.get(SLOTS).await.expect(200)["slots"],
        json!([{ "id": "a", "value": "kept" }]),
        "A-617"
    );
    // XA-C15: a refusal at 0 slots counts no namespace, and neither does an offer for which there is no room.
    assert!(client.clear("a").await);
    let reply = other.offer(json!([{ "id": "x", "value": 1 }])).await;
    assert_eq!(reply["verdicts"][0]["reason"], "no_room");
    other.inject("id", json!(1)).await.refused(409, "working_memory_capacity");
    client.configure(json!({ "max_namespace_entries": 1 })).await;
    client.inject("a", json!(1)).await.expect(200);
}

/// A-010, A-015 to A-019, A-102, A-502, C090: each right alone, and the order of authority, body and right.
#[tokio::test]
async fn each_operation_needs_its_right_a010_a015_a017_a018_a021_a102_a103_a502_a503_a602_r31() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await;
    alice.client.inject("a", json!(1)).await.expect(200);
    for action in [Action::Read, Action::Write, Action::Delete] {
        let request =
            json!({ "namespace": "default", "capabilities": Rights::of([(Area::Working, action)]) });
        let holder = app.anyone().capability(&app.exchange(&alice.key, request).await);
        let statuses = [
            holder.get(SLOTS).await,
            holder.get("/v1/working-memory/stats").await,
            holder.inject("b", json!(1)).await,
            holder.post(CLEAR, json!({ "id": "none" })).await,
            holder.get(super::CONFIG).await,
        ];
        let allowed: Vec<bool> = statuses.iter().map(|reply| reply.status == 200).collect();
        let expected = match action {
            Action::Read => [true, true, false, false, false],
            Action::Write => [false, false, true, false, false],
            _ => [false, false, false, true, false],
        };
        assert_eq!(allowed, expected, "{action}");
        // The body is read before the right is looked at (A-021), the right before the rules (A-015).
        let other = if action == Action::Write { CLEAR } else { INJECT };
        holder.send(Method::POST, other, Some("{".into())).await.refused(400, "invalid_request");
        holder.post(other, json!({ "id": 7 })).await.refused(422, "unprocessable");
        holder.post(other, json!({ "id": "", "value": 1 })).await.refused(403, "forbidden");
    }
    app.anyone().send(Method::POST, INJECT, Some("{".into())).await.refused(401, "unauthorized");
    let foreign = app.tenant("foreign").await;
    let mixed = alice.client.bearer(&foreign.key);
    mixed.get(SLOTS).await.refused(403, "database_mismatch");
    mixed.inject("a", json!(1)).await.refused(403, "database_mismatch");
}

#[tokio::test]
async fn state_is_the_tokens_namespaces_alone_a008_a009_a019_c084_c092() {
    let app = TestApp::start_lexical().await;
    let (a, b) = (app.tenant("a").await, app.tenant("b").await);
    let spaces = [
        app.within(&a.key, "b:c").await,
        app.within(&a.key, "b").await,
        app.within(&b.key, "b:c").await,
        app.within(&b.key, "c").await,
    ];
    for (number, space) in spaces.iter().enumerate() {
        let sly = space.with("x-tenant-id", "a").with("x-akasha-namespace", "b");
        sly.inject("x:y", json!(number)).await.expect(200);
        sly.post(INJECT, json!({ "id": format!("{number}"), "value": 1, "namespace": "b" }))
            .await
            .expect(200);
    }
    for (number, space) in spaces.iter().enumerate() {
        assert_eq!(space.ids().await, [number.to_string().as_str(), "x:y"]);
        assert_eq!(space.get(SLOTS).await.expect(200)["slots"][1]["value"], number);
        assert_eq!(space.get(&format!("{SLOTS}?namespace=other")).await.expect(200)["count"], 2);
    }
    assert!(spaces[0].clear("x:y").await);
    assert_eq!(spaces[1].ids().await.len(), 2);
}

#[tokio::test]
async fn there_are_six_operations_and_each_is_counted_a001_a003_a004_a014_a024() {
    let app = TestApp::start_lexical().await;
    let titles: Vec<&str> = memtide::http::working::ROUTES.iter().map(|route| route.summary).collect();
    let expected = [
        "Working memory slots list",
        "Working memory config get",
        "Working memory config update",
        "Working memory stats",
        "Working memory slots clear",
        "Working memory slots inject",
    ];
    assert_eq!(titles, expected);
    for route in memtide::http::working::ROUTES {
        // Registered whatever the caller may do (A-009).
        let reply = app.anyone().send(route.method.clone(), route.path, None).await;
        assert_eq!(reply.status.as_u16(), 401, "{} {}", route.method, route.path);
    }
}

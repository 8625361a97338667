//! One effect for one idempotency key (C063, R-11, R-35).

use std::time::Duration;

use axum::http::Method;
use chrono::TimeDelta;
use serde_json::{Value, json};

use crate::support::stub::EmbeddingStub;
use crate::support::{Client, TestApp, fact, id, with};

const ITEMS: &str = "/v1/memory/items";

#[tokio::test]
async fn the_same_request_gets_the_same_answer_c063() {
    let app = TestApp::start().await;
    let made = app.tenant("alice").await;
    let once = made.client.with("idempotency-key", "K");
    let first = once.post(ITEMS, fact("one")).await;
    assert!(!first.headers.contains_key("idempotent-replayed"));
    let text = first.text.clone();
    let record = first.expect(201)["record"].clone();
    made.client.patch(&format!("{ITEMS}/{}", id(&record)), json!({ "content": "two" })).await.expect(200);
    let again = once.post(ITEMS, fact("one")).await;
    assert_eq!(again.headers["idempotent-replayed"], "true");
    assert_eq!((again.status.as_u16(), again.text), (201, text));
    // The members may come in another order, and blanks do not count.
    let shuffled = r#"{ "content": "one", "category":"custom","scope":{"key":"alice","kind":"user"}}"#;
    once.send(Method::POST, ITEMS, Some(shuffled.to_owned())).await.expect(201);
    assert_eq!(made.client.listed("").await.len(), 1);
    // Another node knows it too.
    let (_, router) = app.second_node().await;
    let there = Client::new(router).capability(&made.capability).with("idempotency-key", "K");
    assert_eq!(there.post(ITEMS, fact("one")).await.expect(201)["record"]["id"], record["id"]);
}

#[tokio::test]
async fn another_body_is_a_mismatch_and_other_callers_have_keys_of_their_own() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await;
    let bob = app.tenant("bob").await.client.with("idempotency-key", "K");
    let once = alice.client.with("idempotency-key", "K");
    let record = once.remember(fact("one")).await;
    once.post(ITEMS, fact("two")).await.refused(422, "idempotency_mismatch");
    assert_eq!(alice.client.listed("").await.len(), 1);
    bob.post(ITEMS, fact("two")).await.expect(201);
    // R-35: another namespace, and another route.
    let other = app.exchange(&alice.key, json!({ "namespace": "other" })).await;
    let other = app.anyone().capability(&other).with("idempotency-key", "K");
    other.post(ITEMS, fact("two")).await.expect(201);
    let target = json!({ "target": { "kind": "id", "memory_id": record["id"] } });
    let gone = once.post("/v1/memory/forget", target.clone()).await.expect(200);
    assert_eq!(once.post("/v1/memory/forget", target).await.expect(200), gone);
    assert_eq!(gone["forgotten_memory_ids"], json!([record["id"]]));
    // The path belongs to the request: the same key for another record is another request.
    once.post(&format!("{ITEMS}/{}/restore", id(&record)), json!({})).await.expect(200);
    let unknown = memtide::id::MemoryId::new();
    once.post(&format!("{ITEMS}/{unknown}/restore"), json!({})).await.refused(422, "idempotency_mismatch");
}

#[tokio::test]
async fn a_lasting_failure_is_kept_and_a_passing_one_is_not() {
    let app = TestApp::start().await;
    let made = app.tenant("alice").await;
    let turn = |content: &str| with(fact(content), json!({ "context": { "thread_id": "t", "seq": 1 } }));
    made.client.remember(turn("yes")).await;
    let once = |key: &str| made.client.with("idempotency-key", key);
    let rows: [(&str, Value, u16, &str); 4] = [
        ("conflict", turn("no"), 409, "conflict"),
        ("invalid", fact(" "), 400, "invalid_request"),
        ("large", fact(&"a".repeat(65_537)), 413, "payload_too_large"),
        (
            "unknown",
            with(fact("x"), json!({ "supersedes": memtide::id::MemoryId::new().to_string() })),
            404,
            "not_found",
        ),
    ];
    for (key, body, status, code) in rows {
        let first = once(key).post(ITEMS, body.clone()).await;
        let details = first.body["error"]["details"].clone();
        let message = first.refused(status, code);
        let again = once(key).post(ITEMS, body).await;
        assert_eq!(again.headers["idempotent-replayed"], "true", "{key}");
        assert_eq!(again.body["error"]["details"], details, "{key}");
        assert_eq!(again.refused(status, code), message);
        once(key).post(ITEMS, fact("other")).await.refused(422, "idempotency_mismatch");
    }
    // What cannot be read or is not allowed has no effect to keep.
    once("unread").post(ITEMS, json!({})).await.refused(422, "unprocessable");
    once("unread").post(ITEMS, fact("read")).await.expect(201);
}

#[tokio::test]
async fn a_replay_is_not_checked_again() {
    let app = TestApp::start().await;
    let made = app.tenant("alice").await;
    let at = (app.app.clock.now() + TimeDelta::minutes(1)).timestamp();
    let body = with(fact("x"), json!({ "expires_at": at }));
    let once = made.client.with("idempotency-key", "K");
    let first = once.post(ITEMS, body.clone()).await.expect(201);
    app.app.clock.shift(TimeDelta::minutes(2));
    assert_eq!(once.post(ITEMS, body).await.expect(201), first);
}

#[tokio::test]
async fn keys_are_1_to_255_bytes_and_given_once() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let details = alice.with("idempotency-key", &"k".repeat(300)).post(ITEMS, fact("x")).await;
    let details = details.names(400, "idempotency_key");
    assert_eq!((&details["limit"], &details["actual"]), (&json!(255), &json!(300)));
    alice.with("idempotency-key", "").post(ITEMS, fact("x")).await.names(400, "idempotency_key");
    alice.with("idempotency-key", "ü").post(ITEMS, fact("x")).await.names(400, "idempotency-key");
    let twice = alice.with("idempotency-key", "a").with("idempotency-key", "b");
    twice.post(ITEMS, fact("x")).await.names(400, "idempotency-key");
    let both = alice.with("idempotency-key", "a");
    both.post(ITEMS, with(fact("x"), json!({ "idempotency_key": "a" }))).await.names(400, "idempotency_key");
    alice.with("idempotency-key", &"k".repeat(255)).post(ITEMS, fact("x")).await.expect(201);
}

#[tokio::test]
async fn a_key_in_the_header_and_one_in_the_request_are_the_same_r11() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    let header = |key: &str| alice.with("idempotency-key", key);
    let member = |key: &str| with(fact("y"), json!({ "idempotency_key": key }));
    let first = alice.post(ITEMS, member("M")).await.expect(201);
    let then_header = header("H").post(ITEMS, fact("x")).await.expect(201);
    for (again, first) in [
        (alice.post(ITEMS, member("M")).await, &first),
        (header("M").post(ITEMS, fact("y")).await, &first),
        (alice.post(ITEMS, with(fact("x"), json!({ "idempotency_key": "H" }))).await, &then_header),
    ] {
        assert_eq!(again.headers["idempotent-replayed"], "true");
        assert_eq!(&again.expect(201), first);
    }
    header("M").post(ITEMS, fact("z")).await.refused(422, "idempotency_mismatch");
}

#[tokio::test]
async fn a_child_is_made_once_and_kept_sealed() {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("alice").await;
    let once = made.client.with("idempotency-key", "K");
    let request = json!({ "ttl_seconds": 60 });
    let first = once.post("/v1/auth/attenuate", request.clone()).await.expect(200);
    let again = once.post("/v1/auth/attenuate", request.clone()).await;
    assert_eq!(again.headers["idempotent-replayed"], "true");
    assert_eq!(again.expect(200), first);
    let kept: String = sqlx::query_scalar("SELECT body FROM idempotency_keys")
        .fetch_one(&mut app.db.superuser().await)
        .await
        .unwrap();
    for part in first["capability"].as_str().unwrap().split('.') {
        assert!(!kept.contains(part));
    }
    // A token that may do less is not given the child of one that may do more.
    let less = app.exchange(&made.key, json!({ "namespace": "default" })).await;
    let less = app.anyone().capability(&less).with("idempotency-key", "K");
    less.post("/v1/auth/attenuate", request).await.refused(422, "idempotency_mismatch");
}

#[tokio::test]
async fn where_a_key_has_no_effect_it_is_refused() {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("alice").await;
    let operator = app.operator().await;
    let key = |caller: Client| caller.with("idempotency-key", "K");
    let tenant = json!({ "slug": "twice", "name": "Twice" });
    key(operator.clone()).post("/v1/admin/tenants", tenant.clone()).await.names(400, "idempotency-key");
    key(app.anyone()).post("/v1/admin/tenants", tenant.clone()).await.refused(401, "unauthorized");
    operator.post("/v1/admin/tenants", tenant).await.expect(201);
    let bearer = key(app.anyone().bearer(&made.key));
    bearer.post("/v1/auth/token", json!({ "namespace": "default" })).await.names(400, "idempotency-key");
    // R-35: these do not need one.
    let record = made.client.remember(fact("x")).await;
    let path = format!("{ITEMS}/{}", id(&record));
    key(made.client.clone()).patch(&path, json!({ "content": "y" })).await.expect(200);
    key(made.client.clone()).delete(&path).await.expect(200);
}

#[tokio::test]
async fn an_answer_is_kept_for_a_day_r11() {
    let app = TestApp::start().await;
    let made = app.tenant("alice").await;
    let once = made.client.with("idempotency-key", "K");
    let first = once.post(ITEMS, fact("one")).await.expect(201);
    for (hours, is_kept) in [(23, true), (2, false)] {
        app.app.clock.shift(TimeDelta::hours(hours));
        memtide::job::tidy(&app.app).await;
        let later = app.exchange(&made.key, json!({ "namespace": "default", "control": true })).await;
        let later = app.anyone().capability(&later).with("idempotency-key", "K");
        if is_kept {
            assert_eq!(later.post(ITEMS, fact("one")).await.expect(201), first);
        } else {
            later.post(ITEMS, fact("another")).await.expect(201);
        }
    }
}

#[tokio::test]
async fn a_request_under_way_is_told_to_wait_and_a_dead_one_is_taken_over() {
    let app = TestApp::start().await;
    let made = app.tenant("alice").await;
    let once = made.client.with("idempotency-key", "K");
    once.post(ITEMS, fact("one")).await.expect(201);
    // As if the process had died before it could answer.
    let mut db = app.db.superuser().await;
    sqlx::raw_sql("UPDATE idempotency_keys SET status = NULL, body = NULL; DELETE FROM memories")
        .execute(&mut db)
        .await
        .unwrap();
    let waiting = once.post(ITEMS, fact("one")).await;
    assert_eq!(waiting.headers["retry-after"], "1");
    waiting.refused(409, "conflict");
    once.post(ITEMS, fact("two")).await.refused(422, "idempotency_mismatch");
    app.app.clock.shift(TimeDelta::seconds(61));
    once.post(ITEMS, fact("one")).await.expect(201);
    assert_eq!(made.client.listed("").await.len(), 1);
}

#[tokio::test]
async fn a_client_that_hangs_up_can_send_the_request_again_at_once() {
    let provider = EmbeddingStub::slow(2, Duration::from_secs(1)).await;
    let app = TestApp::start_with(provider.embedder("stub").await).await;
    let once = app.tenant("alice").await.client.with("idempotency-key", "K");
    let impatient = tokio::time::timeout(Duration::from_millis(300), once.post(ITEMS, fact("one"))).await;
    assert!(impatient.is_err() && provider.requests().len() == 1);
    // The key is freed by a task of its own.
    tokio::time::sleep(Duration::from_millis(200)).await;
    once.post(ITEMS, fact("one")).await.expect(201);
}

//! Correcting a record, and its history.

use axum::http::Method;
use serde_json::{Value, json};

use crate::support::{TestApp, each, fact, id, with};

const ITEMS: &str = "/v1/memory/items";

#[tokio::test]
async fn a_corrected_record_is_found_by_what_it_says_now_r09_r10_c103() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let record = alice.remember(fact("The cat is called Miro.")).await;
    let path = format!("{ITEMS}/{}", id(&record));
    let reply = alice.patch(&path, json!({ "content": "The cat is called Zuzu." })).await;
    assert_eq!(reply.headers["etag"], "\"2\"");
    let changed = reply.expect(200)["record"].clone();
    assert_eq!((&changed["version"], &changed["content"]), (&json!(2), &json!("The cat is called Zuzu.")));
    assert_eq!(changed["created_at"], record["created_at"]);
    let hits = alice.search(json!({ "query": "Zuzu", "mode": "lexical" })).await;
    assert_eq!(hits.len(), 1);
    assert_eq!(alice.search(json!({ "query": "Miro", "mode": "lexical" })).await.len(), 0);
    let hits = alice.search(json!({ "query": "The cat is called Zuzu.", "mode": "semantic" })).await;
    assert!(hits[0]["score_components"]["semantic"].as_f64().unwrap() > 0.99, "it was embedded anew");
}

#[tokio::test]
async fn every_member_can_be_changed_and_null_takes_some_away_r48() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let made =
        with(fact("x"), json!({ "key": "k", "metadata": { "a": 1 }, "expires_at": 4_000_000_000_u64 }));
    let record = alice.remember(made).await;
    let path = format!("{ITEMS}/{}", id(&record));
    let change = json!({
        "content": "y", "category": "todo", "key": "other", "confidence": 0.5, "importance": 0.75,
        "sensitivity": "personal", "metadata": { "b": 2 }, "expires_at": 4_000_000_001_u64,
        "context": { "thread_id": "t", "seq": 3, "speaker": "Bob" },
    });
    let changed = alice.patch(&path, change.clone()).await.expect(200)["record"].clone();
    for (name, value) in change.as_object().unwrap().iter().filter(|(name, _)| *name != "context") {
        assert_eq!(&changed[name], value, "{name}");
    }
    assert_eq!(changed["context"]["seq"], 3);
    assert_eq!(changed["context"]["observed_at"], record["context"]["observed_at"]);
    assert_eq!(alice.listed("scope=user:alice&key=k").await.len(), 0);
    assert_eq!(alice.listed("scope=user:alice&key=other").await.len(), 1);
    let none = json!({ "key": null, "metadata": null, "expires_at": null });
    let changed = alice.patch(&path, none).await.expect(200)["record"].clone();
    for name in ["key", "metadata", "expires_at"] {
        assert!(changed.get(name).is_none(), "{name}");
    }
    assert_eq!(alice.listed("scope=user:alice&key=other").await.len(), 0);
    // What changes nothing makes no version.
    let same = alice.patch(&path, json!({ "importance": 0.75 })).await.expect(200);
    assert_eq!(same["record"]["version"], changed["version"]);
}

#[tokio::test]
async fn a_patch_is_checked_like_a_new_record() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let record = alice.remember(with(fact("x"), json!({ "key": "k" }))).await;
    let path = format!("{ITEMS}/{}", id(&record));
    let rows = [
        (json!({ "content": " " }), 400, "content"),
        (json!({ "content": "a".repeat(65_537) }), 413, "content"),
        (json!({ "content": 1 }), 422, "content"),
        (json!({ "key": "" }), 400, "key"),
        (json!({ "importance": 1.5 }), 400, "importance"),
        (json!({ "confidence": -1 }), 400, "confidence"),
        (json!({ "expires_at": 1 }), 400, "expires_at"),
        (json!({ "sensitivity": "secret" }), 400, "sensitivity"),
        (json!({ "metadata": { "a": "b".repeat(16_384) } }), 400, "metadata"),
        (json!({ "context": { "thread_id": "\u{0}" } }), 400, "context.thread_id"),
        (json!({ "scope": { "kind": "user", "key": "bob" } }), 422, "scope"),
        (json!({ "status": "deleted" }), 422, "status"),
        (json!({ "version": 9 }), 422, "version"),
    ];
    for (patch, status, field) in rows {
        alice.patch(&path, patch).await.names(status, field);
    }
    alice.patch(&path, json!({})).await.refused(400, "invalid_request");
    let kept = alice.get(&path).await.expect(200);
    assert_eq!(kept["record"]["version"], 1);
    // U+0000 is no text.
    let cleaned = alice.patch(&path, json!({ "content": "a\u{0}b" })).await.expect(200);
    assert_eq!(cleaned["record"]["content"], "ab");
}

#[tokio::test]
async fn an_old_version_is_refused_with_412_r09() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let record = alice.remember(fact("one")).await;
    let path = format!("{ITEMS}/{}", id(&record));
    let saying = |content: &str| json!({ "content": content });
    alice.with("if-match", "\"1\"").patch(&path, saying("two")).await.expect(200);
    alice.with("if-match", "\"1\"").patch(&path, saying("three")).await.refused(412, "precondition_failed");
    alice.with("if-match", "2").patch(&path, saying("three")).await.expect(200);
    alice.with("if-match", "*").patch(&path, saying("four")).await.expect(200);
    for bad in ["x", "\"1\", \"2\"", ""] {
        alice.with("if-match", bad).patch(&path, saying("five")).await.names(400, "if-match");
    }
    let twice = alice.with("if-match", "4").with("if-match", "4");
    twice.patch(&path, saying("five")).await.names(400, "if-match");
    assert_eq!(alice.get(&path).await.expect(200)["record"]["content"], "four");
}

#[tokio::test]
async fn a_change_into_another_record_is_a_conflict_and_changes_nothing() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let one = alice.remember(fact("one")).await;
    let two = alice.remember(with(fact("two"), json!({ "key": "k" }))).await;
    let path = format!("{ITEMS}/{}", id(&one));
    alice.remember(fact("three")).await;
    alice.patch(&path, json!({ "content": "THREE" })).await.refused(409, "conflict");
    alice.patch(&path, json!({ "key": "k" })).await.refused(409, "conflict");
    assert_eq!(alice.get(&path).await.expect(200)["record"], one);
    // Only an active record can be changed, and only one that exists for the caller.
    alice.delete(&format!("{ITEMS}/{}", id(&two))).await.expect(200);
    alice.patch(&format!("{ITEMS}/{}", id(&two)), json!({ "content": "x" })).await.refused(409, "conflict");
    alice.patch(&path, json!({ "key": "k" })).await.expect(200);
    let unknown = format!("{ITEMS}/{}", memtide::id::MemoryId::new());
    alice.patch(&unknown, json!({ "content": "x" })).await.refused(404, "not_found");
    alice
        .patch(&format!("{ITEMS}/nonsense"), json!({ "content": "x" }))
        .await
        .refused(400, "invalid_request");
    let bob = app.tenant("bob").await.client;
    bob.patch(&path, json!({ "content": "x" })).await.refused(404, "not_found");
    alice.send(Method::PUT, &path, Some("{}".to_owned())).await.refused(405, "method_not_allowed");
}

#[tokio::test]
async fn the_history_holds_every_version_newest_first_r53_xc51() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let record = alice.remember(fact("one")).await;
    let path = format!("{ITEMS}/{}", id(&record));
    alice.patch(&path, json!({ "content": "two" })).await.expect(200);
    alice.delete(&path).await.expect(200);
    alice.post(&format!("{path}/restore"), json!({})).await.expect(200);
    let history = alice.get(&format!("{path}/history")).await.expect(200);
    let versions = &history["versions"];
    assert_eq!(each(versions, "version"), [4, 3, 2, 1]);
    assert_eq!(each(versions, "change_kind"), ["restored", "deleted", "updated", "created"]);
    assert_eq!(each(versions, "actor"), vec![&json!({ "kind": "user" }); 4]);
    let contents: Vec<&Value> =
        each(versions, "record").into_iter().map(|record| &record["content"]).collect();
    assert_eq!(contents, ["two", "two", "two", "one"]);
    assert_eq!(versions[1]["record"]["status"], "deleted");
    assert!(versions[0]["changed_at"].is_i64() && history.get("next_cursor").is_none());
    // Pages of it.
    let first = alice.get(&format!("{path}/history?limit=3")).await.expect(200);
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = alice.get(&format!("{path}/history?limit=3&cursor={cursor}")).await.expect(200);
    assert_eq!(each(&second["versions"], "version"), [1]);
    assert!(second.get("next_cursor").is_none());
    let other = alice.remember(fact("other")).await;
    let other = format!("{ITEMS}/{}/history?cursor={cursor}", id(&other));
    alice.get(&other).await.names(400, "cursor");
    alice.get(&format!("{path}/history?limit=0")).await.names(400, "limit");
    alice.get(&format!("{path}/history?limits=1")).await.refused(400, "invalid_request");
    let bob = app.tenant("bob").await.client;
    bob.get(&format!("{path}/history")).await.refused(404, "not_found");
}

#[tokio::test]
async fn words_that_an_older_version_stored_go_with_the_text() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    let mut db = app.db.superuser().await;
    let record = alice.remember(fact("green tea")).await;
    // As if the words of this text had been others once.
    sqlx::raw_sql(
        "UPDATE memories SET terms_version = 0;
         INSERT INTO memory_terms SELECT tenant_id, ns, 'bygon', memory_id, 1, 2 FROM memories",
    )
    .execute(&mut db)
    .await
    .unwrap();
    assert_eq!(alice.found("bygone").await.len(), 1);
    let path = format!("{ITEMS}/{}", id(&record));
    alice.patch(&path, json!({ "content": "bygones are black tea" })).await.expect(200);
    alice.patch(&path, json!({ "content": "black tea" })).await.expect(200);
    assert_eq!(alice.found("bygone").await.len(), 0);
    assert_eq!(alice.found("black").await.len(), 1);
    let words: i64 =
        sqlx::query_scalar("SELECT count(*) FROM memory_terms").fetch_one(&mut db).await.unwrap();
    assert_eq!(words, 2);
}

#[tokio::test]
async fn a_weak_tag_matches_nothing_and_null_is_no_text_r48() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    let record = alice.remember(fact("green tea")).await;
    let path = format!("{ITEMS}/{}", id(&record));
    for tag in ["W/\"1\"", "\"1", "\"+1\"", "+1", "\"\"", "x"] {
        let answer = alice.with("if-match", tag).patch(&path, json!({ "importance": 0.1 })).await;
        answer.names(400, "if-match");
    }
    alice.with("if-match", "\"1\"").patch(&path, json!({ "importance": 0.1 })).await.expect(200);
    for member in ["content", "category", "confidence", "importance", "sensitivity", "context"] {
        alice.patch(&path, json!({ member: null, "key": "tea" })).await.names(422, member);
    }
}

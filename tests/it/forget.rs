//! Forgetting, taking it back, erasing.

use chrono::TimeDelta;
use memtide::id::{MemoryId, TenantId};
use serde_json::{Value, json};

use crate::support::{Made, TestApp, each, fact, id, placed, with};

const ITEMS: &str = "/v1/memory/items";
const FORGET: &str = "/v1/memory/forget";

fn by_id(id: &str) -> Value {
    json!({ "target": { "kind": "id", "memory_id": id } })
}

fn by_key(key: &str) -> Value {
    json!({ "target": { "kind": "scoped_key", "scope": { "kind": "user", "key": "alice" }, "key": key } })
}

fn by_scope(key: &str) -> Value {
    json!({ "target": { "kind": "scope", "scope": { "kind": "user", "key": key } } })
}

#[tokio::test]
async fn what_is_forgotten_is_nowhere_at_once_c103_xc18() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let record = alice.remember(with(fact("The code is heliotrope."), json!({ "key": "code" }))).await;
    let reason = json!({ "reason": "asked\u{0} for", "actor": { "kind": "system" } });
    let gone = alice.post(FORGET, with(by_id(id(&record)), reason)).await.expect(200);
    assert_eq!(gone, json!({ "forgotten_memory_ids": [record["id"]], "dry_run": false }));
    for mode in ["hybrid", "lexical", "semantic"] {
        let hits = alice.search(json!({ "query": "The code is heliotrope.", "mode": mode })).await;
        assert_eq!(hits.len(), 0, "{mode}");
    }
    for question in ["", "scope=user:alice&key=code", "query=heliotrope"] {
        assert_eq!(alice.listed(question).await.len(), 0, "{question}");
    }
    let path = format!("{ITEMS}/{}", id(&record));
    alice.get(&path).await.refused(404, "not_found");
    let tombstones = alice.get(&format!("{ITEMS}?status=deleted")).await.expect(200);
    let tombstone = &tombstones["records"][0];
    assert_eq!((&tombstone["delete_reason"], &tombstone["status"]), (&json!("asked for"), &json!("deleted")));
    assert!(tombstone["deleted_at"].is_i64());
    // R-05: a tombstone blocks neither the text nor the key.
    let again = alice.post(ITEMS, with(fact("The code is heliotrope."), json!({ "key": "code" }))).await;
    assert_ne!(again.expect(201)["record"]["id"], record["id"]);
}

#[tokio::test]
async fn a_dry_run_tells_and_changes_nothing_c109_pc27() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let facts: Vec<Value> = (0..250).map(|n| placed(&format!("fact {n}"), n)).collect();
    alice.post("/v1/memory/items/batch", json!({ "items": facts })).await.expect(200);
    let kept = with(fact("Bob's"), json!({ "scope": { "kind": "user", "key": "bob" } }));
    let kept = alice.remember(kept).await;
    let keyed = alice.remember(with(fact("keyed"), json!({ "key": "k" }))).await;
    for target in [by_id(id(&keyed)), by_key("K"), by_scope("alice")] {
        let dry = alice.post(FORGET, with(target.clone(), json!({ "dry_run": true }))).await.expect(200);
        assert_eq!(dry["dry_run"], true);
        assert!(dry["forgotten_memory_ids"].as_array().unwrap().contains(&keyed["id"]));
        assert_eq!(alice.get(&format!("{ITEMS}/{}", id(&keyed))).await.expect(200)["record"], keyed);
    }
    let dry = alice.post(FORGET, with(by_scope("alice"), json!({ "dry_run": true }))).await.expect(200);
    let gone = alice.post(FORGET, by_scope("alice")).await.expect(200);
    assert_eq!(gone["forgotten_memory_ids"], dry["forgotten_memory_ids"]);
    assert_eq!(gone["forgotten_memory_ids"].as_array().unwrap().len(), 251);
    assert_eq!(alice.listed("").await, [id(&kept)]);
    let mut db = app.db.superuser().await;
    let events: i64 = sqlx::query_scalar("SELECT count(*) FROM events WHERE change_kind = 'deleted'")
        .fetch_one(&mut db)
        .await
        .unwrap();
    assert_eq!(events, 251);
}

#[tokio::test]
async fn targets_that_are_not_there_are_no_error_c105_xc19_r25() {
    let app = TestApp::start().await;
    let Made { client: alice, .. } = app.tenant("alice").await;
    let record = alice.remember(with(fact("x"), json!({ "key": "k" }))).await;
    let none = json!({ "forgotten_memory_ids": [], "dry_run": false });
    let candidate = memtide::id::TenantId::new().to_string();
    for target in [by_id(&MemoryId::new().to_string()), by_id(&candidate), by_key("no"), by_scope("no")] {
        assert_eq!(alice.post(FORGET, target).await.expect(200), none);
    }
    alice.post(FORGET, by_id("nonsense")).await.names(400, "target.memory_id");
    alice.post(FORGET, by_key("")).await.names(400, "target.key");
    alice.post(FORGET, by_scope(&"k".repeat(257))).await.names(400, "target.scope.key");
    alice.post(FORGET, with(by_id(id(&record)), json!({ "dryrun": true }))).await.names(422, "dryrun");
    alice.post(FORGET, json!({})).await.names(422, "target");
    for target in
        [json!({ "kind": "all" }), json!({ "memory_id": "x" }), json!({ "kind": "id" }), json!("id")]
    {
        let status = alice.post(FORGET, json!({ "target": target })).await.status.as_u16();
        assert!([400, 422].contains(&status), "{target}");
    }
    let reason = json!({ "reason": "r".repeat(1_025) });
    let details = alice.post(FORGET, with(by_id(id(&record)), reason)).await.names(400, "reason");
    assert_eq!(details["limit"], 1_024);
    let other = json!({ "target": { "kind": "scoped_key", "scope": { "kind": "user", "key": "alice" },
        "key": "k", "namespace": "other" } });
    alice.post(FORGET, other).await.refused(403, "forbidden");
    // Another tenant's record is not there.
    let bob = app.tenant("bob").await.client;
    assert_eq!(bob.post(FORGET, by_id(id(&record))).await.expect(200), none);
    // The ids are those of this request.
    assert_eq!(
        alice.post(FORGET, by_key("k")).await.expect(200)["forgotten_memory_ids"],
        json!([record["id"]])
    );
    assert_eq!(alice.post(FORGET, by_id(id(&record))).await.expect(200), none);
    assert_eq!(alice.post(FORGET, by_key("k")).await.expect(200), none);
}

#[tokio::test]
async fn delete_answers_the_same_while_it_can_be_taken_back_r25() {
    let app = TestApp::start().await;
    let made = app.tenant("alice").await;
    let record = made.client.remember(fact("x")).await;
    let path = format!("{ITEMS}/{}", id(&record));
    for _ in 0..2 {
        let gone = made.client.delete(&path).await.expect(200);
        assert_eq!(gone, json!({ "forgotten_memory_ids": [record["id"]] }));
    }
    made.client.delete(&format!("{ITEMS}/{}", MemoryId::new())).await.refused(404, "not_found");
    made.client.delete(&format!("{ITEMS}/{}", TenantId::new())).await.refused(404, "not_found");
    made.client.delete(&format!("{ITEMS}/nonsense")).await.refused(400, "invalid_request");
    let bob = app.tenant("bob").await.client;
    bob.delete(&path).await.refused(404, "not_found");
    app.app.clock.shift(TimeDelta::days(31));
    let late = app.exchange(&made.key, json!({ "namespace": "default" })).await;
    app.anyone().capability(&late).delete(&path).await.refused(404, "not_found");
}

#[tokio::test]
async fn it_can_be_taken_back_for_30_days_xc18_xd13() {
    for (days, is_there) in [(29.9, true), (30.1, false)] {
        for is_tidy in [false, true] {
            let app = TestApp::start().await;
            let made = app.tenant("alice").await;
            let record =
                made.client.remember(with(fact("The code is heliotrope."), json!({ "key": "k" }))).await;
            let path = format!("{ITEMS}/{}", id(&record));
            made.client.delete(&path).await.expect(200);
            #[expect(clippy::cast_possible_truncation, reason = "whole seconds do")]
            app.app.clock.shift(TimeDelta::seconds((days * 86_400.0) as i64));
            if is_tidy {
                memtide::job::tidy(&app.app).await;
            }
            let late = app.exchange(&made.key, json!({ "namespace": "default" })).await;
            let late = app.anyone().capability(&late);
            let reply = late.post(&format!("{path}/restore"), json!({})).await;
            if !is_there {
                reply.refused(404, "not_found");
                continue;
            }
            let restored = reply.expect(200)["record"].clone();
            assert_eq!((&restored["status"], &restored["version"]), (&json!("active"), &json!(3)));
            assert!(restored.get("deleted_at").is_none() && restored.get("delete_reason").is_none());
            assert_eq!(late.found("heliotrope").await.len(), 1);
            assert_eq!(late.listed("scope=user:alice&key=k").await, [id(&record)]);
        }
    }
}

#[tokio::test]
async fn restore_gives_way_to_what_took_the_place_meanwhile() {
    let app = TestApp::start().await;
    let made = app.tenant("alice").await;
    let alice = &made.client;
    let old = alice.remember(with(fact("vim"), json!({ "key": "editor" }))).await;
    let text = alice.remember(fact("The sky is blue.")).await;
    let restore = |record: &Value| format!("{ITEMS}/{}/restore", id(record));
    alice.post(FORGET, by_scope("alice")).await.expect(200);
    let new = alice.remember(with(fact("emacs"), json!({ "key": "editor" }))).await;
    alice.remember(fact("the SKY is blue.")).await;
    alice.post(&restore(&old), json!({})).await.refused(409, "conflict");
    alice.post(&restore(&text), json!({})).await.refused(409, "conflict");
    alice.delete(&format!("{ITEMS}/{}", id(&new))).await.expect(200);
    // Without a body, with an empty one, twice: it is active.
    alice.send(axum::http::Method::POST, &restore(&old), None).await.expect(200);
    alice.post(&restore(&old), json!({})).await.expect(200);
    alice.post(&restore(&old), json!({ "force": true })).await.names(422, "force");
    alice.post(&format!("{ITEMS}/{}/restore", MemoryId::new()), json!({})).await.refused(404, "not_found");
    // What was not forgotten cannot be taken back.
    let superseding = with(fact("nano"), json!({ "supersedes": old["id"] }));
    alice.remember(superseding).await;
    alice.post(&restore(&old), json!({})).await.refused(409, "conflict");
    let bob = app.tenant("bob").await.client;
    bob.post(&restore(&old), json!({})).await.refused(404, "not_found");
}

#[tokio::test]
async fn forgetting_something_superseded_or_expired_leaves_the_counts_right() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let old = alice.remember(fact("old words of no use")).await;
    alice.remember(with(fact("new"), json!({ "supersedes": old["id"] }))).await;
    let gone = alice.post(FORGET, by_id(id(&old))).await.expect(200);
    assert_eq!(gone["forgotten_memory_ids"], json!([old["id"]]));
    let mut db = app.db.superuser().await;
    let (records, words): (i64, i64) =
        sqlx::query_as("SELECT sum(records)::int8, sum(terms)::int8 FROM namespace_counts")
            .fetch_one(&mut db)
            .await
            .unwrap();
    assert_eq!((records, words), (1, 1));
}

#[tokio::test]
async fn erasing_leaves_nothing_and_needs_control_xc18_c171() {
    let app = TestApp::start().await;
    let made = app.tenant("alice").await;
    let alice = &made.client;
    let plain = app.exchange(&made.key, json!({ "namespace": "default" })).await;
    let record = alice.with("idempotency-key", "K").remember(fact("The marker is xyzzy.")).await;
    alice.patch(&format!("{ITEMS}/{}", id(&record)), json!({ "content": "It was xyzzy." })).await.expect(200);
    let old = alice.remember(with(fact("xyzzy one"), json!({ "key": "k" }))).await;
    alice.remember(with(fact("xyzzy two"), json!({ "key": "k", "supersedes": old["id"] }))).await;
    let forgotten = alice.remember(fact("xyzzy three")).await;
    alice.delete(&format!("{ITEMS}/{}", id(&forgotten))).await.expect(200);
    let erase = with(by_scope("alice"), json!({ "erase": true }));
    app.anyone().capability(&plain).post(FORGET, erase.clone()).await.refused(403, "forbidden");
    let gone = alice.post(FORGET, erase).await.expect(200);
    assert_eq!(gone["forgotten_memory_ids"].as_array().unwrap().len(), 4);
    alice.post(&format!("{ITEMS}/{}/restore", id(&record)), json!({})).await.refused(404, "not_found");
    alice.get(&format!("{ITEMS}/{}/history", id(&record))).await.refused(404, "not_found");
    let mut db = app.db.superuser().await;
    for table in [
        "memories",
        "memory_versions",
        "memory_terms",
        "memory_vectors",
        "events",
        "audit_log",
        "idempotency_keys",
    ] {
        let sql = format!("SELECT count(*) FROM {table} t WHERE t::text ~ 'xyzzy'");
        let left: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).fetch_one(&mut db).await.unwrap();
        assert_eq!(left, 0, "{table}");
    }
    // The same request again does not bring it back.
    let again = alice.with("idempotency-key", "K").post(ITEMS, fact("The marker is xyzzy.")).await;
    again.refused(404, "not_found");
    assert_eq!(each(&alice.get(ITEMS).await.expect(200)["records"], "id").len(), 0);
}

#[tokio::test]
async fn a_target_is_taken_to_the_letter_r08() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    let record = alice.remember(fact("green tea")).await;
    let (scope, id) = (json!({ "kind": "user", "key": "alice" }), id(&record).to_owned());
    for target in [
        json!({ "kind": 2, "scope": scope }),
        json!({ "kind": { "scope": null }, "scope": scope }),
        json!(["id", id]),
        json!({ "kind": "scope", "scope": ["user", "alice"] }),
        json!({ "kind": "scope", "scope": scope, "key": "k" }),
        json!({ "kind": "id", "memory_id": id, "scope": scope }),
        json!({ "kind": "scope" }),
        json!({ "kind": "all" }),
        json!({ "kind": "id", "memory_id": id, "more": 1 }),
    ] {
        let answer = alice.post("/v1/memory/forget", json!({ "target": target })).await;
        assert!([400, 422].contains(&answer.status.as_u16()), "{target}: {}", answer.text);
        assert!(answer.text.contains("target"), "{}", answer.text);
    }
    assert_eq!(alice.listed("").await.len(), 1);
}

#[tokio::test]
async fn an_active_record_is_restored_at_once_while_others_change_it() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    let record = alice.remember(fact("green tea")).await;
    let path = format!("/v1/memory/items/{}", id(&record));
    let change = async {
        for n in 0..20 {
            alice.patch(&path, json!({ "content": format!("green tea {n}") })).await.expect(200);
        }
    };
    let restore = async {
        for _ in 0..20 {
            alice.post(&format!("{path}/restore"), json!({})).await.expect(200);
        }
    };
    tokio::join!(change, restore);
}

/// Who erased what is known for good, also of records that had been forgotten before.
#[tokio::test]
async fn every_erased_record_is_in_the_audit_log() {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("alice").await;
    let alice = &made.client;
    let (active, forgotten) = (alice.remember(fact("one")).await, alice.remember(fact("two")).await);
    alice.delete(&format!("{ITEMS}/{}", id(&forgotten))).await.expect(200);
    let erase = json!({ "erase": true });
    alice.post(FORGET, with(by_scope("alice"), erase.clone())).await.expect(200);
    let unknown = MemoryId::new().to_string();
    alice.post(FORGET, with(by_id(&unknown), erase)).await.expect(200);
    let logged: Vec<(String, String)> = sqlx::query_as(
        "SELECT action, target FROM audit_log WHERE action IN ('memory.deleted', 'memory.erased') ORDER BY audit_id",
    )
    .fetch_all(&mut app.db.superuser().await)
    .await
    .unwrap();
    let of = |record: &Value| id(record).parse::<MemoryId>().unwrap().uuid().to_string();
    let wanted = [
        ("memory.deleted", of(&forgotten)),
        ("memory.deleted", of(&active)),
        ("memory.erased", of(&active)),
        ("memory.erased", of(&forgotten)),
    ];
    assert_eq!(logged, wanted.map(|(action, target)| (action.to_owned(), target)));
}

//! Remembering: what is stored, what is one record, and what is refused.

use serde_json::{Value, json};

use crate::support::{TestApp, each, fact, id, with};

const ITEMS: &str = "/v1/memory/items";

#[tokio::test]
async fn a_record_has_the_shape_and_the_defaults_of_the_contract_pc21_xc14_r20() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let made = alice.post(ITEMS, fact("Alice likes tea.")).await.expect(201);
    assert_eq!(made["created"], true);
    let record = &made["record"];
    // XC-16, R-07
    let record_id = id(record);
    assert!(record_id.starts_with("mem_") && record_id.len() == 30, "{record_id}");
    let expected = json!({
        "scope": { "kind": "user", "key": "alice" }, "namespace": "default", "category": "custom",
        "content": "Alice likes tea.", "status": "active", "confidence": 1.0, "importance": 0.5,
        "sensitivity": "normal", "provenance": { "created_by": { "kind": "user" } }, "version": 1,
        "access_count": 0,
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&record[name], value, "{name}");
    }
    // R-01, R-19: Unix seconds, and seen when it was written unless told.
    for time in ["created_at", "updated_at"] {
        assert!(record[time].is_i64(), "{time}");
    }
    assert_eq!(record["context"], json!({ "observed_at": record["created_at"] }));
    // PC-04: what is absent is left out.
    for absent in ["key", "expires_at", "superseded_by", "deleted_at", "metadata", "source_context_kind"] {
        assert!(record.get(absent).is_none(), "{absent}");
    }
}

#[tokio::test]
async fn every_member_comes_back_as_it_was_sent() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let sent = json!({
        "scope": { "kind": "workspace", "key": "acme/web" }, "namespace": "default", "category": "project_fact",
        "key": "deploy day", "content": "We deploy on Tuesdays.", "sensitivity": "personal", "confidence": 0.25,
        "importance": 1, "source_context_kind": "direct_user_conversation",
        "provenance": { "source_thread_id": "t1", "source_turn_id": "7", "source_item_id": "a",
            "source_kind": "explicit_user_request", "created_by": { "kind": "system", "id": "root" } },
        "metadata": { "n": 1.5, "deep": { "list": [null, true, "x"] }, "big": 18_446_744_073_709_551_615_u64 },
        "context": { "thread_id": "t1", "seq": 7, "speaker": "Bob", "observed_at": "2024-02-29T12:00:00+02:00" },
        "expires_at": 4_000_000_000_u64,
    });
    let record = alice.remember(sent.clone()).await;
    for name in ["scope", "namespace", "category", "key", "content", "sensitivity", "confidence", "metadata"]
    {
        assert_eq!(record[name], sent[name], "{name}");
    }
    assert_eq!(record["importance"], 1.0);
    assert_eq!(record["expires_at"], 4_000_000_000_u64);
    assert_eq!(record["source_context_kind"], "direct_user_conversation");
    assert_eq!(record["context"]["observed_at"], 1_709_200_800);
    assert_eq!(record["context"]["speaker"], "Bob");
    // PC-06: in whose name is the token's to say; PC-40: the source kind is kept.
    assert_eq!(record["provenance"]["created_by"], json!({ "kind": "user" }));
    assert_eq!(record["provenance"]["source_kind"], "explicit_user_request");
    let got = alice.get(&format!("{ITEMS}/{}", id(&record))).await.expect(200);
    assert_eq!(got["record"]["content"], sent["content"]);
    // PC-18: a source that is not known is `unknown`.
    let other = with(fact("x"), json!({ "source_context_kind": "carrier_pigeon" }));
    assert_eq!(alice.remember(other).await["source_context_kind"], "unknown");
}

#[tokio::test]
async fn json_that_does_not_fit_is_422_and_names_the_field_r08_r58() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let scope = json!({ "kind": "user", "key": "alice" });
    let rows = [
        (json!({ "category": "custom", "content": "x" }), "scope"),
        (json!({ "scope": scope, "content": "x" }), "category"),
        (json!({ "scope": scope, "category": "custom" }), "content"),
        (json!({ "scope": scope, "category": "custom", "content": null }), "content"),
        (json!({ "scope": scope, "category": "custom", "content": 7 }), "content"),
        (json!({ "scope": scope, "category": "custom", "content": ["x"] }), "content"),
        (json!({ "scope": ["user", "alice"], "category": "custom", "content": "x" }), "scope"),
        (json!({ "scope": "user:alice", "category": "custom", "content": "x" }), "scope"),
        (json!({ "scope": { "kind": "user" }, "category": "custom", "content": "x" }), "scope.key"),
        (with(fact("x"), json!({ "tenant_id": "b" })), "tenant_id"), // C084
        (with(fact("x"), json!({ "importance": "1" })), "importance"),
        (with(fact("x"), json!({ "importance": true })), "importance"),
        (with(fact("x"), json!({ "metadata": [] })), "metadata"),
        (with(fact("x"), json!({ "metadata": "{\"a\":1}" })), "metadata"), // C053
        (with(fact("x"), json!({ "context": { "seq": 1.5 } })), "context.seq"),
        (with(fact("x"), json!({ "context": { "turn": 1 } })), "context.turn"),
        (with(fact("x"), json!({ "provenance": { "source": 1 } })), "provenance.source"),
        (with(fact("x"), json!({ "embedding": "[]" })), "embedding"),
    ];
    for (body, field) in rows {
        alice.post(ITEMS, body).await.names(422, field);
    }
    alice.post(ITEMS, json!([fact("x")])).await.refused(422, "unprocessable");
    assert_eq!(alice.listed("").await.len(), 0);
}

#[tokio::test]
async fn a_value_out_of_its_range_is_400_and_names_field_and_limit_xc14_r18() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let long = |bytes: usize| "k".repeat(bytes);
    let rows = [
        (json!({ "category": "gossip" }), "category", None),
        (json!({ "scope": { "kind": "planet", "key": "x" } }), "scope.kind", None),
        (json!({ "sensitivity": "secret" }), "sensitivity", None),
        (json!({ "scope": { "kind": "user", "key": "" } }), "scope.key", None),
        (json!({ "scope": { "kind": "user", "key": " \u{200b}" } }), "scope.key", None),
        (json!({ "scope": { "kind": "user", "key": "a\u{0}" } }), "scope.key", None),
        (json!({ "scope": { "kind": "user", "key": "a\u{202e}b" } }), "scope.key", None), // C011
        (json!({ "scope": { "kind": "user", "key": long(257) } }), "scope.key", Some((256, 257))),
        (json!({ "scope": { "kind": "user", "key": long(100_000) } }), "scope.key", Some((256, 100_000))), // C039
        (json!({ "key": "" }), "key", None),
        (json!({ "key": "a\nb" }), "key", None),
        (json!({ "key": long(257) }), "key", Some((256, 257))),
        (json!({ "key": "é".repeat(129) }), "key", Some((256, 258))),
        (json!({ "confidence": 1.01 }), "confidence", None),
        (json!({ "confidence": -0.1 }), "confidence", None),
        (json!({ "importance": 2 }), "importance", None),
        (json!({ "metadata": { "a": long(16_384) } }), "metadata", Some((16_384, 16_392))),
        (json!({ "metadata": { "a": "\u{0}" } }), "metadata", None),
        (json!({ "context": { "thread_id": long(257) } }), "context.thread_id", Some((256, 257))),
        (json!({ "context": { "speaker": long(257) } }), "context.speaker", Some((256, 257))),
        (json!({ "provenance": { "source_turn_id": "" } }), "provenance.source_turn_id", None),
        (json!({ "expires_at": 1 }), "expires_at", None), // R-48
        (json!({ "idempotency_key": long(256) }), "idempotency_key", Some((255, 256))), // R-11
        (json!({ "supersedes": "mem_x" }), "supersedes", None),
        (json!({ "embedding_model": "all-MiniLM-L6-v2" }), "embedding_model", None),
        (json!({ "embedding": [1], "embedding_model": "other" }), "embedding_model", None), // R-27
        (json!({ "embedding": [1], "embedding_model": "all-MiniLM-L6-v2" }), "embedding", Some((384, 1))),
        (json!({ "embedding": vec![0; 384], "embedding_model": "all-MiniLM-L6-v2" }), "embedding", None),
        (json!({ "embedding": vec![1e39; 384], "embedding_model": "all-MiniLM-L6-v2" }), "embedding", None),
    ];
    for (more, field, limit) in rows {
        let details = alice.post(ITEMS, with(fact("x"), more)).await.names(400, field);
        if let Some((limit, actual)) = limit {
            assert_eq!((&details["limit"], &details["actual"]), (&json!(limit), &json!(actual)), "{field}");
        }
    }
    // R-20: a namespace that is not the token's is out of reach.
    alice.post(ITEMS, with(fact("x"), json!({ "namespace": "other" }))).await.refused(403, "forbidden");
    assert_eq!(alice.listed("").await.len(), 0);
}

#[tokio::test]
async fn content_is_1_to_65536_bytes_after_trimming_xc14_r47() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let full = "word ".repeat(13_107) + "x";
    assert_eq!(full.len(), 65_536);
    let record = alice.remember(fact(&format!("  {full}\n"))).await;
    assert_eq!(record["content"], full);
    let details = alice.post(ITEMS, fact(&format!("{full}y"))).await.names(413, "content");
    assert_eq!((&details["limit"], &details["actual"]), (&json!(65_536), &json!(65_537)));
    // R-46: nothing but white space and characters of no width.
    for blank in ["", " \t\r\n", "\u{200b}\u{feff}", "\u{0}", "\u{3000}\u{0}\u{ad}"] {
        alice.post(ITEMS, fact(blank)).await.names(400, "content");
    }
    let key = "k".repeat(256);
    let record = alice.remember(with(fact("x"), json!({ "key": key }))).await;
    assert_eq!(record["key"], key);
}

#[tokio::test]
async fn u0000_is_taken_out_of_text_and_nothing_else_is_c001_c011_c167_r04() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let record = alice.remember(fact("W\u{0}s\u{0}l\u{0} version 2")).await;
    assert_eq!(record["content"], "Wsl version 2");
    let texts = [
        "Transfer limit is \u{202e}000,1\u{202c} EUR",
        "plain\u{e0041}\u{e0042}",
        "cafe\u{301}  with   blanks",
        "<img src=x onerror=alert(1)> \"><svg onload=x> </script><script> {{7*7}} javascript:alert(1)",
        "a\tb\r\nc\u{1}\u{7f}",
        "👩‍👩‍👧‍👦 \u{10ffff}",
    ];
    for text in texts {
        let record = alice.remember(fact(text)).await;
        let got = alice.get(&format!("{ITEMS}/{}", id(&record))).await;
        assert_eq!(got.headers["x-content-type-options"], "nosniff");
        assert_eq!(got.expect(200)["record"]["content"], text);
    }
    // C003: half a surrogate pair is no text.
    let body = fact("x").to_string().replace("\"x\"", r#""\ud83d""#);
    alice.send(axum::http::Method::POST, ITEMS, Some(body)).await.refused(400, "invalid_request");
}

#[tokio::test]
async fn a_record_with_a_key_is_updated_under_its_key_pc26_xc21_r25() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let keyed = |content: &str| with(fact(content), json!({ "key": "Favourite Editor" }));
    let first = alice.post(ITEMS, with(keyed("vim"), json!({ "importance": 0.9 }))).await.expect(201);
    let second = alice.post(ITEMS, keyed("emacs")).await.expect(200);
    assert_eq!(second["created"], false);
    assert_eq!(second["record"]["id"], first["record"]["id"]);
    assert_eq!(second["record"]["version"], 2);
    assert_eq!(second["record"]["content"], "emacs");
    assert_eq!(second["record"]["importance"], 0.9, "what is left out stays");
    // The same again is no change.
    let third = alice.post(ITEMS, keyed("emacs")).await.expect(200);
    assert_eq!(third["record"]["version"], 2);
    // R-04: another spelling is the same key.
    let fourth = with(fact("nano"), json!({ "key": "favourite  EDITOR" }));
    assert_eq!(alice.remember(fourth).await["id"], first["record"]["id"]);
    assert_eq!(alice.found("nano").await, ["nano"]);
    assert_eq!(alice.listed("query=emacs").await.len(), 0, "C103: the old value is gone");
    // Another scope has keys of its own.
    let bob = with(keyed("ed"), json!({ "scope": { "kind": "user", "key": "bob" } }));
    alice.post(ITEMS, bob).await.expect(201);
}

#[tokio::test]
async fn the_same_turn_under_a_key_is_no_change() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let sent = with(fact("vim"), json!({ "key": "editor", "context": { "thread_id": "t", "seq": 1 } }));
    alice.post(ITEMS, sent.clone()).await.expect(201);
    app.app.clock.shift(chrono::TimeDelta::minutes(1));
    assert_eq!(alice.post(ITEMS, sent).await.expect(200)["record"]["version"], 1);
}

#[tokio::test]
async fn an_equal_text_is_one_record_c101_c039_r05() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let first = alice.post(ITEMS, fact("Café au lait, please")).await.expect(201);
    for same in ["Café au lait, please", "  cafe\u{301} au  LAIT, please\n"] {
        let again = alice.post(ITEMS, fact(same)).await.expect(200);
        assert_eq!((&again["created"], &again["record"]), (&json!(false), &first["record"]));
    }
    let others = [
        json!({ "category": "preference" }),
        json!({ "scope": { "kind": "user", "key": "bob" } }),
        json!({ "key": "coffee" }),
    ];
    for other in others {
        alice.post(ITEMS, with(fact("Café au lait, please"), other)).await.expect(201);
    }
    let long = "fact ".repeat(13_000);
    alice.post(ITEMS, fact(&long)).await.expect(201);
    alice.post(ITEMS, fact(&long)).await.expect(200);
}

#[tokio::test]
async fn facts_that_differ_by_a_digit_a_name_or_a_not_are_all_kept_c097_c099_r05() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let pairs = [
        ["Project deadline is October 15th", "Project deadline is October 16th"],
        ["router IP is 192.168.7.1", "router IP is 192.168.9.1"],
        ["invoice 4471 paid", "invoice 4417 paid"],
        ["the server runs v1.2", "the server runs v1.3"],
        ["rent 900", "rent 9000"],
        ["Bob eats meat", "Bob eats no meat"],
        ["Anna is the contact", "Anne is the contact"],
    ];
    for facts in pairs {
        for content in facts {
            alice.post(ITEMS, fact(content)).await.expect(201);
        }
        let found = alice.found(facts[1]).await;
        assert_eq!(found[0], facts[1], "an identical text comes first (R-02)");
        assert!(found.contains(&facts[0].to_owned()), "{found:?}");
    }
    for day in 1..=30 {
        let content = format!("Day {day}: build green, {} warnings", day % 4);
        alice.post(ITEMS, with(fact(&content), json!({ "key": format!("day-{day}") }))).await.expect(201);
    }
    assert_eq!(alice.listed("query=build+green&limit=100").await.len(), 30);
}

#[tokio::test]
async fn turns_are_known_by_their_place_r40() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let turn = |seq: i64, content: &str| {
        with(fact(content), json!({ "context": { "thread_id": "t1", "seq": seq, "speaker": "Bob" } }))
    };
    let one = alice.post(ITEMS, turn(1, "Yes.")).await.expect(201);
    let two = alice.post(ITEMS, turn(2, "Yes.")).await.expect(201);
    assert_ne!(one["record"]["id"], two["record"]["id"]);
    let again = alice.post(ITEMS, turn(1, "yes.")).await.expect(200);
    assert_eq!(again["record"]["id"], one["record"]["id"]);
    alice.post(ITEMS, turn(1, "No.")).await.refused(409, "conflict");
    let elsewhere = with(turn(1, "No."), json!({ "context": { "thread_id": "t2", "seq": 1 } }));
    alice.post(ITEMS, elsewhere).await.expect(201);
}

#[tokio::test]
async fn a_record_takes_the_place_of_another_pc26() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let replacing = |content: &str, old: &str| with(fact(content), json!({ "supersedes": old }));
    let old = alice.remember(fact("The office is in Bonn.")).await;
    let made = alice.post(ITEMS, replacing("The office is in Kiel.", id(&old))).await.expect(201);
    assert_eq!(made["superseded_memory_id"], old["id"]);
    let got = alice.get(&format!("{ITEMS}/{}", id(&old))).await.expect(200);
    assert_eq!(got["record"]["status"], "superseded");
    assert_eq!(got["record"]["superseded_by"], made["record"]["id"]);
    assert_eq!(alice.found("where is the office").await, ["The office is in Kiel."]);
    // Unknown: an error. No longer active: a conflict. Neither stores anything.
    let unknown = memtide::id::MemoryId::new().to_string();
    alice.post(ITEMS, replacing("The office is in Ulm.", &unknown)).await.refused(404, "not_found");
    let of_other_kind = memtide::id::TenantId::new().to_string();
    alice.post(ITEMS, replacing("The office is in Ulm.", &of_other_kind)).await.refused(404, "not_found");
    alice.post(ITEMS, replacing("The office is in Ulm.", id(&old))).await.refused(409, "conflict");
    assert_eq!(alice.listed("query=Ulm").await.len(), 0);
    assert_eq!(
        each(&alice.get("/v1/memory/items?status=superseded").await.expect(200)["records"], "id"),
        [&old["id"]]
    );
}

#[tokio::test]
async fn a_record_under_a_key_can_be_superseded_under_the_same_key() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let keyed = |content: &str, more: Value| with(with(fact(content), json!({ "key": "office" })), more);
    let old = alice.remember(keyed("Bonn", json!({}))).await;
    let made = alice.post(ITEMS, keyed("Kiel", json!({ "supersedes": old["id"] }))).await.expect(201);
    assert_ne!(made["record"]["id"], old["id"]);
    let by_key = alice.get("/v1/memory/items?scope=user:alice&key=office").await.expect(200);
    assert_eq!(each(&by_key["records"], "content"), ["Kiel"]);
    // Superseding in favour of a record that is there already updates it.
    let other = alice.remember(fact("We sit in Ulm")).await;
    let made = alice.post(ITEMS, keyed("Ulm", json!({ "supersedes": other["id"] }))).await.expect(200);
    assert_eq!((&made["created"], &made["superseded_memory_id"]), (&json!(false), &other["id"]));
}

#[tokio::test]
async fn times_are_exact_or_refused_c139_c137_r01() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let seen = |at: Value| with(fact("x"), json!({ "context": { "observed_at": at }, "key": "time" }));
    let kept = [
        (json!("2026-07-01T00:00:00.123456789Z"), 1_782_864_000),
        (json!("2026-07-01t14:00:00+14:00"), 1_782_864_000),
        (json!("2026-03-29T01:00:00+00:00"), 1_774_746_000), // the hour that Europe leaves out
        (json!("0001-01-01T00:00:00Z"), -62_135_596_800_i64),
        (json!("9999-12-31T23:59:59Z"), 253_402_300_799),
        (json!(-1), -1),
    ];
    for (at, seconds) in kept {
        let record = alice.remember(seen(at.clone())).await;
        let got = alice.get(&format!("{ITEMS}/{}", id(&record))).await.expect(200);
        assert_eq!(got["record"]["context"]["observed_at"], seconds, "{at}");
    }
    let refused = [
        (json!("0000-01-01T00:00:00Z"), 400),
        (json!("9999-12-31T23:59:60Z"), 400),
        (json!("10000-01-01T00:00:00Z"), 400),
        (json!("2026-02-30T00:00:00Z"), 400),
        (json!("2026-01-01T24:00:00Z"), 400),
        (json!("2026-01-01T00:00:00+25:00"), 400),
        (json!("2026-01-01T00:00:00"), 400),
        (json!("2026-01-01"), 400),
        (json!(253_402_300_800_i64), 400),
        (json!(1.5), 422),
        (json!(true), 422),
    ];
    for (at, status) in refused {
        alice.post(ITEMS, seen(at)).await.names(status, "context.observed_at");
    }
}

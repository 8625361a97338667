//! Saving.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{found, list, texts};
use crate::support::{TestApp, each, id};

const SAVE: &str = "save_memory";

/// D-001 to D-003, D-005, XD-05, XD-06, XD-17: one item, typed, a record of the token's user, found at once.
#[tokio::test]
async fn a_thought_is_saved_and_found_at_once_d001_d003_xd05_xd06_xd17() {
    let app = TestApp::start().await;
    let client = app.tenant("acme").await.client;
    let saved = client.tool(SAVE, json!({ "text": "  The lighthouse of Alexandria fell in 1303.\n" })).await;
    let note = &saved["saved"][0];
    assert_eq!(saved["count"], 1);
    assert_eq!(note["text"], "The lighthouse of Alexandria fell in 1303.");
    assert!(["thought", "insight", "fact", "todo"].contains(&note["type"].as_str().unwrap()), "{note}");
    assert!(note.get("duplicate").is_none() && saved.get("refused").is_none(), "{saved}");
    let reply = client
        .tool("search_memory", json!({ "query": "when did the lighthouse fall?", "dedupe_recent": false }))
        .await;
    assert_eq!(reply["relevant"][0]["id"], note["id"]);
    let record = client.get(&format!("/v1/memory/items/{}", id(note))).await.expect(200)["record"].clone();
    assert_eq!(record["scope"], json!({ "kind": "user", "key": "default" }));
    assert_eq!(record["metadata"]["type"], note["type"]);
    assert!(record["provenance"]["source_item_id"].as_str().unwrap().starts_with("src_"), "{record}");
}

/// D-002: a todo is one in the record, too.
#[tokio::test]
async fn a_todo_is_a_todo_d002_xd17() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("acme").await.client;
    let notes = client.save("- [ ] renew the passport\n- [x] book the train").await;
    assert_eq!(texts(&notes), ["renew the passport", "[x] book the train"]);
    for (note, done) in notes.iter().zip([false, true]) {
        assert_eq!(note["type"], "todo");
        let record =
            client.get(&format!("/v1/memory/items/{}", id(note))).await.expect(200)["record"].clone();
        assert_eq!((&record["category"], &record["metadata"]["done"]), (&json!("todo"), &json!(done)));
    }
}

/// D-004: a paste is taken apart; headings say what their notes stand under; dates say when that was.
#[tokio::test]
async fn a_paste_is_taken_apart_d004_r12() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("acme").await.client;
    let text = "# Pets\n\n- [2024-05-01] - Got a cat\n- Rex is a dog\n\nThat is all.";
    let notes = client.save(text).await;
    assert_eq!(texts(&notes), ["# Pets", "[2024-05-01] - Got a cat", "Rex is a dog", "That is all."]);
    let record =
        client.get(&format!("/v1/memory/items/{}", id(&notes[1]))).await.expect(200)["record"].clone();
    assert_eq!(record["metadata"]["under"], "Pets");
    assert_eq!(record["context"]["observed_at"], 1_714_521_600);
    // R-12: the text itself is kept, and every note points to it.
    let mut superuser = app.db.superuser().await;
    let kept: Vec<(String, i64)> = sqlx::query_as(
        "SELECT content, (SELECT count(*) FROM source_memories m WHERE m.source_id = s.source_id) FROM sources s",
    )
    .fetch_all(&mut superuser)
    .await
    .unwrap();
    assert_eq!(kept, [(text.to_owned(), 4)]);
}

/// XD-05, C101: what is there already comes back with its old id, whichever way it came.
#[tokio::test]
async fn a_duplicate_comes_back_with_its_old_id_xd05_r05_c101_c076() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("acme").await.client;
    let first = client.save("Rex is a dog").await;
    let again = client.save("- Tom is a cat\n- rex  IS a dog\n- Tom is a cat").await;
    assert_eq!(again[1]["id"], first[0]["id"]);
    assert_eq!(each(&json!(again), "duplicate"), [&Value::Null, &json!(true), &json!(true)]);
    assert_eq!(again[2]["id"], again[0]["id"]);
    assert_eq!(again[1]["text"], "Rex is a dog", "it is told as it stands there");
    let record =
        client.get(&format!("/v1/memory/items/{}", id(&first[0]))).await.expect(200)["record"].clone();
    let same = json!({ "scope": record["scope"], "category": record["category"], "content": "Rex is a dog" });
    let rest = client.post("/v1/memory/items", same.clone()).await.expect(200);
    let rpc = client.call("memory/remember", same).await;
    for reply in [rest, rpc] {
        assert_eq!((&reply["created"], &reply["record"]["id"]), (&json!(false), &first[0]["id"]));
    }
    // A digit is another fact.
    assert!(client.save("Rex is a dog 2").await[0].get("duplicate").is_none());
    assert_eq!(client.listed("limit=100").await.len(), 3);
}

#[tokio::test]
async fn one_paste_twice_at_once_makes_no_doubles_xd05() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("acme").await.client;
    let text = list("note number", 50);
    let pastes = (0..4).map(|_| client.save(&text));
    let pastes = futures_util::future::join_all(pastes).await;
    let ids: BTreeSet<&str> = pastes.iter().flatten().map(id).collect();
    assert_eq!(ids.len(), 50);
    let made = pastes.iter().flatten().filter(|note| note.get("duplicate").is_none()).count();
    assert_eq!(made, 50, "each is new once");
    assert_eq!(client.listed("limit=100").await.len(), 50);
}

/// C141: the notes of one paste have one time, and every page shows each of them once.
#[tokio::test]
async fn a_paste_is_listed_without_gap_or_double_c141() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("acme").await.client;
    for part in 0..2 {
        assert_eq!(client.save(&list(&format!("note {part}"), 125)).await.len(), 125);
    }
    for limit in [7, 50, 100] {
        let (mut ids, mut path) = (Vec::new(), format!("/v1/memory/items?limit={limit}"));
        loop {
            let page = client.get(&path).await.expect(200);
            ids.extend(each(&page["records"], "id").into_iter().map(|id| id.as_str().unwrap().to_owned()));
            let Some(cursor) = page["next_cursor"].as_str() else { break };
            path = format!("/v1/memory/items?limit={limit}&cursor={cursor}");
        }
        let unique: BTreeSet<&String> = ids.iter().collect();
        assert_eq!((ids.len(), unique.len()), (250, 250), "{limit}");
    }
}

/// C001: U+0000 is dropped, and what holds nothing else is no note.
#[tokio::test]
async fn nul_is_dropped_and_takes_nothing_with_it_c001_r04() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("acme").await.client;
    assert_eq!(texts(&client.save("W\0s\0l\0 version 2").await), ["Wsl version 2"]);
    let paste: Vec<String> =
        (1..=10).map(|n| if n == 6 { "\0".to_owned() } else { format!("Line {n}") }).collect();
    assert_eq!(client.save(&paste.join("\n")).await.len(), 9);
    assert_eq!(texts(&client.save("[\"a\\u0000b c\", \"x y\"]").await), ["ab c", "x y"]);
}

/// XD-05, C043: limits are named.
#[tokio::test]
async fn limits_are_named_and_what_is_within_is_taken_xd05_c043() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("acme").await.client;
    for text in ["", " \n\t", "\0", "\u{200b}"] {
        let error = client.tool_fails(SAVE, json!({ "text": text }), "invalid_request").await;
        assert_eq!(error["details"]["field"], "text");
    }
    for bytes in [16_384, 65_536] {
        assert_eq!(client.save(&"word ".repeat(bytes / 5)).await.len(), 1);
    }
    assert_eq!(client.save(&format!("  {}\n", "x".repeat(65_536))).await.len(), 1, "after trimming");
    for bytes in [65_537, 250_000] {
        let error = client.tool_fails(SAVE, json!({ "text": "x".repeat(bytes) }), "payload_too_large").await;
        assert_eq!(error["details"], json!({ "field": "text", "limit": 65_536, "actual": bytes }));
    }
    assert_eq!(client.save(&list("entry", 200)).await.len(), 200);
    let error = client.tool_fails(SAVE, json!({ "text": list("entry", 201) }), "invalid_request").await;
    assert_eq!(error["details"], json!({ "field": "text", "limit": 200, "actual": 201 }));
    assert!(error["message"].as_str().unwrap().contains("200"), "{error}");
}

/// R-32: a token of one user saves for that user, one of others only for nobody.
#[tokio::test]
async fn notes_belong_to_the_user_of_the_token_xd17() {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("acme").await;
    let of = |scopes: Value| {
        let request = json!({ "namespace": "default", "scopes": scopes });
        async { app.anyone().capability(&app.exchange(&made.key, request).await) }
    };
    let alice = of(json!([{ "kind": "user", "key": "alice" }, { "kind": "agent", "key": "a" }])).await;
    let note = alice.save("Alice likes tea").await;
    let record =
        made.client.get(&format!("/v1/memory/items/{}", id(&note[0]))).await.expect(200)["record"].clone();
    assert_eq!(record["scope"]["key"], "alice");
    let bob = of(json!([{ "kind": "user", "key": "bob" }])).await;
    let reply = bob.tool("search_memory", json!({ "query": "tea" })).await;
    assert!(found(&reply["relevant"]).is_empty() && found(&reply["recent"]).is_empty(), "{reply}");
    let agent = of(json!([{ "kind": "agent", "key": "a" }])).await;
    agent.tool_fails(SAVE, json!({ "text": "For whom?" }), "forbidden").await;
}

/// R-05: rows with the same text are two notes when another column, their date or that they are done differs.
#[tokio::test]
async fn rows_that_differ_in_a_column_are_two_notes_r05() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("acme").await.client;
    for (paste, wanted) in [
        (
            "date,memory\n2024-01-02,Ran 5 km\n2024-01-09,Ran 5 km\n",
            ["Ran 5 km (date: 2024-01-02)", "Ran 5 km (date: 2024-01-09)"],
        ),
        (
            r#"[{"id":1,"text":"Paid the invoice","amount":100},{"id":2,"text":"Paid the invoice","amount":900}]"#,
            ["Paid the invoice (amount: 100)", "Paid the invoice (amount: 900)"],
        ),
        ("- [ ] Pay the rent\n- [x] Pay the rent", ["Pay the rent", "[x] Pay the rent"]),
    ] {
        let saved = client.save(paste).await;
        assert_eq!(texts(&saved), wanted);
        assert!(saved.iter().all(|note| note.get("duplicate").is_none()), "{saved:?}");
    }
    assert_eq!(client.found("900").await, ["Paid the invoice (amount: 900)"]);
}

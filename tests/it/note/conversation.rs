//! In which conversation something was saved.

use serde_json::{Value, json};

use super::found;
use crate::support::{Client, TestApp, id, placed};

async fn search(client: &Client, arguments: Value) -> Value {
    let mut all = json!({ "query": "the harbour" });
    all.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
    client.tool("search_memory", all).await
}

/// D-006 to D-008, D-056, XD-11: stored with each item, shown with it, the title cut and never refused.
#[tokio::test]
async fn the_conversation_is_kept_with_every_item_d008_d056_xd11() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("acme").await.client;
    let title = "é".repeat(250);
    let save = json!({
        "text": "- the harbour is cold\n- the harbour is old",
        "client": { "conversation_id": " c1 ", "conversation_title": title },
    });
    client.tool("save_memory", save).await;
    client.save("the harbour is new").await;
    let reply = search(&client, json!({ "conversation_id": "c1\n" })).await;
    for list in ["relevant", "recent"] {
        for item in reply[list].as_array().unwrap() {
            assert_eq!(item["conversation_id"], "c1", "{reply}");
            assert_eq!(item["conversation_title"], "é".repeat(200));
        }
    }
    let all = search(&client, json!({})).await;
    assert!(
        all["recent"].as_array().unwrap().iter().any(|item| item.get("conversation_id").is_none()),
        "{all}"
    );
    let long = json!({ "text": "x", "client": { "conversation_id": "x".repeat(257) } });
    let error = client.tool_fails("save_memory", long, "invalid_request").await;
    assert_eq!(error["details"]["field"], "client.conversation_id");
}

/// D-012, D-013, XD-09: the filter holds for both lists, and a blank one is none.
#[tokio::test]
async fn the_filter_finds_what_was_saved_in_that_conversation_d012_d013_xd09() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("acme").await.client;
    client.save_in("c1", "the harbour is cold").await;
    client.save_in("c2", "the harbour is old").await;
    client.save("the harbour is new").await;
    for (filter, count) in [("c1", 1), ("c2", 1), ("c3", 0), ("", 3), (" \t", 3)] {
        let reply = search(&client, json!({ "conversation_id": filter, "dedupe_recent": false })).await;
        assert_eq!(
            (reply["relevant"].as_array().unwrap().len(), &reply["count"]),
            (count, &json!(count)),
            "{filter}"
        );
        assert_eq!(reply["recent"].as_array().unwrap().len(), count, "{filter}");
    }
    let error = client
        .tool_fails(
            "search_memory",
            json!({ "query": "x", "conversation_id": "x".repeat(257) }),
            "invalid_request",
        )
        .await;
    assert_eq!(error["details"]["field"], "conversation_id");
}

/// D-016, XD-18: who asks does not filter, and is not stored.
#[tokio::test]
async fn the_client_of_a_search_filters_nothing_d016_xd18() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("acme").await.client;
    client.save_in("c1", "the harbour is cold").await;
    let asks =
        json!({ "client": { "conversation_id": "c2", "conversation_title": "t" }, "dedupe_recent": false });
    let reply = search(&client, asks).await;
    assert_eq!(found(&reply["relevant"]), ["the harbour is cold"]);
    assert_eq!(reply["relevant"][0]["conversation_id"], "c1");
    let mut superuser = app.db.superuser().await;
    let sql = "SELECT count(*) FROM sources WHERE conversation_id = 'c2'";
    assert_eq!(sqlx::query_scalar::<_, i64>(sql).fetch_one(&mut superuser).await.unwrap(), 0);
}

/// D-056: the same note saved in another conversation is of both.
#[tokio::test]
async fn a_note_saved_in_two_conversations_is_found_in_both_d056() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("acme").await.client;
    let first = client.save_in("c1", "the harbour is cold").await;
    let again = client.save_in("c2", "the harbour is cold").await;
    assert_eq!((&again[0]["id"], &again[0]["duplicate"]), (&first[0]["id"], &json!(true)));
    for filter in ["c1", "c2"] {
        let reply = search(&client, json!({ "conversation_id": filter, "dedupe_recent": false })).await;
        assert_eq!(reply["relevant"][0]["id"], first[0]["id"]);
        assert_eq!(reply["relevant"][0]["conversation_id"], filter, "the one that was asked for");
    }
    let reply = search(&client, json!({ "dedupe_recent": false })).await;
    assert_eq!(reply["relevant"][0]["conversation_id"], "c2", "else the latest");
}

/// The filter holds before candidates are cut: the three of the conversation come, however many others are closer.
#[tokio::test]
async fn few_notes_of_a_conversation_are_found_among_many_others_d012() {
    let app = TestApp::start().await;
    let client = app.tenant("acme").await.client;
    let wanted = client.save_in("c1", "- the harbour is cold\n- boats lie there\n- gulls cry").await;
    let vector = app
        .app
        .embedder
        .embed_texts(app.tenant("other").await.id, &["the harbour".to_owned()])
        .await
        .unwrap();
    let vector = vector[0].embedding.as_ref().unwrap().as_slice().to_vec();
    for part in 0..3 {
        let items: Vec<Value> = (0..100)
            .map(|number| {
                let mut item = placed(&format!("the harbour, the harbour {part} {number}"), 0);
                item["embedding"] = json!(vector);
                item
            })
            .collect();
        client.post("/v1/memory/items/batch", json!({ "items": items })).await.expect(200);
    }
    // Often enough that the vectors are in memory by then.
    for _ in 0..6 {
        let reply =
            search(&client, json!({ "conversation_id": "c1", "k": 20, "dedupe_recent": false })).await;
        let mut ids: Vec<&str> = reply["relevant"].as_array().unwrap().iter().map(id).collect();
        let mut all: Vec<&str> = wanted.iter().map(id).collect();
        ids.sort_unstable();
        all.sort_unstable();
        assert_eq!(ids, all);
    }
}

//! Many records in one request.

use serde_json::{Value, json};

use crate::support::stub::EmbeddingStub;
use crate::support::{TestApp, each, fact, id, placed, with};

const BATCH: &str = "/v1/memory/items/batch";

fn items(items: &[Value]) -> Value {
    json!({ "items": items })
}

#[tokio::test]
async fn each_item_has_its_result_in_order_and_a_bad_one_undoes_no_other_r24() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let old = alice.remember(fact("The office is in Bonn.")).await;
    let known = alice.remember(fact("Alice likes tea.")).await;
    let batch = items(&[
        fact("one"),
        fact(" "),
        fact("Alice likes TEA."),
        json!({ "scope": { "kind": "user", "key": "alice" }, "category": "custom" }),
        with(fact("The office is in Kiel."), json!({ "supersedes": old["id"] })),
        with(fact("x"), json!({ "namespace": "other" })),
        with(fact("y"), json!({ "supersedes": memtide::id::MemoryId::new().to_string() })),
        with(fact("z"), json!({ "colour": "red" })),
        json!(7),
        fact("last"),
    ]);
    let reply = alice.post(BATCH, batch).await.expect(200);
    let results = &reply["results"];
    assert_eq!(results.as_array().unwrap().len(), 10);
    assert_eq!((&results[0]["created"], &results[0]["record"]["content"]), (&json!(true), &json!("one")));
    assert_eq!(results[1]["error"]["details"]["field"], "items[1].content");
    assert_eq!((&results[2]["created"], &results[2]["record"]["id"]), (&json!(false), &known["id"]));
    assert_eq!(results[3]["error"]["code"], "unprocessable");
    assert_eq!(results[3]["error"]["details"]["field"], "items[3].content");
    assert_eq!(results[4]["superseded_memory_id"], old["id"]);
    assert_eq!(results[5]["error"]["code"], "forbidden", "R-59");
    assert_eq!(results[6]["error"]["code"], "not_found");
    assert_eq!(results[7]["error"]["details"]["field"], "items[7].colour");
    assert_eq!(results[8]["error"]["code"], "unprocessable");
    assert_eq!(results[9]["created"], true);
    // all of it is found at once.
    assert_eq!(alice.found("one").await[0], "one");
    assert_eq!(alice.listed("").await.len(), 4);
}

#[tokio::test]
async fn a_malformed_envelope_refuses_all_r24() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    alice.post(BATCH, json!({})).await.names(422, "items");
    alice.post(BATCH, json!({ "items": {} })).await.names(422, "items");
    alice.post(BATCH, json!({ "items": [fact("x")], "all": true })).await.names(422, "all");
    alice.post(BATCH, json!([fact("x")])).await.refused(422, "unprocessable");
    let details = alice.post(BATCH, items(&[])).await.names(400, "items");
    assert_eq!((&details["limit"], &details["actual"]), (&json!(256), &json!(0)));
    alice.post(BATCH, items(&vec![fact("x"); 257])).await.names(400, "items");
    assert_eq!(alice.listed("").await.len(), 0);
}

#[tokio::test]
async fn equal_items_of_a_batch_are_one_record_and_keyed_ones_update_in_order() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let keyed = |content: &str| with(fact(content), json!({ "key": "editor" }));
    let batch = items(&[fact("twin"), keyed("vim"), fact("Twin"), keyed("emacs"), keyed("nano")]);
    let reply = alice.post(BATCH, batch).await.expect(200);
    assert_eq!(each(&reply["results"], "created"), [true, true, false, false, false]);
    let ids: Vec<&str> = reply["results"].as_array().unwrap().iter().map(|one| id(&one["record"])).collect();
    assert_eq!(ids[0], ids[2]);
    assert_eq!((ids[1], ids[1]), (ids[3], ids[4]));
    let editor = alice.get("/v1/memory/items?scope=user:alice&key=editor").await.expect(200);
    assert_eq!(editor["records"][0]["content"], "nano");
    assert_eq!(editor["records"][0]["version"], 3);
    assert_eq!(alice.listed("").await.len(), 2);
}

#[tokio::test]
async fn an_item_may_have_an_idempotency_key_of_its_own_r24() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let once = |content: &str, key: &str| with(fact(content), json!({ "idempotency_key": key }));
    let batch = items(&[once("one", "K1"), fact("two"), once("three", "K3"), once("x", &"k".repeat(256))]);
    let first = alice.post(BATCH, batch.clone()).await.expect(200);
    assert_eq!(first["results"][3]["error"]["details"]["field"], "items[3].idempotency_key");
    alice.delete(&format!("/v1/memory/items/{}", id(&first["results"][0]["record"]))).await.expect(200);
    let again = alice.post(BATCH, batch).await.expect(200);
    assert_eq!(again["results"][0], first["results"][0], "the first answer, though it was forgotten since");
    assert_eq!(again["results"][1]["created"], false);
    let other = alice.post(BATCH, items(&[once("four", "K1"), fact("five")])).await.expect(200);
    assert_eq!(other["results"][0]["error"]["code"], "idempotency_mismatch");
    assert_eq!(other["results"][1]["created"], true);
}

#[tokio::test]
async fn items_with_keys_of_their_own_are_embedded_together() {
    let provider = EmbeddingStub::start([]).await;
    let app = TestApp::start_with(provider.embedder("stub").await).await;
    let alice = app.tenant("alice").await.client;
    let once = |content: &str| with(fact(content), json!({ "idempotency_key": content }));
    let reply = alice.post(BATCH, items(&[once("one"), fact("two"), once("three")])).await.expect(200);
    assert_eq!(each(&reply["results"], "created"), [true, true, true]);
    let requests = provider.requests();
    assert_eq!(
        requests.iter().map(|request| request.texts.clone()).collect::<Vec<_>>(),
        [["one", "two", "three"]]
    );
    assert_eq!(alice.search(json!({ "query": "x", "mode": "semantic" })).await.len(), 3);
}

#[tokio::test]
async fn a_batch_of_256_turns_keeps_all_of_them_c141() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let turns: Vec<Value> = (0..256)
        .map(|seq| with(placed("Yes.", seq), json!({ "context": { "thread_id": "t", "seq": seq } })))
        .collect();
    let reply = alice.post(BATCH, items(&turns)).await.expect(200);
    assert!(each(&reply["results"], "created").iter().all(|created| **created == json!(true)));
    let again = alice.post(BATCH, items(&turns)).await.expect(200);
    assert!(each(&again["results"], "created").iter().all(|created| **created == json!(false)));
}

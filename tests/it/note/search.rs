//! Searching.

use chrono::{DateTime, TimeDelta};
use memtide::auth::Rights;
use serde_json::json;

use super::{found, list, texts};
use crate::support::stub::EmbeddingStub;
use crate::support::{TestApp, each, fact, id};

const SEARCH: &str = "search_memory";

/// D-010, D-033, XD-07: the shape of the answer.
#[tokio::test]
async fn an_answer_has_relevant_and_recent_notes_d010_d015_d033_xd07() {
    let app = TestApp::start().await;
    let client = app.tenant("acme").await.client;
    client.save("- The harbour is cold\n- Rex is a dog").await;
    let reply =
        client.tool(SEARCH, json!({ "query": "what is it like at the sea?", "dedupe_recent": false })).await;
    assert_eq!(reply["query"], "what is it like at the sea?");
    assert_eq!(reply["relevant"][0]["text"], "The harbour is cold");
    assert_eq!(reply["count"], reply["relevant"].as_array().unwrap().len());
    assert!(reply.get("degraded").is_none(), "{reply}");
    for item in reply["relevant"].as_array().unwrap() {
        assert!((0.0..=1.0).contains(&item["score"].as_f64().unwrap()), "{item}");
    }
    for item in reply["relevant"].as_array().unwrap().iter().chain(reply["recent"].as_array().unwrap()) {
        assert!(id(item).starts_with("mem_") && item["type"].is_string(), "{item}");
        let at = item["created_at"].as_str().unwrap();
        assert!(at.ends_with('Z'), "{at}");
        let age = app.app.clock.now() - DateTime::parse_from_rfc3339(at).unwrap().to_utc();
        assert!(age.abs() < TimeDelta::minutes(5), "{at}");
    }
    assert!(reply["recent"].as_array().unwrap().iter().all(|item| item.get("score").is_none()));
}

/// D-014, D-015, XD-09, XD-10: by default nothing is in both, and k is still full.
#[tokio::test]
async fn what_is_recent_is_not_relevant_too_unless_asked_d014_xd09_xd10() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("acme").await.client;
    let notes = client.save(&list("harbour", 12)).await;
    let newest: Vec<&str> = notes.iter().rev().take(5).map(id).collect();
    let reply = client.tool(SEARCH, json!({ "query": "harbour", "k": 7 })).await;
    let recent: Vec<&str> = reply["recent"].as_array().unwrap().iter().map(id).collect();
    assert_eq!(recent, newest, "the five newest, newest first");
    assert_eq!((reply["relevant"].as_array().unwrap().len(), &reply["count"]), (7, &json!(7)));
    assert!(reply["relevant"].as_array().unwrap().iter().all(|item| !recent.contains(&id(item))));
    let raw = client.tool(SEARCH, json!({ "query": "harbour", "k": 12, "dedupe_recent": false })).await;
    assert_eq!(raw["relevant"].as_array().unwrap().len(), 12);
    let again: Vec<&str> = raw["recent"].as_array().unwrap().iter().map(id).collect();
    assert_eq!(again, newest);
}

/// XD-09: recent is what was saved in the last 24 hours and is alive.
#[tokio::test]
async fn recent_is_a_day_long_and_holds_what_is_alive_xd09_c103() {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("acme").await;
    let token = json!({ "name": "t", "namespace": "default", "capabilities": Rights::all() });
    let client = app.anyone().bearer(&app.personal_token(made.id, token).await.1);
    let notes = client.save("- harbour one\n- harbour two").await;
    client.tool("manage_memory", json!({ "action": "delete", "id": notes[0]["id"] })).await;
    let search = || client.tool(SEARCH, json!({ "query": "harbour", "dedupe_recent": false }));
    let reply = search().await;
    assert_eq!(
        (found(&reply["recent"]), found(&reply["relevant"])),
        (vec!["harbour two"], vec!["harbour two"])
    );
    app.app.clock.shift(TimeDelta::hours(24) - TimeDelta::minutes(5));
    assert_eq!(found(&search().await["recent"]), ["harbour two"]);
    app.app.clock.shift(TimeDelta::minutes(10));
    let reply = search().await;
    assert_eq!((found(&reply["recent"]).len(), found(&reply["relevant"])), (0, vec!["harbour two"]));
    client.save("harbour three").await;
    assert_eq!(found(&search().await["recent"]), ["harbour three"]);
}

/// D-011, XD-08, R-03, C051.
#[tokio::test]
async fn k_bounds_what_is_relevant_d011_xd08_c051() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("acme").await.client;
    client.save(&list("harbour", 30)).await;
    let sizes = [
        (json!({}), 8),
        (json!({ "k": null }), 8),
        (json!({ "k": 5 }), 5),
        (json!({ "k": 5.9 }), 5),
        (json!({ "k": 0 }), 1),
        (json!({ "k": -3 }), 1),
        (json!({ "k": 21 }), 20),
        (json!({ "k": 1e19 }), 20),
        (json!({ "k": 20 }), 20),
    ];
    for (mut arguments, count) in sizes {
        arguments["query"] = json!("harbour");
        let reply = client.tool(SEARCH, arguments.clone()).await;
        assert_eq!(reply["relevant"].as_array().unwrap().len(), count, "{arguments}");
    }
    for k in [json!("5"), json!(true), json!([]), json!({})] {
        let error = client.tool_fails(SEARCH, json!({ "query": "harbour", "k": k }), "invalid_request").await;
        assert_eq!(error["details"]["field"], "k");
    }
}

/// C036: what stands at the end of a long text is found.
#[tokio::test]
async fn a_fact_at_the_end_of_a_long_text_is_found_c036() {
    let app = TestApp::start().await;
    let client = app.tenant("acme").await.client;
    let words = ["to", "be", "or", "at", "sea", "in", "it", "we", "go", "up"];
    let paragraph = |number: usize| -> String {
        let words = (0..400).map(|at| words[(at * 7 + number * 3 + at / 9) % words.len()]);
        words.collect::<Vec<_>>().join(" ")
    };
    let mut text: Vec<String> = (0..50).map(paragraph).collect();
    assert_eq!(text.iter().map(|paragraph| paragraph.split(' ').count()).sum::<usize>(), 20_000);
    text.push("By the way, the vault code is heliotrope.".to_owned());
    client.save(&text.join("\n\n")).await;
    let whole =
        client.save(&format!("{} And the second vault code is periwinkle.", text[..50].join(" "))).await;
    assert_eq!(whole.len(), 1, "one paragraph is one note");
    for word in ["heliotrope", "periwinkle"] {
        let query =
            json!({ "query": format!("what is the vault code, {word}?"), "k": 5, "dedupe_recent": false });
        let reply = client.tool(SEARCH, query).await;
        assert!(found(&reply["relevant"]).iter().any(|text| text.contains(word)), "{word}");
    }
    let reply = client.tool(SEARCH, json!({ "query": "vault code", "k": 5, "dedupe_recent": false })).await;
    assert!(found(&reply["relevant"]).iter().any(|text| text.contains("heliotrope")));
}

/// XD-17: one durable store. What REST remembers is found here, and the other way round.
#[tokio::test]
async fn the_tools_and_rest_see_one_memory_xd17() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("acme").await.client;
    let record = client.remember(fact("the harbour of REST")).await;
    let note = client.save("the harbour of the tool").await;
    let reply = client.tool(SEARCH, json!({ "query": "harbour", "dedupe_recent": false })).await;
    let mut ids = each(&reply["relevant"], "id");
    ids.sort_by_key(|id| id.as_str().map(str::to_owned));
    let mut all = [&record["id"], &note[0]["id"]];
    all.sort_by_key(|id| id.as_str().map(str::to_owned));
    assert_eq!(ids, all);
    assert_eq!(client.found("harbour").await.len(), 2);
    assert_eq!(texts(&note), ["the harbour of the tool"]);
}

/// one call to the embedder for a whole paste; when it is away the words answer, the answer says so, and saving
/// waits.
#[tokio::test]
async fn a_paste_is_embedded_at_once_and_an_embedder_that_is_away_is_told_r10() {
    let stub = EmbeddingStub::start([]).await;
    let app = TestApp::start_with(stub.embedder("stub").await).await;
    let client = app.tenant("acme").await.client;
    let before = stub.requests().len();
    client.save(&list("harbour", 40)).await;
    let asked: Vec<usize> = stub.requests()[before..].iter().map(|request| request.texts.len()).collect();
    assert_eq!(asked, [40]);
    drop(stub);
    let reply = client.tool(SEARCH, json!({ "query": "harbour 7", "dedupe_recent": false })).await;
    assert_eq!(reply["degraded"], json!(["semantic"]));
    assert_eq!(reply["relevant"][0]["text"], "harbour 7");
    client.tool_fails("save_memory", json!({ "text": "another harbour" }), "unavailable").await;
    assert_eq!(client.listed("limit=100").await.len(), 40);
}

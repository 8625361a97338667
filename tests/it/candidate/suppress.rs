//! Suppressing what is similar: C-022, XC-31, R-38.

use serde_json::{Value, json};

use super::acting;
use crate::support::{Follower, TestApp, fact, pending, proposal, with};

fn relation(written: &Value) -> &str {
    written["relation"].as_str().unwrap()
}

#[tokio::test]
async fn similar_suggestions_are_suppressed_and_other_facts_are_not_xc31_r38() {
    let app = TestApp::start().await;
    let made = app.tenant("suppress").await;
    let extractor = acting(&app, &made, "extractor").await;
    let id = made.client.candidate("prefers dark mode in the editor").await;
    let decided = made.client.review(&id, "suppress_similar", json!({})).await.expect(200);
    let candidate = &decided["candidate"];
    assert_eq!(
        (&candidate["status"], &candidate["decision_reason"]),
        (&json!("auto_rejected"), &json!("suppress_similar"))
    );
    assert_eq!(candidate["metadata"]["suppress_similar"], true);
    assert_eq!(
        made.client.review(&id, "suppress_similar", json!({})).await.expect(200),
        decided,
        "idempotent"
    );
    for similar in [
        "Prefers dark mode in the editor",
        "prefers the dark mode in the editor",
        "prefers dark mode in an editor",
    ] {
        let written = extractor.propose(pending(similar)).await;
        assert_eq!(relation(&written), "suppressed_by_rejection", "{similar}: {written}");
        assert_eq!(written["candidate"]["reason"], "suppressed_duplicate");
    }
    for other in [
        "dislikes dark mode in the editor",
        "prefers no dark mode in the editor",
        "prefers dark mode in the editor 2",
        "prefers dark mode in the editor at Bob's",
        "prefers light mode in the terminal",
        "drinks coffee in the morning",
    ] {
        assert_eq!(relation(&extractor.propose(pending(other)).await), "novel", "{other}");
    }
    let elsewhere = json!({ "scope": { "kind": "user", "key": "bob" } });
    let written = extractor.propose(with(pending("prefers dark mode in the editor"), elsewhere)).await;
    assert_eq!(relation(&written), "novel", "another scope");
    made.client
        .remember(with(fact("prefers dark mode in the editor"), json!({ "category": "preference" })))
        .await;
    assert_eq!(made.client.found("dark mode").await.len(), 1, "an explicit remember is never suppressed");
}

/// XC-32, XC-33: the first suppressed write is told, the others are counted.
#[tokio::test]
async fn a_suppressed_write_is_one_row_and_one_event_xc32_xc33() {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("suppress").await;
    let address = app.serve().await;
    made.client.suppressed("Likes the sea.").await;
    let mut events = Follower::open(true, address, &made.capability, Some(0)).await;
    assert_eq!(events.told().await["params"]["candidate"]["status"], "pending", "as it was proposed");
    let first = made.client.propose(proposal("Likes the sea.")).await;
    let second = made.client.propose(proposal("Likes the sea.")).await;
    assert_eq!(first["candidate"]["id"], second["candidate"]["id"]);
    assert_eq!(second["candidate"]["metadata"]["lifecycle"]["repeats"], 1);
    let told = events.told().await;
    assert_eq!(
        (&told["method"], &told["params"]["candidate"]["id"]),
        (&json!("memory/candidate_created"), &first["candidate"]["id"])
    );
    // An approval on its own is told as a record only.
    let approved = made.client.propose(super::identity("Ada")).await;
    let told = events.told().await;
    assert_eq!(
        (&told["method"], &told["params"]["memory_id"]),
        (&json!("memory/changed"), &approved["record"]["id"])
    );
    assert_eq!(events.told_within(std::time::Duration::from_millis(400)).await, None);
}

/// Rejecting first and suppressing later still suppresses.
#[tokio::test]
async fn a_rejected_candidate_can_be_suppressed_too() {
    let app = TestApp::start().await;
    let made = app.tenant("suppress").await;
    let id = made.client.candidate("prefers dark mode in the editor").await;
    made.client.review(&id, "reject", json!({})).await.expect(200);
    assert_eq!(relation(&made.client.propose(pending("prefers the dark mode in the editor")).await), "novel");
    let decided = made.client.review(&id, "suppress_similar", json!({})).await.expect(200);
    assert_eq!(decided["candidate"]["status"], "rejected", "what it is, it stays");
    let written = made.client.propose(pending("prefers dark mode in an editor")).await;
    assert_eq!(relation(&written), "suppressed_by_rejection");
}

//! Listing candidates: C-015, C-016, C141, C143.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{acting, identity};
use crate::support::{TestApp, each, pending, proposal, with};

#[tokio::test]
async fn every_candidate_is_listed_once_newest_first_c141() {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("list").await;
    let mut ids = Vec::new();
    for at in 0..25 {
        ids.push(Value::String(made.client.candidate(&format!("Fact {at}.")).await));
    }
    ids.reverse();
    for limit in [1, 7, 25, 50] {
        let (mut found, mut cursor) = (Vec::new(), Value::Null);
        loop {
            let params = json!({ "limit": limit, "cursor": cursor });
            let page = made.client.call("memory/candidates/list", params).await;
            found.extend(each(&page["candidates"], "id").into_iter().cloned());
            match page.get("next_cursor") {
                Some(next) => cursor = next.clone(),
                None => break,
            }
        }
        assert_eq!(found, ids, "{limit}");
    }
    let page = made.client.get("/v1/memory/candidates?limit=2").await.expect(200);
    let cursor = page["next_cursor"].as_str().unwrap();
    for other in [format!("status=pending&cursor={cursor}"), format!("scope=user:bob&cursor={cursor}")] {
        made.client.get(&format!("/v1/memory/candidates?{other}")).await.names(400, "cursor");
    }
    let foreign = app.tenant("foreign").await;
    foreign.client.get(&format!("/v1/memory/candidates?cursor={cursor}")).await.names(400, "cursor");
    made.client.get(&format!("/v1/memory/items?cursor={cursor}")).await.names(400, "cursor");
}

/// C118: what the policy rejected is visible with its score and evidence, and not as pending.
#[tokio::test]
async fn filters_tell_states_scopes_and_categories_apart_c015_c118() {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("list").await;
    let assistant = acting(&app, &made, "assistant").await;
    let middle = assistant.propose(proposal("Prefers short answers.")).await["candidate"].clone();
    let waiting = made.client.candidate("Likes the sea.").await;
    let approved = made.client.propose(identity("Ada")).await["candidate"].clone();
    let bob = json!({ "scope": { "kind": "user", "key": "bob" } });
    let bob = made.client.propose(with(pending("Likes tea."), bob)).await["candidate"].clone();
    let listed = async |question: &str| {
        let page = made.client.get(&format!("/v1/memory/candidates?{question}")).await.expect(200);
        page["candidates"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| c["id"].as_str().unwrap().to_owned())
            .collect::<BTreeSet<_>>()
    };
    let set = |ids: &[&Value]| ids.iter().map(|id| id.as_str().unwrap().to_owned()).collect::<BTreeSet<_>>();
    let waiting = json!(waiting);
    assert_eq!(listed("").await, set(&[&middle["id"], &waiting, &approved["id"], &bob["id"]]));
    assert_eq!(listed("status=pending").await, set(&[&waiting, &bob["id"]]));
    assert_eq!(listed("status=review_disabled_rejected").await, set(&[&middle["id"]]));
    assert_eq!(
        listed("status=approved&status=pending&scope=user:alice").await,
        set(&[&waiting, &approved["id"]])
    );
    assert_eq!(listed("category=identity").await, set(&[&approved["id"]]));
    assert!(middle["score"].as_f64().unwrap() > 0.2 && middle["evidence"][0]["quote"].is_string());
    let none = made.client.call("memory/candidates/list", json!({ "statuses": [] })).await;
    assert_eq!(none["candidates"], json!([]), "R-45");
    made.client
        .refused("memory/candidates/list", json!({ "statuses": ["open"] }), -32602, "invalid_request")
        .await;
    made.client.refused("memory/candidates/list", json!({ "limit": 0 }), -32602, "invalid_request").await;
    let found = made.client.call("memory/candidates/get", json!({ "candidate_id": waiting })).await;
    assert_eq!(found["candidate"]["candidate_text"], "Likes the sea.", "C-016");
}

/// C-050 to C-059: each status by its exact name.
#[tokio::test]
async fn every_status_can_be_reached_by_its_name_c050_c059() {
    let app = TestApp::start_lexical().await;
    let off = app.tenant("off").await;
    let on = super::reviewed(&app, "on").await;
    let (assistant_off, assistant_on) =
        (acting(&app, &off, "assistant").await, acting(&app, &on, "assistant").await);
    let of = |written: Value| written["candidate"]["status"].as_str().unwrap().to_owned();
    let mut reached = BTreeSet::new();
    reached.insert(of(off.client.propose(pending("One.")).await));
    reached.insert(of(assistant_on.propose(proposal("Two.")).await));
    reached.insert(of(assistant_off.propose(proposal("Three.")).await));
    let implied =
        super::meaning(identity("Zoe"), json!({ "explicitness": "implicit", "attribute": "birthday" }));
    reached.insert(of(on.client.propose(implied).await));
    reached.insert(of(on.client.propose(identity("Ada")).await));
    reached.insert(of(on.client.propose(identity("Eve")).await));
    let transient = super::meaning(identity("Ada"), json!({ "durability": "transient" }));
    reached.insert(of(off.client.propose(transient).await));
    for (act, body) in [("reject", json!({})), ("decide", json!({ "decision": "expire" }))] {
        let id = off.client.candidate(&format!("To {act}.")).await;
        reached.insert(of(off.client.review(&id, act, body).await.expect(200)));
    }
    let (id, twin) = (off.client.candidate("Four.").await, off.client.candidate("Five.").await);
    let merged = off.client.review(&id, "merge", json!({ "target_candidate_id": twin })).await.expect(200);
    reached.insert(of(merged));
    let all = [
        "approved",
        "ask_on_use",
        "auto_rejected",
        "expired",
        "merged_duplicate",
        "needs_review",
        "pending",
        "pending_silent",
        "rejected",
        "review_disabled_rejected",
    ];
    assert_eq!(reached, all.iter().map(|status| (*status).to_owned()).collect());
}

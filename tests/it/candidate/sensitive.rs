//! What is more sensitive than what it meets raises that, and reaches nobody it may not (R-57, XC-38).

use serde_json::{Value, json};

use super::{identity, meaning};
use crate::support::{Client, Made, TestApp, with};

const SECRET: &str = "heliotrope";

/// A tenant, and a caller of it that may not see what is personal.
async fn start() -> (TestApp, Made, Client) {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("sensitive").await;
    let normal = json!({ "namespace": "default", "sensitivity": ["normal"], "control": true });
    let normal = app.anyone().capability(&app.exchange(&made.key, normal).await);
    (app, made, normal)
}

/// The same fact in other words, which are personal.
fn personal(disposition: &str) -> Value {
    let words = json!({
        "content": "Ada, who grows heliotrope.", "evidence": [{ "quote": "I grow heliotrope" }],
        "confidence": 0.5, "disposition": disposition,
    });
    with(meaning(identity("Ada"), json!({ "sensitivity": "personal" })), words)
}

fn plain(disposition: &str) -> Value {
    with(identity("Ada"), json!({ "disposition": disposition }))
}

fn id_of(written: &Value) -> String {
    written["candidate"]["id"].as_str().unwrap_or_else(|| panic!("{written}")).to_owned()
}

fn path(id: &str) -> String {
    format!("/v1/memory/candidates/{id}")
}

/// Nothing that the caller may read says it.
async fn sees_nothing(normal: &Client) {
    for list in ["/v1/memory/candidates?limit=100", "/v1/memory/items?limit=100"] {
        let all = normal.get(list).await.expect(200).to_string();
        assert!(!all.contains(SECRET), "{all}");
    }
}

#[tokio::test]
async fn a_personal_write_that_settles_a_candidate_makes_it_personal() {
    let (_app, made, normal) = start().await;
    let id = id_of(&made.client.propose(plain("create_pending_candidate")).await);
    normal.get(&path(&id)).await.expect(200);
    let settled = made.client.propose(personal("accept_active")).await;
    assert_eq!((id_of(&settled), &settled["candidate"]["status"]), (id.clone(), &json!("approved")));
    let read = made.client.get(&path(&id)).await.expect(200);
    assert_eq!(read["candidate"], settled["candidate"], "what was answered is what was stored");
    assert_eq!(
        (&read["candidate"]["confidence"], &read["candidate"]["reason"]),
        (&json!(0.5), &json!("accepted_as_asked"))
    );
    normal.get(&path(&id)).await.refused(404, "not_found");
    sees_nothing(&normal).await;
}

#[tokio::test]
async fn evidence_of_a_personal_write_makes_a_candidate_personal() {
    let (_app, made, normal) = start().await;
    let id = id_of(&made.client.propose(plain("create_pending_candidate")).await);
    let more = made.client.propose(personal("create_pending_candidate")).await;
    assert_eq!((id_of(&more), &more["evidence_merged"]), (id.clone(), &json!(true)));
    normal.get(&path(&id)).await.refused(404, "not_found");
    normal.review(&id, "reject", json!({})).await.refused(404, "not_found");
    sees_nothing(&normal).await;
    let decided = made.client.review(&id, "approve", json!({})).await.expect(200);
    assert_eq!(decided["record"]["sensitivity"], "personal", "what is made of it is personal too");
    sees_nothing(&normal).await;
}

#[tokio::test]
async fn evidence_of_a_personal_write_makes_a_record_personal() {
    let (_app, made, normal) = start().await;
    let first = made.client.propose(plain("accept_active")).await;
    let item = format!("/v1/memory/items/{}", first["record"]["id"].as_str().unwrap());
    let more = made.client.propose(personal("accept_active")).await;
    assert_eq!((&more["record"]["id"], &more["evidence_merged"]), (&first["record"]["id"], &json!(true)));
    assert_eq!(more["record"]["sensitivity"], "personal");
    normal.get(&item).await.refused(404, "not_found");
    sees_nothing(&normal).await;
}

#[tokio::test]
async fn who_may_not_see_a_candidate_does_not_meet_it() {
    let (_app, made, normal) = start().await;
    let id = id_of(&made.client.propose(personal("create_pending_candidate")).await);
    let before = made.client.get(&path(&id)).await.expect(200);
    for disposition in ["create_pending_candidate", "accept_active"] {
        normal.post("/v1/memory/semantic_write", plain(disposition)).await.refused(403, "forbidden");
    }
    assert_eq!(made.client.get(&path(&id)).await.expect(200), before);
    // Nor one that was rejected and would be counted.
    let rejected =
        meaning(personal("route_to_candidate_policy"), json!({ "certainty": "low", "attribute": "custom" }));
    let like = meaning(
        personal("route_to_candidate_policy"),
        json!({ "certainty": "low", "attribute": "custom", "sensitivity": "none" }),
    );
    let rejected = made.client.propose(with(rejected, json!({ "source_context_kind": "tool_result" }))).await;
    assert_eq!(rejected["candidate"]["status"], "review_disabled_rejected", "{rejected}");
    normal
        .post("/v1/memory/semantic_write", with(like, json!({ "source_context_kind": "tool_result" })))
        .await
        .refused(403, "forbidden");
}

#[tokio::test]
async fn what_is_merged_into_a_plain_one_makes_it_personal() {
    let (_app, made, normal) = start().await;
    let plain_one = made.client.candidate("Likes the sea.").await;
    let first = id_of(&made.client.propose(personal("create_pending_candidate")).await);
    let into = json!({ "target_candidate_id": plain_one });
    made.client.review(&first, "merge", into).await.expect(200);
    normal.get(&path(&plain_one)).await.refused(404, "not_found");
    let second = id_of(&made.client.propose(personal("create_pending_candidate")).await);
    let record = made.client.remember(crate::support::fact("Plain.")).await;
    let into = json!({ "target_memory_id": record["id"] });
    let decided = made.client.review(&second, "merge", into).await.expect(200);
    assert_eq!(decided["record"]["sensitivity"], "personal");
    sees_nothing(&normal).await;
}

/// who may propose and not read is told of what others wrote that it is there, and no more.
#[tokio::test]
async fn a_record_is_shown_to_who_may_read_it_r14() {
    let (app, made, _) = start().await;
    let known = made.client.propose(with(identity("Ada"), json!({ "metadata": { "mine": SECRET } }))).await;
    let proposer = json!({ "namespace": "default", "capabilities": { "memory.candidates": ["write"] } });
    let proposer = app.anyone().capability(&app.exchange(&made.key, proposer).await);
    let again = proposer.propose(with(identity("ADA"), json!({ "content": "Call me Ada." }))).await;
    assert_eq!((&again["relation"], again.get("record")), (&json!("duplicate"), None), "{again}");
    let own = proposer.propose(identity("ada")).await;
    assert!(own.get("record").is_none() && !own.to_string().contains(SECRET), "{own}");
    assert_eq!(made.client.propose(identity("Ada")).await["record"]["id"], known["record"]["id"]);
}

/// An approval that is repeated does not bring back what was forgotten meanwhile.
#[tokio::test]
async fn a_repeated_approval_does_not_tell_what_was_forgotten() {
    let (_app, made, _) = start().await;
    let id = made.client.candidate("Grows heliotrope.").await;
    let approved = made.client.review(&id, "approve", json!({})).await.expect(200);
    let record = approved["record"]["id"].as_str().unwrap();
    made.client.delete(&format!("/v1/memory/items/{record}")).await.expect(200);
    let again = made.client.review(&id, "approve", json!({})).await.expect(200);
    assert_eq!((&again["candidate"]["status"], again.get("record")), (&json!("approved"), None));
}

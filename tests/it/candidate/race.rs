//! Two at once: exactly one decides (PC-39), and equal proposals are one candidate.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::identity;
use crate::support::wire::at_once;
use crate::support::{TestApp, pending, with};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_deciders_one_wins_and_the_other_is_told() {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("race").await;
    for round in 0..20 {
        let id = made.client.candidate(&format!("Fact {round}.")).await;
        let acts =
            [("approve", json!({})), ("reject", json!({})), ("decide", json!({ "decision": "expire" }))];
        let replies = at_once(acts.into_iter().map(|(act, body)| {
            let (client, id) = (made.client.clone(), id.clone());
            async move { client.review(&id, act, body).await }
        }))
        .await;
        let (won, lost): (Vec<_>, Vec<_>) = replies.into_iter().partition(|reply| reply.status == 200);
        assert_eq!((won.len(), lost.len()), (1, 2));
        for reply in lost {
            reply.refused(409, "not_pending");
        }
        let candidate = made.client.get(&format!("/v1/memory/candidates/{id}")).await.expect(200);
        assert_eq!(candidate["candidate"], won[0].body["candidate"]);
        let records = made.client.listed("limit=100").await.len();
        let approved = made.client.get("/v1/memory/candidates?status=approved&limit=100").await.expect(200);
        assert_eq!(
            records,
            approved["candidates"].as_array().unwrap().len(),
            "status and memory agree (C112)"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn equal_proposals_at_once_are_one_candidate_or_record() {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("race").await;
    let propose = |proposal: Value, count: usize| {
        let client = made.client.clone();
        at_once((0..count).map(move |at| {
            let (client, mut proposal) = (client.clone(), proposal.clone());
            proposal["evidence"] = json!([{ "source_ref": at.to_string(), "quote": "x" }]);
            async move { client.propose(proposal).await }
        }))
    };
    let written = propose(pending("Likes the sea."), 12).await;
    let ids: BTreeSet<String> = written.iter().map(|w| w["candidate"]["id"].to_string()).collect();
    assert_eq!(ids.len(), 1);
    assert_eq!(written.iter().filter(|w| w["created"] == true).count(), 1);
    let found = made.client.get("/v1/memory/candidates").await.expect(200);
    assert_eq!(found["candidates"][0]["evidence"].as_array().unwrap().len(), 12, "no evidence is lost");
    let written = propose(identity("Ada"), 12).await;
    let ids: BTreeSet<String> = written.iter().map(|w| w["record"]["id"].to_string()).collect();
    assert_eq!(ids.len(), 1, "{written:?}");
    let accept = json!({ "disposition": "accept_active" });
    let names: Vec<Value> = (0..6).map(|at| with(identity(&format!("Name{at}")), accept.clone())).collect();
    let written = at_once(names.into_iter().map(|name| {
        let client = made.client.clone();
        async move { client.propose(name).await }
    }))
    .await;
    assert!(written.iter().all(|w| w["relation"] == "compatible_update"), "{written:?}");
    let active = made.client.listed("category=identity").await;
    assert_eq!(active.len(), 1, "one value of a single fact is active");
}

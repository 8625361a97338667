//! One order under concurrency: XB-66.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{THOUGHT, one_of_each, started};
use crate::support::wire::at_once;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_thoughts_at_once_are_numbered_1_to_64_xb66() {
    let (_app, made) = started().await;
    let id = made.client.session("A goal.").await;
    let replies = at_once((0..64).map(|at| {
        let body = json!({ "session_id": id, "content": format!("Thought {at}.") });
        let once = made.client.with("idempotency-key", &format!("k{at}"));
        async move { (once.post_until_answered(THOUGHT, body.clone()).await, once, body) }
    }))
    .await;
    let mut seqs = Vec::new();
    for (reply, once, body) in replies {
        let again = once.post(THOUGHT, body).await;
        assert_eq!(again.headers["idempotent-replayed"], "true");
        assert_eq!(again.text, reply.text);
        seqs.push(reply.expect(200)["thought"]["seq"].as_i64().unwrap());
    }
    seqs.sort_unstable();
    assert_eq!(seqs, (1..=64).collect::<Vec<_>>());
    let entries = made.client.whole_timeline(&id).await;
    let read: Vec<i64> = entries.iter().map(|entry| entry["seq"].as_i64().unwrap()).collect();
    assert_eq!(read, seqs, "and a retry adds none");
    assert_eq!(made.client.look_at(&id).await["thought_count"], 64);
}

/// The same request at once, many times: one entry.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_key_at_once_is_one_entry_xb71() {
    let (_app, made) = started().await;
    let id = made.client.session("A goal.").await;
    let replies = at_once((0..16).map(|_| {
        let once = made.client.with("idempotency-key", "the-same");
        let body = json!({ "session_id": id, "content": "One thought." });
        async move { once.post_until_answered(THOUGHT, body).await }
    }))
    .await;
    assert!(replies.iter().all(|reply| reply.status == StatusCode::OK && reply.text == replies[0].text));
    assert_eq!(made.client.whole_timeline(&id).await.len(), 1);
}

/// All kinds, in two sessions, over two nodes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_and_kinds_share_the_counter_of_a_session_xb66() {
    let (app, made) = started().await;
    let (other, router) = app.second_node().await;
    let clients = [made.client.clone(), crate::support::Client::new(router).capability(&made.capability)];
    let sessions = [made.client.session("One.").await, made.client.session("Two.").await];
    at_once((0..60).map(|at| {
        let (path, body) = one_of_each(&sessions[at % 2])[at % 3].clone();
        let client = clients[(at / 2) % 2].clone();
        async move { client.post_until_answered(path, body).await.expect(200) }
    }))
    .await;
    for session in &sessions {
        let entries = made.client.whole_timeline(session).await;
        let seqs: Vec<&Value> = entries.iter().map(|entry| &entry["seq"]).collect();
        assert_eq!(seqs, (1..=30).collect::<Vec<i32>>());
    }
    other.stop();
}

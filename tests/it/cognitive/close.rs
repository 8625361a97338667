//! Closing a session: XB-69, R-50.

use serde_json::{Value, json};

use super::{SESSION, SESSIONS, holding, one_of_each, started};
use crate::support::wire::at_once;
use crate::support::{Client, Follower, Reply};

impl Client {
    /// Closes a session.
    pub async fn close_session(&self, session: &str, body: Value) -> Reply {
        self.post(&format!("{SESSION}/{session}/close"), body).await
    }
}

#[tokio::test]
async fn a_session_is_closed_once_xb69_r50() {
    let (app, made) = started().await;
    for (outcome, body) in [
        ("completed", json!({})),
        ("completed", json!({ "outcome": "completed", "sdk": "1.0" })),
        ("abandoned", json!({ "outcome": "abandoned" })),
        ("failed", json!({ "outcome": "failed", "summary": "It could\nnot be done." })),
    ] {
        let id = made.client.session("A goal.").await;
        made.client.think(&id, "A thought.").await;
        app.pass(5.0);
        let closed = made.client.close_session(&id, body.clone()).await.expect(200);
        assert_eq!(closed.as_object().unwrap().keys().collect::<Vec<_>>(), ["session"]);
        let session = &closed["session"];
        assert_eq!((&session["status"], &session["outcome"]), (&json!("closed"), &json!(outcome)));
        assert_eq!(session["closed_at"], session["updated_at"]);
        assert!(session["closed_at"].as_i64() > session["created_at"].as_i64());
        assert_eq!(session.get("summary"), body.get("summary"));
        assert_eq!(made.client.look_at(&id).await, *session);
        app.pass(5.0);
        let again = made.client.close_session(&id, body).await.expect(200);
        assert_eq!(again, closed, "the same outcome again changes nothing");
        let other = if outcome == "failed" { "completed" } else { "failed" };
        made.client.close_session(&id, json!({ "outcome": other })).await.refused(409, "conflict");
        made.client
            .close_session(&id, json!({ "outcome": other, "consolidate": true }))
            .await
            .refused(409, "conflict");
        for (path, body) in one_of_each(&id) {
            made.client.post(path, body).await.refused(409, "conflict");
        }
        assert_eq!(made.client.whole_timeline(&id).await.len(), 1);
    }
    let active = made.client.session("Another.").await;
    for (status, count) in [("closed", 4), ("active", 1)] {
        let listed = made.client.get(&format!("{SESSIONS}?status={status}")).await.expect(200);
        assert_eq!(listed["sessions"].as_array().unwrap().len(), count, "{status}");
    }
    made.client.close_session(&active, json!({ "outcome": "won" })).await.refused(400, "invalid_request");
    let long = json!({ "summary": "s".repeat(65_537) });
    made.client.close_session(&active, long).await.names(400, "summary");
    made.client.close_session(super::NO_SESSION, json!({})).await.refused(404, "not_found");
    made.client.close_session("no-id", json!({})).await.names(400, "id");
    assert_eq!(made.client.look_at(&active).await["status"], "active");
}

#[tokio::test]
async fn closing_takes_a_key_and_no_body_xb69_r11() {
    let (app, made) = started().await;
    let id = made.client.session("A goal.").await;
    let once = made.client.with("idempotency-key", "k");
    let first = once.close_session(&id, json!({ "summary": "Done." })).await;
    let again = once.close_session(&id, json!({ "summary": "Done." })).await;
    assert_eq!((again.headers["idempotent-replayed"].to_str().unwrap(), &again.text), ("true", &first.text));
    once.close_session(&id, json!({ "outcome": "failed" })).await.refused(422, "idempotency_mismatch");
    let other = made.client.session("Another.").await;
    let path = format!("{SESSION}/{other}/close");
    made.client.send(axum::http::Method::POST, &path, None).await.expect(200);
    let reader = holding(&app, &made, "default", json!({ "memory.cognitive": ["read"] })).await;
    reader.close_session(&other, json!({})).await.refused(403, "forbidden");
}

/// Of writers and of closers at once: each write is either in the session or refused, and one outcome stands.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_close_among_writers_leaves_no_gap_xb66_xb69() {
    let (_app, made) = started().await;
    let id = made.client.session("A goal.").await;
    let replies = at_once((0..40).map(|at| {
        let (client, id) = (made.client.clone(), id.clone());
        async move {
            match at {
                20 => client.close_session(&id, json!({ "outcome": "failed" })).await,
                25 => client.close_session(&id, json!({ "outcome": "completed" })).await,
                _ => {
                    let (path, body) = one_of_each(&id)[at % 3].clone();
                    client.post_until_answered(path, body).await
                }
            }
        }
    }))
    .await;
    let written =
        replies.iter().enumerate().filter(|(at, reply)| ![20, 25].contains(at) && reply.status == 200);
    let written = written.count();
    assert!(replies.iter().all(|reply| reply.status == 200 || reply.status == 409));
    assert_eq!([20, 25].iter().filter(|&&at: &&usize| replies[at].status == 200).count(), 1);
    let seqs: Vec<Value> =
        made.client.whole_timeline(&id).await.iter().map(|entry| entry["seq"].clone()).collect();
    assert_eq!(seqs, (1..=written).map(|seq| json!(seq)).collect::<Vec<_>>());
}

/// The end is told after the last entry, with the session as it has been since.
#[tokio::test]
async fn the_end_of_a_session_is_told_r29() {
    let (app, made) = started().await;
    let address = app.serve().await;
    let id = made.client.session("A goal.").await;
    made.client.think(&id, "A thought.").await;
    let closed = made.client.close_session(&id, json!({ "summary": "Done." })).await.expect(200);
    made.client.close_session(&id, json!({})).await.expect(200);
    for is_socket in [false, true] {
        let mut reader = Follower::open(is_socket, address, &made.capability, Some(0)).await;
        let started = reader.told().await;
        assert_eq!(started["params"]["session"]["status"], "active", "as it was then");
        assert_eq!(started["params"]["session"].get("summary"), None);
        assert_eq!(reader.told().await["method"], "cognitive/entry_added");
        let told = reader.told().await;
        assert_eq!(told["method"], "cognitive/session_closed");
        assert_eq!(told["params"]["session"], closed["session"]);
        let quiet = reader.told_within(std::time::Duration::from_millis(300)).await;
        assert_eq!(quiet, None, "once");
    }
}

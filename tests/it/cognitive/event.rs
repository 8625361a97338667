//! Sessions on the stream of changes.

use std::time::Duration;

use serde_json::{Value, json};

use super::{THOUGHT, one_of_each, started};
use crate::support::wire::at_once;
use crate::support::{Follower, fact};

const QUIET: Duration = Duration::from_millis(400);

/// Sessions and records share the numbers of their namespace; each event holds what was answered.
#[tokio::test]
async fn what_happens_in_a_session_is_told_in_order_r29() {
    let (app, made) = started().await;
    let address = app.serve().await;
    let mut readers = Vec::new();
    for is_socket in [false, true] {
        readers.push(Follower::open(is_socket, address, &made.capability, None).await);
    }
    let session = made.client.begin("A goal.").await;
    let id = session["id"].as_str().unwrap();
    made.client.remember(fact("Tea.")).await;
    let mut written = Vec::new();
    for (path, body) in one_of_each(id) {
        let kind = path.rsplit('/').next().unwrap();
        let mut entry = made.client.post(path, body).await.expect(200)[kind].clone();
        entry["type"] = json!(kind);
        written.push(entry);
    }
    for reader in &mut readers {
        let mut told = Vec::new();
        for seq in 1..=5 {
            let next = reader.told().await;
            assert_eq!(
                (&next["params"]["seq"], &next["params"]["namespace"]),
                (&json!(seq), &json!("default"))
            );
            assert!(next["params"]["at"].is_i64());
            told.push(next);
        }
        assert_eq!(
            (&told[0]["method"], &told[0]["params"]["session"]),
            (&json!("cognitive/session_started"), &session)
        );
        assert_eq!(told[1]["method"], "memory/changed");
        for (told, entry) in told[2..].iter().zip(&written) {
            assert_eq!((&told["method"], &told["params"]["entry"]), (&json!("cognitive/entry_added"), entry));
            assert_eq!(told["params"]["session_id"], id);
        }
    }
    // Who comes later is told of the session as it was when it started.
    let mut late = Follower::open(true, address, &made.capability, Some(0)).await;
    assert_eq!(late.told().await["params"]["session"], session);
    let mut resumed = Follower::open(false, address, &made.capability, Some(3)).await;
    assert_eq!(resumed.told().await["params"]["entry"], written[1]);
}

/// Without the right to read sessions they are not told of; scopes do not bind them; nor are foreigners told.
#[tokio::test]
async fn sessions_are_told_to_who_may_read_them_r32() {
    let (app, made) = started().await;
    let foreign = app.tenant("foreign").await;
    let address = app.serve().await;
    let scope = json!([{ "kind": "user", "key": "alice" }]);
    let token = async |rights: Value, more: Value| {
        let mut request = json!({ "namespace": "default", "capabilities": rights });
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        app.exchange(&made.key, request).await
    };
    let both = json!({ "memory.events": ["read"], "memory.cognitive": ["read"] });
    let tokens = [
        (token(both.clone(), json!({})).await, true),
        (token(both.clone(), json!({ "scopes": scope, "sensitivity": ["normal"] })).await, true),
        (token(json!({ "memory.events": ["read"], "memory.durable": ["read"] }), json!({})).await, false),
        (token(json!({ "memory.events": ["read"], "memory.cognitive": ["write"] }), json!({})).await, false),
        (token(both, json!({ "namespace": "other" })).await, false),
        (foreign.capability.clone(), false),
    ];
    let id = made.client.session("A goal.").await;
    made.client.think(&id, "A thought.").await;
    for (token, is_told) in tokens {
        for is_socket in [false, true] {
            let mut reader = Follower::open(is_socket, address, &token, Some(0)).await;
            let told = reader.told_within(QUIET).await;
            assert_eq!(told.is_some(), is_told, "{told:?}");
            if is_told {
                assert_eq!(reader.told().await["params"]["entry"]["content"], "A thought.");
            }
        }
    }
}

/// The outbox holds no text: it is read when it is told.
#[tokio::test]
async fn an_event_of_a_session_copies_no_text() {
    let (app, made) = started().await;
    let id = made.client.session("Kept in one place.").await;
    made.client.think(&id, "Kept in one place.").await;
    let mut superuser = app.db.superuser().await;
    let sql = "SELECT count(*), count(*) FILTER (WHERE e::text LIKE '%one place%') FROM events e";
    let counts: (i64, i64) = sqlx::query_as(sql).fetch_one(&mut superuser).await.unwrap();
    assert_eq!(counts, (2, 0));
}

/// Writers who wait for the session began before those they wait for: their entries are told in order all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn entries_at_once_are_told_in_their_order_r29() {
    let (app, made) = started().await;
    let address = app.serve().await;
    let id = made.client.session("A goal.").await;
    let mut readers = Vec::new();
    for is_socket in [false, true] {
        readers.push(Follower::open(is_socket, address, &made.capability, Some(0)).await);
    }
    at_once((0..8).map(|_| {
        let (client, id) = (made.client.clone(), id.clone());
        async move {
            for _ in 0..15 {
                let body = json!({ "session_id": id, "content": "A thought." });
                client.post_until_answered(THOUGHT, body).await.expect(200);
            }
        }
    }))
    .await;
    for reader in &mut readers {
        assert_eq!(reader.told().await["method"], "cognitive/session_started");
        for seq in 1..=120 {
            let told = reader.told().await;
            assert_eq!(told["params"]["entry"]["seq"], seq, "{told}");
        }
    }
}

//! Going on from a number: R-29.

use std::time::Duration;

use chrono::TimeDelta;
use serde_json::json;

use super::{holding, served};
use crate::support::{Follower, Socket, Sse, fact};

const QUIET: Duration = Duration::from_millis(400);

#[tokio::test]
async fn a_resume_repeats_nothing_and_misses_nothing_r29() {
    let (_app, made, address) = served().await;
    for content in ["One.", "Two.", "Three.", "Four."] {
        made.client.remember(fact(content)).await;
    }
    for is_socket in [false, true] {
        let mut all = Follower::open(is_socket, address, &made.capability, Some(0)).await;
        for seq in 1..=4 {
            assert_eq!(all.told().await["params"]["seq"], seq);
        }
        let mut rest = Follower::open(is_socket, address, &made.capability, Some(2)).await;
        assert_eq!(rest.told().await["params"]["seq"], 3);
        assert_eq!(rest.told().await["params"]["seq"], 4);
        let mut from_now = Follower::open(is_socket, address, &made.capability, None).await;
        assert_eq!(from_now.told_within(QUIET).await, None);
        let mut last = Follower::open(is_socket, address, &made.capability, Some(4)).await;
        assert_eq!(last.told_within(QUIET).await, None);
    }
}

#[tokio::test]
async fn numbers_that_are_none_or_not_there_yet_are_refused_r29() {
    let (_app, made, address) = served().await;
    made.client.remember(fact("One.")).await;
    let mut reader = Follower::open(false, address, &made.capability, Some(0)).await;
    reader.told().await;
    for after in ["2", "-1", "1.0", "x", "", "99999999999999999999", " 1", "+1"] {
        if !after.contains(' ') {
            let mut socket =
                Socket::open(address, &made.capability, &format!("?after={after}")).await.unwrap();
            assert_eq!(socket.closed().await, 4400, "{after}");
        }
        let refused = Sse::open(address, &made.capability, Some(after)).await.err();
        let is_refused = refused == Some((400, "invalid_request".to_owned()));
        // White space around a header's value is no part of it.
        assert!(is_refused || after == " 1", "{after}: {refused:?}");
        let path = format!("/v1/memory/events?after={}", after.replace(' ', "%20").replace('+', "%2B"));
        made.client.get(&path).await.refused(400, "invalid_request");
    }
    made.client.get("/v1/memory/events?since=1").await.refused(400, "invalid_request");
}

#[tokio::test]
async fn events_are_kept_for_seven_days_and_then_410_r29() {
    let (app, made, address) = served().await;
    for content in ["One.", "Two."] {
        made.client.remember(fact(content)).await;
    }
    Follower::open(false, address, &made.capability, Some(0)).await.told().await;
    // Tokens end sooner, so that another one is bought afterwards.
    app.app.clock.shift(TimeDelta::days(7) - TimeDelta::minutes(5));
    let client = app.anyone().capability(&holding(&app, &made, json!({})).await);
    client.remember(fact("Three.")).await;
    memtide::job::tidy(&app.app).await;
    let token = holding(&app, &made, json!({})).await;
    let mut all = Follower::open(true, address, &token, Some(0)).await;
    for seq in 1..=3 {
        assert_eq!(all.told().await["params"]["seq"], seq);
    }
    app.app.clock.shift(TimeDelta::minutes(6));
    // Before the purge has run, and after.
    for is_purged in [false, true] {
        if is_purged {
            memtide::job::tidy(&app.app).await;
        }
        let token = holding(&app, &made, json!({})).await;
        let mut oldest = Follower::open(false, address, &token, Some(0)).await;
        assert_eq!(oldest.told().await["params"]["seq"], 3);
        let mut just = Follower::open(true, address, &token, Some(2)).await;
        assert_eq!(just.told().await["params"]["seq"], 3);
        let refused = Sse::open(address, &token, Some("1")).await.err();
        assert_eq!(refused, Some((410, "cursor_expired".to_owned())));
        let mut socket = Socket::open(address, &token, "?after=1").await.unwrap();
        assert_eq!(socket.closed().await, 4410);
    }
}

/// A token that may not read events is refused a stream, but may hold a connection.
#[tokio::test]
async fn following_needs_the_right_to_events_r30() {
    let (app, made, address) = served().await;
    let token = holding(&app, &made, json!({ "capabilities": { "memory.durable": ["read"] } })).await;
    assert_eq!(Sse::open(address, &token, None).await.err(), Some((403, "forbidden".to_owned())));
    let mut socket = Socket::open(address, &token, "?after=0").await.unwrap();
    assert_eq!(socket.closed().await, 4403);
    let mut socket = Socket::open(address, &token, "").await.unwrap();
    made.client.remember(fact("One.")).await;
    let listed = socket.call("memory/list", json!({})).await;
    assert_eq!(listed["records"][0]["content"], "One.");
    assert_eq!(socket.receive_soon(QUIET).await, None);
}

/// Two nodes on one database: an event written on one is told on the other.
#[tokio::test]
async fn events_of_another_node_are_told() {
    let (app, made, address) = served().await;
    let (other, router) = app.second_node().await;
    let elsewhere = crate::support::Client::new(router).capability(&made.capability);
    let mut readers = Vec::new();
    for is_socket in [false, true] {
        readers.push(Follower::open(is_socket, address, &made.capability, None).await);
    }
    elsewhere.remember(fact("Elsewhere.")).await;
    made.client.remember(fact("Here.")).await;
    for reader in &mut readers {
        assert_eq!(reader.told().await["params"]["record"]["content"], "Elsewhere.");
        assert_eq!(reader.told().await["params"]["record"]["content"], "Here.");
    }
    other.stop();
}

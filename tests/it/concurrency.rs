//! Many callers at once: no lost update, no doubled effect, nothing worse than 503.

use std::collections::{BTreeSet, HashSet};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::support::{Client, Reply, TestApp, fact, id, placed, with};

const ITEMS: &str = "/v1/memory/items";

/// Sends all of them at once, each again while it is told to wait.
async fn all_at_once(requests: impl IntoIterator<Item = (Client, &'static str, Value)>) -> Vec<Reply> {
    let mut tasks = JoinSet::new();
    for (client, path, body) in requests {
        tasks.spawn(async move { client.post_until_answered(path, body).await });
    }
    tasks.join_all().await
}

#[tokio::test]
async fn equal_remembers_at_once_are_one_record_acceptance_7() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let replies = all_at_once((0..50).map(|_| (alice.clone(), ITEMS, placed("The sky is blue.", 1)))).await;
    let ids: HashSet<&str> = replies.iter().map(|reply| id(&reply.body["record"])).collect();
    assert_eq!(ids.len(), 1);
    let created = replies.iter().filter(|reply| reply.status == 201).count();
    assert_eq!(created, 1);
    assert!(replies.iter().all(|reply| [200, 201].contains(&reply.status.as_u16())));
    assert_eq!(alice.listed("").await.len(), 1);
}

#[tokio::test]
async fn one_idempotency_key_at_once_is_one_effect_and_one_body_c063_acceptance_7() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let once = alice.with("idempotency-key", "K");
    let body = with(placed("The sky is blue.", 1), json!({ "context": { "thread_id": "t" } }));
    let replies = all_at_once((0..50).map(|_| (once.clone(), ITEMS, body.clone()))).await;
    let answers: BTreeSet<(u16, &str)> =
        replies.iter().map(|reply| (reply.status.as_u16(), reply.text.as_str())).collect();
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(answers.first().unwrap().0, 201);
    let mut db = app.db.superuser().await;
    let versions: i64 =
        sqlx::query_scalar("SELECT count(*) FROM memory_versions").fetch_one(&mut db).await.unwrap();
    assert_eq!(versions, 1);
}

#[tokio::test]
async fn different_facts_from_two_nodes_are_all_there_c095() {
    let app = TestApp::start().await;
    let made = app.tenant("alice").await;
    let (_, router) = app.second_node().await;
    let other = Client::new(router).capability(&made.capability);
    let requests = (0..200).map(|n| {
        let client = if n % 2 == 0 { made.client.clone() } else { other.clone() };
        (client, ITEMS, placed(&format!("fact number {n}"), n))
    });
    let replies = all_at_once(requests).await;
    assert!(replies.iter().all(|reply| reply.status == 201));
    let mut db = app.db.superuser().await;
    let counted: (i64, i64) = sqlx::query_as(
        "SELECT (SELECT count(*) FROM memories), (SELECT sum(records)::int8 FROM namespace_counts)",
    )
    .fetch_one(&mut db)
    .await
    .unwrap();
    assert_eq!(counted, (200, 200));
    // what one node wrote, the other finds.
    assert_eq!(other.found("fact number 198").await[0], "fact number 198");
}

#[tokio::test]
async fn batches_that_share_keys_in_another_order_do_not_fail() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let batch = |round: usize| {
        let mut items: Vec<Value> = (0..30)
            .map(|n| with(placed(&format!("round {round}"), round), json!({ "key": format!("key {n}") })))
            .collect();
        items.rotate_left(round * 7 % 30);
        if round.is_multiple_of(2) {
            items.reverse();
        }
        json!({ "items": items })
    };
    let replies =
        all_at_once((0..24).map(|round| (alice.clone(), "/v1/memory/items/batch", batch(round)))).await;
    for reply in &replies {
        assert_eq!(reply.status, 200, "{}", reply.text);
        assert!(!reply.text.contains("\"error\""), "{}", reply.text);
    }
    assert_eq!(alice.listed("limit=100").await.len(), 30);
}

#[tokio::test]
async fn changes_of_one_record_at_once_are_all_kept_c095() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let record = alice.remember(with(fact("x"), json!({ "metadata": {} }))).await;
    let path = format!("{ITEMS}/{}", id(&record));
    let mut tasks = JoinSet::new();
    for n in 0..12 {
        let (client, path) = (alice.clone(), path.clone());
        let change = match n % 4 {
            0 => json!({ "content": format!("text {n}") }),
            1 => json!({ "importance": 0.1 * f64::from(n) / 2.0 }),
            2 => json!({ "key": format!("key {n}") }),
            _ => json!({ "metadata": { "n": n } }),
        };
        tasks.spawn(async move { client.patch(&path, change).await.expect(200) });
    }
    let mut versions: Vec<i64> =
        tasks.join_all().await.iter().map(|reply| reply["record"]["version"].as_i64().unwrap()).collect();
    versions.sort_unstable();
    assert_eq!(versions, (2..14).collect::<Vec<_>>());
    let last = alice.get(&path).await.expect(200)["record"].clone();
    assert!(last["content"].as_str().unwrap().starts_with("text"));
    assert!(last["key"].is_string() && last["metadata"]["n"].is_i64());
    let hits = alice.search(json!({ "query": last["content"], "mode": "lexical" })).await;
    assert_eq!(hits[0]["record"]["id"], record["id"]);
}

#[tokio::test]
async fn save_forget_edit_and_restore_at_once_leave_a_valid_state_c095() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let record = alice.remember(with(fact("start"), json!({ "key": "k" }))).await;
    let path = format!("{ITEMS}/{}", id(&record));
    let mut tasks = JoinSet::new();
    for n in 0..40 {
        let (alice, path) = (alice.clone(), path.clone());
        tasks.spawn(async move {
            let reply = match n % 5 {
                0 => alice.delete(&path).await,
                1 => alice.post(&format!("{path}/restore"), json!({})).await,
                2 => alice.patch(&path, json!({ "content": format!("edit {n}") })).await,
                3 => alice.post(ITEMS, with(fact(&format!("save {n}")), json!({ "key": "k" }))).await,
                _ => alice.post(ITEMS, with(fact(&format!("edit {n}")), json!({}))).await,
            };
            let status = reply.status.as_u16();
            assert!([200, 201, 404, 409, 503].contains(&status), "{status} {}", reply.text);
        });
    }
    tasks.join_all().await;
    assert!(alice.listed("scope=user:alice&key=k").await.len() <= 1);
    let mut db = app.db.superuser().await;
    // What is active is indexed, and nothing else; and the counters tell how much that is.
    let wrong: i64 = sqlx::query_scalar(
        "SELECT (SELECT count(*) FROM memories m WHERE (status = 'active') <> EXISTS
                   (SELECT FROM memory_vectors v WHERE v.memory_id = m.memory_id))
              + (SELECT count(*) FROM memories m WHERE (status = 'active') <> EXISTS
                   (SELECT FROM memory_terms t WHERE t.memory_id = m.memory_id))
              + (SELECT count(*) FROM memories m WHERE version <> (SELECT count(*) FROM memory_versions v
                   WHERE v.memory_id = m.memory_id))
              + (SELECT abs(sum(records) - (SELECT count(*) FROM memories WHERE status = 'active'))::int8
                   FROM namespace_counts)",
    )
    .fetch_one(&mut db)
    .await
    .unwrap();
    assert_eq!(wrong, 0);
}

//! A namespace that is searched again and again is searched in memory: the answers stay those of Postgres, and a write
//! is seen by the next search, on every node.

use serde_json::{Value, json};

use crate::support::{Client, TestApp, fact, id, placed};

/// More than a search needs before the vectors are in memory.
const OFTEN: usize = 7;

/// More records than are looked at one by one.
const RECORDS: u16 = 300;

fn question(mode: &str) -> Value {
    json!({ "query": "where is the lamp", "mode": mode, "limit": 20, "explain": true })
}

async fn fill(client: &Client) {
    let items: Vec<Value> = (0..RECORDS)
        .map(|n| {
            let mut item = placed(&format!("lamp {n} stands in room {}", n % 7), n.into());
            // Different distances, so that there is one order.
            item["embedding"][usize::from(n + 1) % 384] = json!(0.001 * f64::from(n));
            item["embedding"][0] = json!(1.0 + f64::from(n) / 50.0);
            item
        })
        .collect();
    for items in items.chunks(items.len() / 2) {
        client.post("/v1/memory/items/batch", json!({ "items": items })).await.expect(200);
    }
}

fn vector(axis: u16) -> Value {
    let value = |at: u16| if at == axis { 1.0 } else { 0.01 * f64::from(at % 5) };
    let values: Vec<f64> = (0..384).map(value).collect();
    json!(values)
}

fn essence(hits: &[Value]) -> Vec<(&str, f64)> {
    hits.iter().map(|hit| (id(&hit["record"]), hit["score"].as_f64().unwrap())).collect()
}

#[tokio::test]
async fn memory_and_postgres_answer_alike() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    fill(&alice).await;
    for mode in ["semantic", "hybrid"] {
        for filter in [json!({}), json!({ "scopes": [{ "kind": "user", "key": "alice" }] })] {
            let mut search = question(mode);
            search["query_embedding"] = vector(3);
            search.as_object_mut().unwrap().extend(filter.as_object().unwrap().clone());
            // A write sends the next search to Postgres.
            let written = alice.remember(placed("nothing of the sort", 200)).await;
            alice.delete(&format!("/v1/memory/items/{}", id(&written))).await.expect(200);
            let first = alice.search(search.clone()).await;
            assert_eq!(first.len(), 20);
            for _ in 0..OFTEN {
                let again = alice.search(search.clone()).await;
                assert_eq!(again.len(), first.len());
                for ((one, score), (other, other_score)) in essence(&first).iter().zip(&essence(&again)) {
                    assert_eq!(one, other);
                    // The last digits of a cosine depend on who adds up.
                    assert!((score - other_score).abs() < 1e-5, "{score} and {other_score}");
                }
            }
        }
    }
}

/// Else the test above would compare Postgres to itself.
#[tokio::test]
async fn a_quiet_namespace_is_searched_in_memory_until_it_is_written_to() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    fill(&alice).await;
    let mut search = question("semantic");
    search["query_embedding"] = vector(3);
    for _ in 0..OFTEN {
        assert_eq!(alice.search(search.clone()).await.len(), 20);
    }
    sqlx::raw_sql("DELETE FROM memory_vectors").execute(&mut app.db.superuser().await).await.unwrap();
    assert_eq!(alice.search(search.clone()).await.len(), 20, "it asked Postgres");
    alice.remember(placed("another lamp", 3)).await;
    assert_eq!(alice.search(search).await.len(), 1, "it asked memory");
}

#[tokio::test]
async fn every_sort_of_write_is_seen_by_the_next_search_on_every_node_r40() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await;
    let (_app, router) = app.second_node().await;
    let nodes = [alice.client.clone(), Client::new(router).capability(&alice.capability)];
    let contents = async || {
        let mut of_nodes = Vec::new();
        for node in &nodes {
            for _ in 0..OFTEN {
                of_nodes.push(found(node).await);
            }
        }
        assert!(of_nodes.iter().all(|contents| *contents == of_nodes[0]), "{of_nodes:?}");
        of_nodes.swap_remove(0)
    };
    let tea = nodes[0].remember(fact("tea is served at five")).await;
    assert_eq!(contents().await, ["tea is served at five"]);
    nodes[1].remember(fact("supper is served at nine")).await;
    assert_eq!(contents().await.len(), 2);
    let path = format!("/v1/memory/items/{}", id(&tea));
    nodes[0].patch(&path, json!({ "content": "coffee is served at five" })).await.expect(200);
    assert!(contents().await.contains(&"coffee is served at five".to_owned()));
    nodes[1].delete(&path).await.expect(200);
    assert_eq!(contents().await, ["supper is served at nine"]);
    nodes[0].post(&format!("{path}/restore"), json!({})).await.expect(200);
    assert_eq!(contents().await.len(), 2);
    let scope = json!({ "target": { "kind": "scope", "scope": { "kind": "user", "key": "alice" } } });
    nodes[1].post("/v1/memory/forget", scope).await.expect(200);
    assert_eq!(contents().await, [""; 0]);
}

async fn found(client: &Client) -> Vec<String> {
    let hits = client.search(json!({ "query": "when is a meal", "mode": "semantic" })).await;
    let mut contents: Vec<String> =
        hits.iter().map(|hit| hit["record"]["content"].as_str().unwrap().to_owned()).collect();
    contents.sort();
    contents
}

#[tokio::test]
async fn what_one_tenant_holds_in_memory_answers_no_other() {
    let app = TestApp::start().await;
    let (alice, bob) = (app.tenant("alice").await.client, app.tenant("bob").await.client);
    alice.remember(fact("the code of the safe is 4711")).await;
    bob.remember(fact("the safe is green")).await;
    for _ in 0..OFTEN {
        assert_eq!(found(&alice).await, ["the code of the safe is 4711"]);
        assert_eq!(found(&bob).await, ["the safe is green"]);
    }
}

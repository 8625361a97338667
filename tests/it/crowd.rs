//! Many clients of many tenants on few connections (C086): nothing of one is ever seen by another, whatever fails or
//! is broken off on the connection they share.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use memtide::embed::Embedder;
use serde_json::{Value, json};

use crate::support::{Client, Reply, TestApp};

const TENANTS: usize = 5;
const CLIENTS: usize = 200;
const REQUESTS_EACH: usize = 10;

/// What stands in everything that a tenant of this number writes.
fn tag(tenant: usize) -> String {
    format!("tag{tenant}{}", ["alpha", "bravo", "charlie", "delta", "echo"][tenant])
}

fn note(tenant: usize, thread: usize, seq: usize) -> Value {
    json!({
        "scope": { "kind": "user", "key": tag(tenant) },
        "category": "custom",
        "content": format!("The common word and {} of {thread} {seq}.", tag(tenant)),
        "metadata": { "tag": tag(tenant) },
        "context": { "thread_id": format!("{}-{thread}", tag(tenant)), "seq": seq },
    })
}

/// One request of a mix; which one depends on nothing but the numbers.
async fn request(
    caller: &Client,
    tenant: usize,
    number: usize,
    turn: usize,
) -> Option<(&'static str, Reply)> {
    let search = json!({ "query": "common word", "limit": 50 });
    let kind = (number * 7 + turn * 13) % 10;
    Some(match kind {
        0 | 1 => ("write", caller.post("/v1/memory/items", note(tenant, number, turn)).await),
        2 | 3 => ("search", caller.post("/v1/memory/search", search).await),
        4 => ("list", caller.get("/v1/memory/items?limit=50").await),
        5 => {
            // The same place of the conversation with another text: a conflict, after the transaction has begun.
            let mut other = note(tenant, number % 3, 0);
            other["content"] = json!(format!("{} {number} {turn}", tag(tenant)));
            ("conflict", caller.post("/v1/memory/items", other).await)
        }
        6 => ("invalid", caller.post("/v1/memory/items", json!({ "content": tag(tenant) })).await),
        7 => {
            let items: Vec<Value> = (0..3).map(|at| note(tenant, 1_000 + number, turn * 3 + at)).collect();
            ("batch", caller.post("/v1/memory/items/batch", json!({ "items": items })).await)
        }
        // Broken off somewhere between the first statement and the last.
        8 => {
            let write = caller.post("/v1/memory/items", note(tenant, 2_000 + number, turn));
            let patience = Duration::from_micros(500 * (1 + (number as u64 * 31 + turn as u64 * 17) % 120));
            ("broken off", tokio::time::timeout(patience, write).await.ok()?)
        }
        _ => {
            let read = caller.post("/v1/memory/search", search);
            let patience = Duration::from_micros(500 * (1 + (number as u64 * 11 + turn as u64 * 23) % 120));
            ("broken off", tokio::time::timeout(patience, read).await.ok()?)
        }
    })
}

async fn client(caller: Client, tenant: usize, number: usize) -> BTreeMap<String, usize> {
    let mut seen = BTreeMap::new();
    for turn in 0..REQUESTS_EACH {
        let what = loop {
            match request(&caller, tenant, number, turn).await {
                None => break "broken off".to_owned(),
                // A service that is busy says so; the client comes again.
                Some((kind, reply)) if reply.status.as_u16() == 503 && kind != "broken off" => {
                    tokio::time::sleep(Duration::from_millis(20 + number as u64)).await;
                }
                Some((kind, reply)) => {
                    for other in (0..TENANTS).filter(|other| *other != tenant) {
                        assert!(
                            !reply.text.contains(&tag(other)),
                            "{kind} of {}: {}",
                            tag(tenant),
                            reply.text
                        );
                    }
                    break format!("{kind} {}", reply.status.as_u16());
                }
            }
        };
        *seen.entry(what).or_insert(0) += 1;
    }
    seen
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_on_two_connections_sees_no_foreign_record() {
    let few = |config: &mut memtide::config::Config| config.database.pool = 2;
    let app = TestApp::start_configured(Arc::new(Embedder::Off), few).await;
    let mut callers = Vec::new();
    for tenant in 0..TENANTS {
        callers.push(app.tenant(&format!("crowd-{tenant}")).await);
    }
    let crowd = (0..CLIENTS).map(|number| {
        let tenant = number % TENANTS;
        tokio::spawn(client(callers[tenant].client.clone(), tenant, number))
    });
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for client in crowd.collect::<Vec<_>>() {
        for (what, times) in client.await.unwrap() {
            *seen.entry(what).or_insert(0) += times;
        }
    }
    assert_eq!(seen.values().sum::<usize>(), CLIENTS * REQUESTS_EACH);
    assert!(!seen.keys().any(|what| what.ends_with(" 500")), "{seen:?}");
    for kind in
        ["write 201", "search 200", "list 200", "conflict 409", "invalid 422", "batch 200", "broken off"]
    {
        assert!(seen.contains_key(kind), "no {kind} among {seen:?}");
    }
    after_the_crowd(&app, &callers.iter().map(|made| made.client.clone()).collect::<Vec<_>>()).await;
}

/// Every record stands where its tag says, no transaction was left open, and the next requests work.
async fn after_the_crowd(app: &TestApp, callers: &[Client]) {
    for (tenant, caller) in callers.iter().enumerate() {
        caller.post("/v1/memory/items", note(tenant, 9_999, 0)).await.expect(201);
        let mut path = "/v1/memory/items?limit=100".to_owned();
        let mut records = 0;
        loop {
            let page = caller.get(&path).await.expect(200);
            for record in page["records"].as_array().unwrap() {
                assert_eq!(record["scope"]["key"], tag(tenant));
                records += 1;
            }
            let Some(cursor) = page["next_cursor"].as_str() else { break };
            path = format!("/v1/memory/items?limit=100&cursor={cursor}");
        }
        assert!(records > 10);
    }
    let mut superuser = app.db.superuser().await;
    let sql = "SELECT count(*) FROM memories m JOIN tenants t USING (tenant_id)
               WHERE m.scope_key NOT LIKE 'tag' || right(t.slug, 1) || '%' OR position(m.scope_key IN m.content) = 0";
    let misplaced: i64 = sqlx::query_scalar(sql).fetch_one(&mut superuser).await.unwrap();
    assert_eq!(misplaced, 0);
    let sql =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'";
    let open: i64 = sqlx::query_scalar(sql).fetch_one(&mut superuser).await.unwrap();
    assert_eq!(open, 0, "a request that was broken off left its transaction open");
}

//! Listing and getting: filters, pages, cursors.

use std::collections::HashSet;

use chrono::TimeDelta;
use serde_json::{Value, json};

use crate::support::{Client, TestApp, each, fact, id, placed, with};

const ITEMS: &str = "/v1/memory/items";

fn of(kind: &str, key: &str, category: &str, content: &str) -> Value {
    json!({ "scope": { "kind": kind, "key": key }, "category": category, "content": content })
}

#[tokio::test]
async fn lists_hold_what_the_filters_ask_for_pc25_r26_r55() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let mut ids = Vec::new();
    for (kind, key, category, content) in [
        ("user", "alice", "preference", "tea"),
        ("user", "bob", "preference", "coffee"),
        ("workspace", "a:b", "procedure", "Ship on TUESDAY"),
        ("user", "alice", "todo", "old"),
    ] {
        ids.push(id(&alice.remember(of(kind, key, category, content)).await).to_owned());
    }
    alice.delete(&format!("{ITEMS}/{}", ids[3])).await.expect(200);
    let rows = [
        ("", vec![2, 1, 0]), // newest first
        ("scope=user:alice", vec![0]),
        ("scope=user:alice&scope=user:bob", vec![1, 0]),
        ("scope=workspace:a:b", vec![2]), // the first colon splits
        ("scope=workspace:a", vec![]),
        ("scope=agent:alice", vec![]),
        ("category=preference", vec![1, 0]),
        ("category=preference&category=procedure&scope=user:bob", vec![1]),
        ("status=deleted", vec![3]),
        ("status=active&status=deleted", vec![3, 2, 1, 0]),
        ("query=tuesday", vec![2]),
        ("query=TEA", vec![0]),
        ("query=on++tues", vec![2]),
        ("query=%25", vec![]),
        ("limit=2", vec![2, 1]),
        ("limit=2.9", vec![2, 1]),
        ("limit=1000", vec![2, 1, 0]),
    ];
    for (question, expected) in rows {
        let expected: Vec<&String> = expected.iter().map(|&at: &usize| &ids[at]).collect();
        assert_eq!(alice.listed(question).await.iter().collect::<Vec<_>>(), expected, "{question}");
    }
}

#[tokio::test]
async fn a_question_that_cannot_be_is_400_and_says_why_c051_c053() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let rows = [
        ("limit=0", "limit"),
        ("limit=-1", "limit"),
        ("limit=x", "limit"),
        ("limit=", "limit"),
        ("limit=inf", "limit"),
        ("limit=NaN", "limit"),
        ("limit=1&limit=2", "limit"),
        ("scope=alice", "scope"),
        ("scope=planet:x", "scope"),
        ("scope=user:", "scope"),
        ("scope=user:a%00b", "scope"),
        ("category=gossip", "gossip"),
        ("status=gone", "gone"),
        ("scopes=user:alice", "scopes"),
        ("user_id=alice", "user_id"),
        ("query=", "query"),
        ("query=%20%20", "query"),
        ("cursor=", "cursor"),
        ("key=x", "key"),
        ("key=&scope=user:alice", "key"),
        ("key=x&scope=user:alice&status=deleted", "key"),
    ];
    for (question, word) in rows {
        let reply = alice.get(&format!("{ITEMS}?{question}")).await;
        assert_eq!(reply.status, 400, "{question}");
        let message = reply.refused(400, "invalid_request");
        assert!(message.contains(word), "{question}: {message}");
    }
    let long = "q".repeat(4_097);
    let details = alice.get(&format!("{ITEMS}?query={long}")).await.names(400, "query");
    assert_eq!(details["limit"], 4_096);
}

async fn pages(client: &Client, question: &str, size: usize) -> Vec<String> {
    let mut ids = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = client.get(&format!("{ITEMS}?{question}&limit={size}{cursor}")).await.expect(200);
        let page_ids = each(&page["records"], "id");
        assert!(page_ids.len() <= size);
        ids.extend(page_ids.into_iter().map(|id| id.as_str().unwrap().to_owned()));
        let Some(next) = page["next_cursor"].as_str() else { return ids };
        cursor = format!("&cursor={next}");
    }
}

#[tokio::test]
async fn pages_of_any_size_hold_every_record_once_c141_xc15() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let facts: Vec<Value> = (0..250).map(|n| placed(&format!("fact number {n}"), n)).collect();
    let reply = alice.post("/v1/memory/items/batch", json!({ "items": facts })).await.expect(200);
    let times: HashSet<i64> = reply["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["record"]["created_at"].as_i64().unwrap())
        .collect();
    assert!(times.len() <= 2, "one paste has one time, to the second");
    for size in [1, 7, 50] {
        let ids = pages(&alice, "scope=user:alice", size).await;
        assert_eq!(ids.len(), 250, "{size}");
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 250, "{size}");
    }
    // Stable under inserts: what is new after the first page comes on no page of this list.
    let first = alice.get(&format!("{ITEMS}?limit=100")).await.expect(200);
    alice.remember(fact("newer")).await;
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = alice.get(&format!("{ITEMS}?limit=100&cursor={cursor}")).await.expect(200);
    let one: HashSet<&Value> = each(&first["records"], "id").into_iter().collect();
    let two: HashSet<&Value> = each(&second["records"], "id").into_iter().collect();
    assert!(one.is_disjoint(&two) && two.len() == 100);
}

#[tokio::test]
async fn a_cursor_is_good_for_its_question_its_tenant_and_15_minutes_c143_xc15() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await;
    let bob = app.tenant("bob").await.client;
    for client in [&alice.client, &bob] {
        for n in 0..5 {
            client.remember(fact(&format!("fact {n}"))).await;
        }
    }
    let page = alice.client.get(&format!("{ITEMS}?limit=2&scope=user:alice")).await.expect(200);
    let cursor = page["next_cursor"].as_str().unwrap().to_owned();
    let list = |question: &str| format!("{ITEMS}?{question}");
    // Only the limit may change.
    alice.client.get(&list(&format!("limit=1&scope=user:alice&cursor={cursor}"))).await.expect(200);
    let mut flipped = cursor.clone().into_bytes();
    flipped[10] = if flipped[10] == b'A' { b'B' } else { b'A' };
    let flipped = String::from_utf8(flipped).unwrap();
    let rows = [
        format!("scope=user:bob&cursor={cursor}"),
        format!("cursor={cursor}"),
        format!("scope=user:alice&category=custom&cursor={cursor}"),
        format!("scope=user:alice&query=fact&cursor={cursor}"),
        format!("scope=user:alice&cursor={}", &cursor[..cursor.len() - 1]),
        format!("scope=user:alice&cursor={flipped}"),
        "scope=user:alice&cursor=Z2FyYmFnZQ".to_owned(),
        "scope=user:alice&cursor=%00".to_owned(),
        format!("scope=user:alice&cursor={}", "A".repeat(60_000)),
    ];
    for question in rows {
        alice.client.get(&list(&question)).await.names(400, "cursor");
    }
    // Another tenant's, another namespace's and another method's are no cursors.
    bob.get(&list(&format!("limit=2&scope=user:alice&cursor={cursor}"))).await.names(400, "cursor");
    let elsewhere = app.exchange(&alice.key, json!({ "namespace": "other" })).await;
    let elsewhere = app.anyone().capability(&elsewhere);
    elsewhere.get(&list(&format!("scope=user:alice&cursor={cursor}"))).await.names(400, "cursor");
    let search = json!({ "query": "fact", "cursor": cursor });
    alice.client.post("/v1/memory/search", search).await.names(400, "cursor");
    let search = json!({ "query": "fact", "cursor": "A".repeat(1_000_000) });
    alice.client.post("/v1/memory/search", search).await.names(400, "cursor");
    app.app.clock.shift(TimeDelta::seconds(901));
    let late = app.exchange(&alice.key, json!({ "namespace": "default" })).await;
    let late = app.anyone().capability(&late);
    late.get(&list(&format!("limit=1&scope=user:alice&cursor={cursor}"))).await.names(400, "cursor");
}

#[tokio::test]
async fn a_record_is_got_by_id_or_by_scope_and_key_c061_xc11_r25() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let bob = app.tenant("bob").await.client;
    let record = alice.remember(with(fact("vim"), json!({ "key": "Editor" }))).await;
    let path = format!("{ITEMS}/{}", id(&record));
    let got = alice.get(&path).await;
    assert_eq!(got.headers["etag"], "\"1\"");
    assert_eq!(got.expect(200)["record"]["content"], "vim");
    let by_key = alice.get(&format!("{ITEMS}?scope=user:alice&key=editor")).await.expect(200);
    assert_eq!(each(&by_key["records"], "id"), [&record["id"]]);
    for other in ["scope=user:bob&key=editor", "scope=user:alice&key=editors"] {
        assert_eq!(alice.listed(other).await.len(), 0);
    }
    // R-07: unknown and not yours look the same.
    let unknown = alice.get(&format!("{ITEMS}/{}", memtide::id::MemoryId::new())).await;
    let foreign = bob.get(&path).await;
    assert_eq!(unknown.refused(404, "not_found"), foreign.refused(404, "not_found"));
    let other_kind = format!("{ITEMS}/{}", memtide::id::TenantId::new());
    alice.get(&other_kind).await.refused(404, "not_found");
    for malformed in
        ["x", "..%2F..%2Fetc%2Fpasswd", "a%2Fb", "%C3%A9", "a%20b", "mem_%00", &"m".repeat(9_000)]
    {
        alice.get(&format!("{ITEMS}/{malformed}")).await.refused(400, "invalid_request");
    }
    for escape in ["%", "%zz", "%ff"] {
        let status = alice.get(&format!("{ITEMS}/{escape}")).await.status.as_u16();
        assert_eq!(status, 400, "{escape}");
    }
    alice.get(&format!("{ITEMS}/a/b")).await.refused(404, "not_found");
}

#[tokio::test]
async fn scopes_are_exact_and_always_reachable_c020_c022() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let keys = [
        "acpt-probe",
        "0199a0e6-0000-7000-8000-000000000000",
        "main",
        "or",
        "null",
        "default",
        "my/group",
        r"C:\x",
        "ünï",
        "a.b",
        "*",
        "%",
        "a b",
        "team/a",
        "team/ab",
        "team/a/b",
        "Team/a",
        "u&ns",
        "bot",
        "bot2",
    ];
    for key in keys {
        alice
            .remember(with(
                placed("The probe says hello.", 1),
                json!({ "scope": { "kind": "agent", "key": key } }),
            ))
            .await;
    }
    for key in keys {
        let hits = alice
            .search(
                json!({ "query": "probe", "mode": "lexical", "scopes": [{ "kind": "agent", "key": key }] }),
            )
            .await;
        assert_eq!(hits.len(), 1, "{key}");
        assert_eq!(hits[0]["record"]["scope"]["key"], key);
        let escaped = percent_encoding::percent_encode(key.as_bytes(), percent_encoding::NON_ALPHANUMERIC);
        assert_eq!(alice.listed(&format!("scope=agent:{escaped}")).await.len(), 1, "{key}");
    }
    let target =
        |key: &str| json!({ "target": { "kind": "scope", "scope": { "kind": "agent", "key": key } } });
    for key in ["team/a", "bot"] {
        let gone = alice.post("/v1/memory/forget", target(key)).await.expect(200);
        assert_eq!(gone["forgotten_memory_ids"].as_array().unwrap().len(), 1, "{key}");
    }
    assert_eq!(alice.listed("limit=100").await.len(), keys.len() - 2);
}

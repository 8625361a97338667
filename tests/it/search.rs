//! Search: modes, filters, ranking, pages.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::support::{Client, TestApp, fact, id, placed, with};

const SEARCH: &str = "/v1/memory/search";

fn of(kind: &str, key: &str, category: &str, content: &str) -> Value {
    json!({ "scope": { "kind": kind, "key": key }, "category": category, "content": content })
}

async fn contents(client: &Client, search: Value) -> Vec<String> {
    let hits = client.search(search).await;
    hits.iter().map(|hit| hit["record"]["content"].as_str().unwrap().to_owned()).collect()
}

/// A vector of 384 numbers that points in one direction.
fn axis(at: usize) -> Vec<f32> {
    (0..384).map(|place| if place == at { 1.0 } else { 0.0 }).collect()
}

fn with_vector(content: &str, vector: &[f32]) -> Value {
    with(fact(content), json!({ "embedding": vector, "embedding_model": "all-MiniLM-L6-v2" }))
}

#[tokio::test]
async fn a_hit_has_the_shape_of_the_contract_r02_pc23() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    alice.remember(with(fact("The cat is called Zuzu."), json!({ "importance": 0.8 }))).await;
    alice.remember(fact("The office has a green door.")).await;
    let reply = alice.post(SEARCH, json!({ "query": "what is the cat called" })).await.expect(200);
    assert_eq!(reply.as_object().unwrap().keys().collect::<Vec<_>>(), ["hits"]);
    let hits = reply["hits"].as_array().unwrap();
    let hit = &hits[0];
    assert_eq!(hit["record"]["content"], "The cat is called Zuzu.");
    assert!(hit["record"].get("provenance").is_none(), "only if asked for");
    assert_eq!(hit["matched_terms"], json!(["cat", "call"]));
    assert!(hit.get("explain").is_none() && hit.get("similar").is_none());
    for hit in hits {
        for name in ["semantic", "lexical", "recency", "importance", "key"] {
            let part = hit["score_components"][name].as_f64().unwrap();
            assert!((0.0..=1.0).contains(&part), "{name}");
        }
    }
    let scores: Vec<f64> = hits.iter().map(|hit| hit["score"].as_f64().unwrap()).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b) && scores.iter().all(|score| (0.0..=1.0).contains(score)));
    assert_eq!(hit["score_components"]["importance"], 0.8);
    let asked =
        json!({ "query": "cat", "include_provenance": true, "explain": true, "include_similar": true });
    let hits = alice.search(asked).await;
    assert_eq!(hits[0]["record"]["provenance"]["created_by"]["kind"], "user");
    assert_eq!(hits[0]["explain"]["lexical_rank"], 1);
    assert_eq!(hits[0]["explain"]["semantic_rank"], 1);
    assert!(hits[0]["explain"]["reason"].as_str().unwrap().contains("by words"));
    assert_eq!(hits[0]["similar"], json!([]));
}

#[tokio::test]
async fn the_same_text_and_the_key_come_first_r02() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    for content in ["Deploy day deploy day deploy day", "The deploy day is Tuesday, says Bob", "deploy day"] {
        alice.remember(with(fact(content), json!({ "importance": 0.1 }))).await;
    }
    let keyed = alice.remember(with(fact("Tuesday"), json!({ "key": "deploy day" }))).await;
    let hits = alice.search(json!({ "query": "Deploy  DAY" })).await;
    assert_eq!(hits[0]["record"]["id"], keyed["id"]);
    assert_eq!((&hits[0]["score"], &hits[0]["score_components"]["key"]), (&json!(1.0), &json!(1.0)));
    assert_eq!((&hits[1]["record"]["content"], &hits[1]["score"]), (&json!("deploy day"), &json!(1.0)));
}

#[tokio::test]
async fn words_and_meaning_can_be_asked_alone_r27() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    alice.remember(fact("Alice is allergic to penicillin.")).await;
    alice.remember(fact("INV-4471 is paid.")).await;
    let by = |mode: &str, query: &str| json!({ "query": query, "mode": mode });
    assert_eq!(contents(&alice, by("lexical", "inv 4471")).await, ["INV-4471 is paid."]);
    assert_eq!(contents(&alice, by("lexical", "medicine")).await, [] as [&str; 0]);
    let hits = contents(&alice, by("semantic", "which medicine is bad for her")).await;
    assert_eq!(hits[0], "Alice is allergic to penicillin.");
    alice.post(SEARCH, by("psychic", "x")).await.names(400, "mode");
}

#[tokio::test]
async fn filters_hold_and_an_empty_list_matches_nothing_c026_r45() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    for (kind, key, category) in [
        ("user", "alice", "preference"),
        ("user", "bob", "preference"),
        ("workspace", "alice", "todo"),
        ("user", "alice", "todo"),
    ] {
        alice.remember(of(kind, key, category, &format!("tea of {kind} {key} {category}"))).await;
    }
    let scope = |kind: &str, key: &str| json!({ "kind": kind, "key": key });
    let rows = [
        (json!({}), 4),
        (json!({ "scopes": null, "categories": null, "limit": null, "statuses": null }), 4),
        (json!({ "scopes": [scope("user", "alice")] }), 2),
        (json!({ "scopes": [scope("user", "alice"), scope("user", "bob"), scope("user", "bob")] }), 3),
        (json!({ "scopes": [scope("agent", "alice")] }), 0),
        (json!({ "scopes": [scope("user", "Alice")] }), 0),
        (json!({ "categories": ["todo"] }), 2),
        (json!({ "categories": ["todo"], "scopes": [scope("user", "alice")] }), 1),
        (json!({ "statuses": ["active"], "namespace": "default" }), 4),
        (json!({ "scopes": [] }), 0),
        (json!({ "categories": [] }), 0),
        (json!({ "statuses": [] }), 0),
    ];
    for (filter, expected) in rows {
        for mode in ["hybrid", "lexical", "semantic"] {
            let search = with(json!({ "query": "tea", "mode": mode }), filter.clone());
            assert_eq!(alice.search(search).await.len(), expected, "{filter} {mode}");
        }
    }
    let rows = [
        (json!({ "scope": [scope("user", "alice")] }), 422, "scope"),
        (json!({ "user_id": "alice" }), 422, "user_id"),
        (json!({ "metadata": { "day": 20_260_719 } }), 422, "metadata"), // C024
        (json!({ "scopes": "user" }), 422, "scopes"),                    // C053
        (json!({ "categories": "[\"todo\"]" }), 422, "categories"),
        (json!({ "scopes": [scope("user", "")] }), 400, "scopes[0].key"),
        (json!({ "scopes": [["user", "alice"]] }), 422, "scopes[0]"),
        (json!({ "categories": ["gossip"] }), 400, "categories[0]"),
        (json!({ "statuses": ["deleted"] }), 400, "statuses"), // XC-13
        (json!({ "statuses": ["active", "superseded"] }), 400, "statuses"),
        (json!({ "query": "" }), 400, "query"),
        (json!({ "query": " \u{200b}" }), 400, "query"),
        (json!({ "query": 7 }), 422, "query"),
        (json!({ "cursor": "" }), 400, "cursor"),
    ];
    for (filter, status, field) in rows {
        alice.post(SEARCH, with(json!({ "query": "tea" }), filter)).await.names(status, field);
    }
    // C030, XC-14
    for bytes in [4_097, 60_000] {
        let details =
            alice.post(SEARCH, json!({ "query": "q ".repeat(bytes / 2 + 1) })).await.names(400, "query");
        assert_eq!(details["limit"], 4_096);
    }
    let words: Vec<String> = (0..1_000).map(|n| format!("w{n}")).collect();
    alice.search(json!({ "query": &words.join(" ")[..4_096] })).await;
}

#[tokio::test]
async fn limits_are_capped_floored_or_refused_c051_r03() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let facts: Vec<Value> = (0..120).map(|n| placed(&format!("tea number {n}"), n)).collect();
    alice.post("/v1/memory/items/batch", json!({ "items": facts })).await.expect(200);
    let search = |limit: &str| format!(r#"{{"query":"tea","limit":{limit}}}"#);
    let send = async |limit: &str| alice.send(axum::http::Method::POST, SEARCH, Some(search(limit))).await;
    for (limit, expected) in [
        ("5", 5),
        ("5.0", 5),
        ("5e0", 5),
        ("5.5", 5),
        ("21", 21),
        ("100", 100),
        ("1e3", 100),
        ("1e19", 100),
        ("18446744073709551615", 100),
        ("null", 20),
    ] {
        let hits = send(limit).await.expect(200)["hits"].as_array().unwrap().len();
        assert_eq!(hits, expected, "{limit}");
    }
    for (limit, status) in
        [("0", 400), ("-0", 400), ("-1", 400), ("0.5", 400), ("\"5\"", 422), ("true", 422), ("[]", 422)]
    {
        send(limit).await.names(status, "limit");
    }
    for limit in ["1e400", "99999999999999999999"] {
        send(limit).await.refused(400, "invalid_request");
    }
}

#[tokio::test]
async fn a_policy_only_narrows_what_the_token_sees_xc12_r49() {
    let app = TestApp::start().await;
    let made = app.tenant("alice").await;
    for sensitivity in ["normal", "personal", "secret_like", "regulated"] {
        let body = with(fact(&format!("{sensitivity} tea")), json!({ "sensitivity": sensitivity }));
        made.client.remember(body).await;
    }
    let low = json!({ "namespace": "default", "sensitivity": ["normal", "personal"] });
    let low = app.anyone().capability(&app.exchange(&made.key, low).await);
    let all = json!({ "allow_normal": true, "allow_personal": true, "allow_secret_like": true, "allow_regulated": true });
    let rows = [
        (json!({}), 4, 2),
        (json!({ "sensitivity_policy": all }), 4, 2),
        (json!({ "sensitivity_policy": { "allow_normal": true } }), 1, 1),
        (json!({ "sensitivity_policy": { "allow_personal": true, "allow_regulated": true } }), 2, 1),
        (json!({ "sensitivity_policy": {} }), 0, 0),
    ];
    for (policy, high_hits, low_hits) in rows {
        let search = with(json!({ "query": "tea" }), policy.clone());
        assert_eq!(made.client.search(search.clone()).await.len(), high_hits, "{policy}");
        assert_eq!(low.search(search).await.len(), low_hits, "{policy}");
    }
    let bad = json!({ "query": "tea", "sensitivity_policy": { "allow_all": true } });
    low.post(SEARCH, bad).await.names(422, "sensitivity_policy.allow_all");
}

#[tokio::test]
async fn the_caller_can_weigh_what_else_counts_xc12() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let weak = with(
        of("workspace", "acme", "todo", "Somebody mentioned tea once in a long meeting about other things."),
        json!({ "importance": 1.0, "confidence": 1.0 }),
    );
    let weak = alice.remember(weak).await;
    alice.remember(with(fact("green tea tea"), json!({ "importance": 0.0, "confidence": 0.0 }))).await;
    let first = async |ranking: Value| {
        let search = json!({ "query": "green tea", "categories": ["todo", "custom"], "ranking": ranking });
        alice.search(search).await[0]["record"]["id"].clone()
    };
    assert_ne!(first(json!({})).await, weak["id"]);
    assert_eq!(first(json!({ "importance_weight": 10 })).await, weak["id"]);
    assert_eq!(first(json!({ "confidence_weight": 10 })).await, weak["id"]);
    let scope = json!({ "primary_scope": { "kind": "workspace", "key": "acme" } });
    let of_weak =
        |hits: &[Value]| hits.iter().find(|hit| hit["record"]["id"] == weak["id"]).unwrap()["score"].as_f64();
    let plain = alice.search(json!({ "query": "green tea" })).await;
    let boosted = alice.search(json!({ "query": "green tea", "ranking": scope })).await;
    assert!(of_weak(&boosted) > of_weak(&plain));
    // A boosted category is a wish, not a condition.
    let wish =
        json!({ "query": "green tea", "categories": ["todo"], "ranking": { "category_match_boost": 10 } });
    let hits = alice.search(wish).await;
    assert_eq!((hits.len(), &hits[0]["record"]["id"]), (2, &weak["id"]));
    let rows = [
        (json!({ "importance_weight": 10.1 }), 400, "ranking.importance_weight"),
        (json!({ "confidence_weight": -1 }), 400, "ranking.confidence_weight"),
        (json!({ "category_match_boost": 11 }), 400, "ranking.category_match_boost"),
        (json!({ "recency_half_life_seconds": 59 }), 400, "ranking.recency_half_life_seconds"),
        (json!({ "recency_half_life_seconds": 315_360_001 }), 400, "ranking.recency_half_life_seconds"),
        (json!({ "primary_scope": { "kind": "user", "key": "" } }), 400, "ranking.primary_scope.key"),
        (json!({ "primary_scope": "user" }), 422, "ranking.primary_scope"),
        (json!({ "boost": 1 }), 422, "ranking.boost"),
    ];
    for (ranking, status, field) in rows {
        alice.post(SEARCH, json!({ "query": "tea", "ranking": ranking })).await.names(status, field);
    }
}

#[tokio::test]
async fn the_client_may_bring_its_vectors_r27() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    for at in 0..3 {
        alice.remember(with_vector(&format!("axis {at}"), &axis(at))).await;
    }
    let search = json!({ "query": "something else", "mode": "semantic", "query_embedding": axis(1) });
    let hits = alice.search(search.clone()).await;
    assert_eq!(hits[0]["record"]["content"], "axis 1");
    assert_eq!(hits[0]["score_components"]["semantic"], 1.0);
    for mode in ["hybrid", "lexical", "semantic"] {
        for (vector, limit) in [
            (json!([1.0]), Some(384)),
            (json!([]), Some(384)),
            (json!(vec![1.0; 385]), Some(384)),
            (json!(vec![0.0; 384]), None),
            (json!(vec![1e39; 384]), None),
        ] {
            let search = json!({ "query": "x", "mode": mode, "query_embedding": vector });
            let details = alice.post(SEARCH, search).await.names(400, "query_embedding");
            assert_eq!(details.get("limit").and_then(Value::as_u64), limit, "{mode}");
        }
        let search = json!({ "query": "x", "mode": mode, "query_embedding": "x" });
        alice.post(SEARCH, search).await.names(422, "query_embedding");
    }
    // It is part of the question: a cursor is good for the same vector only.
    let first = alice.post(SEARCH, with(search.clone(), json!({ "limit": 1 }))).await.expect(200);
    let next = with(search.clone(), json!({ "limit": 1, "cursor": first["next_cursor"] }));
    assert_eq!(alice.search(next.clone()).await.len(), 1);
    let other = with(next.clone(), json!({ "query_embedding": axis(2) }));
    alice.post(SEARCH, other).await.names(400, "cursor");
    let bad = with(next, json!({ "query_embedding": [1] }));
    assert_eq!(alice.post(SEARCH, bad).await.status, 400);
}

#[tokio::test]
async fn closeness_is_reported_and_never_merged_r05_r27() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let close: Vec<f32> = axis(0).iter().enumerate().map(|(at, x)| if at == 9 { 0.1 } else { *x }).collect();
    let one = alice.remember(with_vector("rent is 900", &axis(0))).await;
    let two = alice.remember(with_vector("rent is 9000", &close)).await;
    let far = alice.remember(with_vector("rent is due", &axis(5))).await;
    let hits = alice.search(json!({ "query": "rent", "include_similar": true })).await;
    assert_eq!(hits.len(), 3);
    let similar = |record: &Value| {
        let hit = hits.iter().find(|hit| hit["record"]["id"] == record["id"]).unwrap();
        hit["similar"].clone()
    };
    assert_eq!(similar(&one), json!([two["id"]]));
    assert_eq!(similar(&two), json!([one["id"]]));
    assert_eq!(similar(&far), json!([]));
}

#[tokio::test]
async fn pages_of_a_search_hold_each_hit_once_in_order_xc15() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    // Two hundred by words and two hundred others by meaning, so that a ranking is as long as it can be.
    let facts: Vec<Value> = (0..200)
        .flat_map(|n| {
            let turn = json!({ "context": { "thread_id": format!("t{}", n % 9), "seq": n } });
            [with(placed(&format!("green tea {n}"), 1), turn), placed(&format!("word {n}"), 0)]
        })
        .collect();
    for part in facts.chunks(200) {
        alice.post("/v1/memory/items/batch", json!({ "items": part })).await.expect(200);
    }
    for limit in [1, 7, 50, 100] {
        let mut search = json!({ "query": "green tea", "query_embedding": axis(0), "limit": limit });
        let (mut ids, mut scores) = (Vec::new(), Vec::new());
        loop {
            let reply = alice.post(SEARCH, search.clone()).await.expect(200);
            for hit in reply["hits"].as_array().unwrap() {
                ids.push(id(&hit["record"]).to_owned());
                scores.push(hit["score"].as_f64().unwrap());
            }
            if reply["next_cursor"].is_null() {
                break;
            }
            search = with(search, json!({ "cursor": reply["next_cursor"] }));
        }
        assert!(ids.len() >= 120, "{limit}: {}", ids.len());
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
        assert!(scores.is_sorted_by(|a, b| a >= b), "{limit}");
    }
}

#[tokio::test]
async fn a_long_text_is_found_by_its_last_words_c036() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let long = "the quick brown fox jumps over ".repeat(2_000) + "the vault code is heliotrope";
    let made = alice.post("/v1/memory/items", fact(&long)).await.expect(201);
    assert_eq!(made["embedding_truncated"], true);
    for n in 0..20 {
        alice.remember(fact(&format!("Note {n} about the budget"))).await;
    }
    alice.remember(fact("Vaults have codes")).await;
    let hits = alice.search(json!({ "query": "what is the vault code heliotrope", "limit": 5 })).await;
    let hit = hits.iter().find(|hit| hit["record"]["id"] == made["record"]["id"]).unwrap();
    assert!(hit["snippet"].as_str().unwrap().contains("vault code is heliotrope"), "{}", hit["snippet"]);
    assert!(hit["snippet"].as_str().unwrap().chars().count() <= 242);
    let short = alice.search(json!({ "query": "Note 3 about the budget" })).await;
    assert!(short[0].get("snippet").is_none());
}

#[tokio::test]
async fn the_turn_after_a_question_is_found_with_it_r19() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let said = ["Hi!", "Which pet would you like to have?", "A tortoise.", "Lovely weather."];
    for (seq, content) in said.into_iter().enumerate() {
        let turn = json!({ "context": { "thread_id": "t", "seq": seq, "speaker": if seq % 2 == 0 { "Ann" } else { "Bob" } } });
        alice.remember(with(fact(content), turn)).await;
    }
    let found = contents(&alice, json!({ "query": "which pet does Ann want", "limit": 2 })).await;
    assert!(found.contains(&"A tortoise.".to_owned()), "{found:?}");
    // Speaker and day are searched like words.
    let seen = json!({ "context": { "speaker": "Zebedee", "observed_at": "2021-03-04T00:00:00Z" } });
    alice.remember(with(fact("Fine."), seen)).await;
    for query in ["zebedee", "4 March 2021"] {
        assert_eq!(
            contents(&alice, json!({ "query": query, "mode": "lexical" })).await[0],
            "Fine.",
            "{query}"
        );
    }
}

//! C-001 to C-049 and XC-10 to XC-21: records.

use chrono::TimeDelta;
use serde_json::{Value, json};

use super::{alice, both, invalid};
use crate::support::{fact, with};

#[tokio::test]
async fn c001_c003_clients_manage_memory_directly_through_one_service() {
    let (_app, callers) = both().await;
    for mut caller in callers {
        let record = caller.remember(fact("Drinks tea.")).await;
        let path = format!("/v1/memory/items/{}", record["id"].as_str().unwrap());
        assert_eq!(caller.rest().get(&path).await.expect(200)["record"]["content"], "Drinks tea.");
        caller.rest().patch(&path, json!({ "content": "Drinks coffee." })).await.expect(200);
        let got = caller.call("memory/get", json!({ "memory_id": record["id"] })).await;
        assert_eq!(got["record"]["content"], "Drinks coffee.");
    }
}

#[tokio::test]
async fn c002_tools_of_models_are_no_methods() {
    let (_app, callers) = both().await;
    for mut caller in callers {
        for name in ["memory_search", "memory_remember", "save_memory", "tools/call", "memory/changed"] {
            assert_eq!(
                caller.refused(name, json!({})).await,
                (-32601, "method_not_found".to_owned()),
                "{name}"
            );
        }
    }
}

#[tokio::test]
async fn c004_xc20_a_stale_index_entry_never_surfaces() {
    let (app, callers) = both().await;
    for mut caller in callers {
        let gone = caller.remember(fact("The lighthouse is red.")).await;
        let kept = caller.remember(fact("The lighthouse is white.")).await;
        let short = with(
            fact("The lighthouse is lit."),
            json!({ "expires_at": app.app.clock.now().timestamp() + 30 }),
        );
        caller.remember(short).await;
        let mut superuser = app.db.superuser().await;
        let keep = "CREATE TEMP TABLE stale AS SELECT * FROM memory_terms";
        sqlx::raw_sql(keep).execute(&mut superuser).await.unwrap();
        let target = json!({ "kind": "id", "memory_id": gone["id"] });
        caller.call("memory/forget", json!({ "target": target })).await;
        let put_back =
            "INSERT INTO memory_terms SELECT * FROM stale ON CONFLICT DO NOTHING; DROP TABLE stale";
        sqlx::raw_sql(put_back).execute(&mut superuser).await.unwrap();
        app.app.clock.shift(TimeDelta::seconds(31));
        assert_eq!(caller.found(json!({ "query": "lighthouse" })).await, ["The lighthouse is white."]);
        let listed = caller.call("memory/list", json!({})).await;
        assert_eq!(listed["records"][0]["id"], kept["id"]);
        assert_eq!(listed["records"].as_array().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn c010_c012_search_and_list_take_filters_and_never_widen() {
    let (_app, callers) = both().await;
    for mut caller in callers {
        let bob = json!({ "kind": "user", "key": "bob" });
        caller.remember(fact("The sea is blue.")).await;
        caller.remember(with(fact("The sea is wide."), json!({ "scope": bob }))).await;
        caller.remember(with(fact("The sea is deep."), json!({ "category": "preference" }))).await;
        let only_bob = json!({ "query": "sea", "scopes": [bob] });
        assert_eq!(caller.found(only_bob).await, ["The sea is wide."]);
        let preferences = json!({ "query": "sea", "categories": ["preference"] });
        assert_eq!(caller.found(preferences).await, ["The sea is deep."]);
        assert!(caller.found(json!({ "query": "sea", "scopes": [] })).await.is_empty(), "R-45");
        let listed =
            caller.call("memory/list", json!({ "scopes": [alice()], "categories": ["custom"] })).await;
        assert_eq!(listed["records"][0]["content"], "The sea is blue.");
        let listed = caller.call("memory/list", json!({ "query": "DEEP" })).await;
        assert_eq!(listed["records"].as_array().unwrap().len(), 1);
        assert_eq!(
            caller.refused("memory/search", json!({ "query": "sea", "statuses": ["expired"] })).await,
            invalid()
        );
        let odd = caller.refused("memory/list", json!({ "scope": [bob] })).await;
        assert_eq!(odd, (-32602, "unprocessable".to_owned()), "XC-06, C026");
    }
}

#[tokio::test]
async fn c011_xc11_get_takes_an_id_or_a_scoped_key() {
    let (_app, callers) = both().await;
    for mut caller in callers {
        let record = caller.remember(with(fact("Tea."), json!({ "key": "drink" }))).await;
        let by_key = json!({ "scope": alice(), "key": "drink" });
        assert_eq!(caller.call("memory/get", by_key).await["record"]["id"], record["id"]);
        assert_eq!(caller.call("memory/get", json!({ "memory_id": record["id"] })).await["record"], record);
        for odd in [json!({}), json!({ "memory_id": record["id"], "scope": alice(), "key": "drink" })] {
            assert_eq!(caller.refused("memory/get", odd).await, invalid());
        }
        let unknown = json!({ "memory_id": "mem_00000000000000000000000000" });
        assert_eq!(caller.call("memory/get", unknown).await, json!({}), "PC-24");
    }
}

#[tokio::test]
async fn c013_xc21_remember_stores_or_updates_by_key() {
    let (_app, callers) = both().await;
    for mut caller in callers {
        let keyed = |content: &str| with(fact(content), json!({ "key": "drink" }));
        let first = caller.call("memory/remember", keyed("Tea.")).await;
        let second = caller.call("memory/remember", keyed("Coffee.")).await;
        assert_eq!((&first["created"], &second["created"]), (&json!(true), &json!(false)));
        assert_eq!(second["record"]["id"], first["record"]["id"]);
        assert_eq!(
            (&second["record"]["version"], &second["record"]["content"]),
            (&json!(2), &json!("Coffee."))
        );
        let heir = with(fact("Water."), json!({ "supersedes": first["record"]["id"] }));
        let third = caller.call("memory/remember", heir).await;
        assert_eq!(third["superseded_memory_id"], first["record"]["id"]);
        let unknown = with(fact("x"), json!({ "supersedes": "mem_00000000000000000000000000" }));
        assert_eq!(caller.refused("memory/remember", unknown).await, (-32602, "not_found".to_owned()));
    }
}

#[tokio::test]
async fn c014_c045_xc18_xc19_forget_tombstones_with_reason_and_dry_run() {
    let (_app, callers) = both().await;
    for mut caller in callers {
        let record = caller.remember(with(fact("Tea."), json!({ "key": "drink" }))).await;
        let target = json!({ "kind": "scoped_key", "scope": alice(), "key": "drink" });
        let ids = json!([record["id"]]);
        let dry = json!({ "target": target, "dry_run": true });
        assert_eq!(
            caller.call("memory/forget", dry).await,
            json!({ "forgotten_memory_ids": ids, "dry_run": true })
        );
        let actor = json!({ "kind": "system" });
        let real = json!({ "target": target, "reason": "asked", "actor": actor });
        assert_eq!(caller.call("memory/forget", real.clone()).await["forgotten_memory_ids"], ids);
        assert_eq!(caller.call("memory/forget", real).await["forgotten_memory_ids"], json!([]));
        let wanted = json!({ "memory_id": record["id"], "include_deleted": true });
        let tombstone = caller.call("memory/get", wanted).await["record"].clone();
        assert_eq!((&tombstone["status"], &tombstone["delete_reason"]), (&json!("deleted"), &json!("asked")));
        let back = caller.call("memory/restore", json!({ "memory_id": record["id"] })).await;
        assert_eq!(back["record"]["status"], "active");
        let erase = json!({ "target": { "kind": "id", "memory_id": record["id"] }, "erase": true });
        assert_eq!(caller.call("memory/forget", erase).await["forgotten_memory_ids"], ids);
        let gone = json!({ "memory_id": record["id"], "include_deleted": true });
        assert_eq!(caller.call("memory/get", gone).await, json!({}));
    }
}

#[tokio::test]
async fn c040_c042_xc10_xc16_records_have_their_shape() {
    let (_app, callers) = both().await;
    for mut caller in callers {
        for kind in ["user", "workspace", "agent", "thread", "task"] {
            let body = with(
                fact(&format!("Of a {kind}.")),
                json!({
                    "scope": { "kind": kind, "key": "k" }, "key": kind, "sensitivity": "personal",
                    "provenance": { "source_kind": "import", "source_thread_id": "t" },
                    "source_context_kind": "tool_result", "metadata": { "a": 1 },
                }),
            );
            let record = caller.remember(body).await;
            assert_eq!(record["scope"], json!({ "kind": kind, "key": "k" }));
            assert_eq!(record["provenance"]["source_kind"], "import", "PC-40");
            assert_eq!(record["provenance"]["created_by"], json!({ "kind": "user" }), "PC-06");
            let id = record["id"].as_str().unwrap();
            assert!(id.starts_with("mem_") && id.len() == 30, "XC-16");
            for member in [
                "category",
                "content",
                "status",
                "created_at",
                "updated_at",
                "sensitivity",
                "confidence",
                "importance",
                "access_count",
                "namespace",
            ] {
                assert!(record.get(member).is_some(), "{member}");
            }
            assert!(record["created_at"].is_i64() && record.get("deleted_at").is_none(), "PC-04");
        }
        let odd = with(fact("x"), json!({ "scope": { "kind": "planet", "key": "k" } }));
        assert_eq!(caller.refused("memory/remember", odd).await.0, -32602);
    }
}

#[tokio::test]
async fn c043_xc12_xc13_search_takes_a_policy_and_ranking_and_scores_hits() {
    let (app, callers) = both().await;
    for mut caller in callers {
        caller.remember(with(fact("The sea is private."), json!({ "sensitivity": "personal" }))).await;
        caller.remember(fact("The sea is blue.")).await;
        let normal = json!({ "query": "sea", "sensitivity_policy": { "allow_normal": true } });
        assert_eq!(caller.found(normal).await, ["The sea is blue."]);
        let ranking = |ranking: Value| json!({ "query": "sea", "ranking": ranking });
        caller
            .call(
                "memory/search",
                ranking(json!({ "importance_weight": 10, "recency_half_life_seconds": 60 })),
            )
            .await;
        for odd in [json!({ "importance_weight": 11 }), json!({ "recency_half_life_seconds": 59 })] {
            assert_eq!(caller.refused("memory/search", ranking(odd)).await, invalid());
        }
        let hits = caller.call("memory/search", json!({ "query": "the sea is blue" })).await["hits"].clone();
        let scores: Vec<f64> =
            hits.as_array().unwrap().iter().map(|hit| hit["score"].as_f64().unwrap()).collect();
        assert!(
            scores.iter().rev().is_sorted() && scores.iter().all(|score| (0.0..=1.0).contains(score)),
            "R-02"
        );
        assert_eq!(hits[0]["record"]["content"], "The sea is blue.");
        // It only narrows: a token that sees no personal records gets none for asking.
        let blind = json!({ "namespace": "default", "sensitivity": ["normal"] });
        let blind = app.anyone().capability(&app.exchange(&caller.made.key, blind).await);
        let all = json!({ "allow_normal": true, "allow_personal": true, "allow_secret_like": true, "allow_regulated": true });
        let reply = blind.call("memory/search", json!({ "query": "sea", "sensitivity_policy": all })).await;
        assert_eq!(reply["hits"].as_array().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn c044_xc14_limits_of_remember_search_and_list_hold() {
    let (_app, callers) = both().await;
    for mut caller in callers {
        let remember = |more: Value| with(fact("x"), more);
        for (odd, code) in [
            (remember(json!({ "content": "" })), -32602),
            (remember(json!({ "content": " \u{200b}" })), -32602),
            (remember(json!({ "content": "x".repeat(65_537) })), -32013),
            (remember(json!({ "key": "" })), -32602),
            (remember(json!({ "key": "x".repeat(257) })), -32602),
            (remember(json!({ "confidence": 1.1 })), -32602),
            (remember(json!({ "importance": -0.1 })), -32602),
            (remember(json!({ "metadata": { "a": "x".repeat(17_000) } })), -32602),
            (remember(json!({ "expires_at": 1 })), -32602),
            (remember(json!({ "expires_at": "2030-01-01T00:00:00" })), -32602),
        ] {
            assert_eq!(caller.refused("memory/remember", odd.clone()).await.0, code, "{odd:.200}");
        }
        let record = caller.remember(fact("x")).await;
        assert_eq!((&record["confidence"], &record["importance"]), (&json!(1.0), &json!(0.5)));
        for query in ["", " ", &"x".repeat(4_097)] {
            assert_eq!(caller.refused("memory/search", json!({ "query": query })).await, invalid());
        }
        for odd in [json!(0), json!(-1), json!(0.5)] {
            assert_eq!(caller.refused("memory/list", json!({ "limit": odd })).await, invalid());
        }
        for fine in [json!(1_000), json!(5.0), json!(null)] {
            caller.call("memory/list", json!({ "limit": fine })).await;
        }
    }
}

#[tokio::test]
async fn xc15_cursors_are_bound_to_their_question() {
    let (_app, [mut http, mut socket]) = both().await;
    for caller in [&mut http, &mut socket] {
        for content in ["One.", "Two.", "Three."] {
            caller.remember(fact(content)).await;
        }
    }
    let page = http.call("memory/list", json!({ "limit": 2 })).await;
    let cursor = page["next_cursor"].clone();
    let rest = http.call("memory/list", json!({ "limit": 5, "cursor": cursor })).await;
    assert_eq!(
        (page["records"].as_array().unwrap().len(), rest["records"].as_array().unwrap().len()),
        (2, 1)
    );
    for odd in
        [json!({ "cursor": cursor, "query": "One" }), json!({ "cursor": "AAAA" }), json!({ "cursor": "" })]
    {
        assert_eq!(http.refused("memory/list", odd).await, invalid());
    }
    assert_eq!(
        socket.refused("memory/list", json!({ "cursor": cursor })).await,
        invalid(),
        "another tenant's"
    );
    assert_eq!(http.refused("memory/candidates/list", json!({ "cursor": cursor })).await, invalid());
}

#[tokio::test]
async fn xc17_an_idempotency_key_has_one_effect() {
    let (_app, callers) = both().await;
    for mut caller in callers {
        let keyed = |content: &str| with(fact(content), json!({ "idempotency_key": "k" }));
        let first = caller.call("memory/remember", keyed("Once.")).await;
        assert_eq!(caller.call("memory/remember", keyed("Once.")).await, first);
        let mismatch = (-32009, "idempotency_mismatch".to_owned());
        assert_eq!(caller.refused("memory/remember", keyed("Twice.")).await, mismatch);
        let long = with(fact("x"), json!({ "idempotency_key": "k".repeat(256) }));
        assert_eq!(caller.refused("memory/remember", long).await, invalid());
    }
}

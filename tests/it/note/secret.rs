//! Notes with secrets (C169, R-57, PC-32).

use serde_json::json;

use super::{found, texts};
use crate::support::{TestApp, id};

const KEY: &str = "AKIAIOSFODNN7EXAMPLE";

/// Kept as the user said it, and marked.
#[tokio::test]
async fn an_explicit_save_keeps_a_secret_and_marks_it_c169() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("acme").await.client;
    let notes = client.save(&format!("- the key is {KEY}\n- no key in the build")).await;
    assert_eq!(texts(&notes), [format!("the key is {KEY}").as_str(), "no key in the build"]);
    for (note, sensitivity) in notes.iter().zip(["secret_like", "normal"]) {
        let record =
            client.get(&format!("/v1/memory/items/{}", id(note))).await.expect(200)["record"].clone();
        assert_eq!(record["sensitivity"], sensitivity);
    }
}

/// a token that does not reach such records saves the others, and the secret is nowhere.
#[tokio::test]
async fn a_token_below_secrets_saves_the_rest_and_names_what_it_refused_r57_c169() {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("acme").await;
    let request = json!({ "namespace": "default", "sensitivity": ["normal", "personal"] });
    let client = app.anyone().capability(&app.exchange(&made.key, request).await);
    let reply =
        client.tool("save_memory", json!({ "text": format!("- the key is {KEY}\n- Rex is a dog") })).await;
    assert_eq!((&reply["count"], found(&reply["saved"])), (&json!(1), vec!["Rex is a dog"]));
    assert_eq!(reply["refused"].as_array().unwrap().len(), 1);
    assert!(
        reply["refused"][0]["kinds"][0].is_string() && reply["refused"][0]["reason"].is_string(),
        "{reply}"
    );
    assert!(!reply.to_string().contains(KEY));
    let result = client.tool_result("save_memory", json!({ "text": format!("the key is {KEY}") })).await;
    assert_eq!(
        (&result["isError"], &result["structuredContent"]["error"]["code"]),
        (&json!(true), &json!("forbidden"))
    );
    assert!(!result.to_string().contains(KEY));
    let mut superuser = app.db.superuser().await;
    for table in ["memories", "sources", "memory_versions", "events", "memory_terms", "idempotency_keys"] {
        let sql = format!("SELECT count(*) FROM {table} t WHERE t::text ILIKE '%' || $1 || '%'");
        let sql = sqlx::AssertSqlSafe(sql);
        let rows: i64 = sqlx::query_scalar(sql).bind(KEY).fetch_one(&mut superuser).await.unwrap();
        assert_eq!(rows, 0, "{table}");
    }
}

/// PC-32: who does not reach secrets does not find them.
#[tokio::test]
async fn a_saved_secret_is_found_only_by_who_may_see_it_pc32() {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("acme").await;
    made.client.save(&format!("the harbour key is {KEY}")).await;
    let usual = json!({ "namespace": "default", "sensitivity": ["normal", "personal"] });
    let usual = app.anyone().capability(&app.exchange(&made.key, usual).await);
    for (client, count) in [(&made.client, 1), (&usual, 0)] {
        let reply = client.tool("search_memory", json!({ "query": "harbour", "dedupe_recent": false })).await;
        let lists: Vec<usize> =
            ["relevant", "recent"].map(|list| reply[list].as_array().unwrap().len()).to_vec();
        assert_eq!(lists, [count, count]);
    }
}

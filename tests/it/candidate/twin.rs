//! The same proposed again finds what is there, however often it was decided about before (PC-38).

use serde_json::json;

use super::{identity, with_policy};
use crate::support::{TestApp, pending, proposal, with};

/// Where what was said outright waits for a reviewer too, it waits once.
#[tokio::test]
async fn an_explicit_write_that_has_to_wait_waits_once_pc38() {
    let app = TestApp::start_lexical().await;
    let policy = json!({ "review_enabled": true, "allow_explicit_auto_approve": false });
    let made = with_policy(&app, "waits", policy).await;
    let write = |quote: &str| {
        let accept = json!({ "disposition": "accept_active", "evidence": [{ "quote": quote }] });
        with(identity("Ada"), accept)
    };
    let first = made.client.propose(write("I am Ada")).await;
    assert_eq!(first["candidate"]["status"], "needs_review", "{first}");
    let second = made.client.propose(write("Call me Ada")).await;
    assert_eq!((&second["relation"], &second["created"]), (&json!("duplicate"), &json!(false)));
    assert_eq!(
        (&second["evidence_merged"], &second["candidate"]["id"]),
        (&json!(true), &first["candidate"]["id"])
    );
    let all = made.client.get("/v1/memory/candidates").await.expect(200);
    assert_eq!(all["candidates"].as_array().unwrap().len(), 1);
}

/// Makes all facts there are ones that were approved and superseded many times, before and after.
async fn flip(app: &TestApp) {
    let many = "INSERT INTO candidates
                SELECT (jsonb_populate_record(c, jsonb_build_object(
                  'candidate_id', CASE at % 2 WHEN 0 THEN '00' ELSE 'ff' END || right(gen_random_uuid()::text, -2), 'status', 'superseded'
                ))).*
                FROM candidates c, generate_series(1, 300) AS at
                WHERE c.status <> 'superseded'";
    sqlx::raw_sql(many).execute(&mut app.db.superuser().await).await.unwrap();
}

#[tokio::test]
async fn a_fact_that_changed_often_still_finds_its_twin_pc38() {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("often").await;
    for decision in ["pending", "rejected"] {
        let text = format!("Likes the sea, {decision}.");
        let first = made.client.propose(pending(&text)).await;
        flip(&app).await;
        let again = if decision == "pending" {
            made.client.propose(pending(&text)).await
        } else {
            let id = first["candidate"]["id"].as_str().unwrap();
            made.client.review(id, "reject", json!({})).await.expect(200);
            made.client.propose(proposal(&text)).await
        };
        let relation = if decision == "pending" { "duplicate" } else { "suppressed_by_rejection" };
        assert_eq!(again["relation"], relation, "{again}");
    }
}

//! How long candidates are kept, and what listing those that wait reads (XC-34).

use std::time::Duration;

use chrono::TimeDelta;
use serde_json::{Value, json};

use super::{identity, reviewed};
use crate::support::{TestApp, pending, proposal};

#[tokio::test]
async fn decided_candidates_go_after_half_a_year_but_for_what_suppression_needs() {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("kept").await;
    let rejected = made.client.candidate("Likes the sea.").await;
    made.client.review(&rejected, "reject", json!({})).await.expect(200);
    made.client.suppressed("Likes tea.").await;
    made.client.propose(identity("Ada")).await;
    let expired = made.client.candidate("Likes jazz.").await;
    let later =
        async || app.anyone().capability(&app.exchange(&made.key, json!({ "namespace": "default" })).await);
    let texts = async || {
        let all = later().await.get("/v1/memory/candidates").await.expect(200);
        let mut texts: Vec<Value> =
            all["candidates"].as_array().unwrap().iter().map(|c| c["candidate_text"].clone()).collect();
        texts.sort_by_key(ToString::to_string);
        texts
    };
    app.app.clock.shift(TimeDelta::days(179));
    memtide::job::tidy(&app.app).await;
    assert_eq!(texts().await.len(), 4);
    app.app.clock.shift(TimeDelta::days(2));
    memtide::job::tidy(&app.app).await;
    assert_eq!(texts().await, ["Likes jazz.", "Likes tea.", "Likes the sea."], "{expired} was decided later");
    app.app.clock.shift(TimeDelta::days(30));
    memtide::job::tidy(&app.app).await;
    assert_eq!(texts().await, ["Likes tea.", "Likes the sea."]);
    for text in ["Likes tea.", "Likes the sea."] {
        assert_eq!(later().await.propose(proposal(text)).await["relation"], "suppressed_by_rejection");
    }
    assert_eq!(later().await.found("name").await, ["The user's name is Ada."], "the record stays");
}

/// The list of a reviewer reads what waits, and not all that was ever decided.
#[tokio::test]
async fn a_list_of_what_waits_does_not_read_what_was_decided() {
    let app = TestApp::start_lexical().await;
    let made = reviewed(&app, "list").await;
    for at in 0..3 {
        made.client.propose(pending(&format!("Fact {at}."))).await;
    }
    let mut db = app.db.superuser().await;
    for sql in [
        "INSERT INTO candidates
         SELECT (jsonb_populate_record(c, jsonb_build_object('candidate_id', gen_random_uuid(), 'status', 'approved'))).*
         FROM candidates c, generate_series(1, 7000)",
        "ANALYZE candidates",
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()",
        "SELECT pg_stat_force_next_flush()",
        "SELECT pg_stat_reset()",
    ] {
        sqlx::raw_sql(sql).execute(&mut db).await.unwrap();
    }
    let read =
        "SELECT (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'candidates')::int8
                  + pg_stat_get_tuples_returned('candidates'::regclass)";
    let mut rows = 0;
    for lists in 1..100 {
        for statuses in ["pending", "pending&status=needs_review", "ask_on_use"] {
            let found =
                made.client.get(&format!("/v1/memory/candidates?status={statuses}")).await.expect(200);
            let expected = if statuses == "ask_on_use" { 0 } else { 3 };
            assert_eq!(found["candidates"].as_array().unwrap().len(), expected);
        }
        // Backends report what they did at most once a second, after a statement.
        rows = sqlx::query_scalar::<_, i64>(read).fetch_one(&mut db).await.unwrap();
        if rows > 0 {
            assert!(rows < lists * 50, "{rows} rows in {lists} times three lists");
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(rows > 0);
}

//! What changes between a reviewer's look and the decision counts (PC-39, C114).

use std::time::{Duration, Instant};

use serde_json::json;
use sqlx::PgConnection;

use crate::support::{TestApp, pending};

/// Waits until somebody waits for a row.
async fn until_somebody_waits(db: &mut PgConnection) {
    let waiting = "SELECT count(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND usename = 'memtide_app' AND wait_event_type = 'Lock'";
    let start = Instant::now();
    while sqlx::query_scalar::<_, i64>(waiting).fetch_one(&mut *db).await.unwrap() == 0 {
        assert!(start.elapsed() < Duration::from_secs(20), "nobody waits");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn evidence_that_comes_while_a_reviewer_decides_is_in_the_record() {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("late").await;
    for (act, body) in [("approve", json!({})), ("edit_and_approve", json!({ "edited_text": "Likes tea." }))]
    {
        let id = made.client.candidate(&format!("To {act}.")).await;
        let mut late = app.db.superuser().await;
        let add = r#"BEGIN; UPDATE candidates SET detail = jsonb_set(detail, '{evidence,1}', '{"quote": "And tea."}')"#;
        sqlx::raw_sql(add).execute(&mut late).await.unwrap();
        let client = made.client.clone();
        let deciding = tokio::spawn(async move { client.review(&id, act, body).await.expect(200) });
        until_somebody_waits(&mut app.db.superuser().await).await;
        sqlx::raw_sql("COMMIT").execute(&mut late).await.unwrap();
        let decided = deciding.await.unwrap();
        assert_eq!(decided["candidate"]["evidence"].as_array().unwrap().len(), 2);
        assert_eq!(decided["record"]["metadata"]["evidence"], decided["candidate"]["evidence"], "{act}");
    }
}

#[tokio::test]
async fn what_becomes_personal_while_a_reviewer_decides_is_decided_as_that() {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("late").await;
    let normal = json!({ "namespace": "default", "sensitivity": ["normal"] });
    let normal = app.anyone().capability(&app.exchange(&made.key, normal).await);
    for (client, status) in [(normal, 404), (made.client.clone(), 200)] {
        let written = made.client.propose(pending(&format!("Waits for {status}."))).await;
        let id = written["candidate"]["id"].as_str().unwrap().to_owned();
        let mut late = app.db.superuser().await;
        let raise = r#"BEGIN; UPDATE candidates SET sensitivity = 'personal',
                         detail = jsonb_set(detail, '{semantic,sensitivity}', '"personal"')"#;
        sqlx::raw_sql(raise).execute(&mut late).await.unwrap();
        let deciding = tokio::spawn(async move { client.review(&id, "approve", json!({})).await });
        until_somebody_waits(&mut app.db.superuser().await).await;
        sqlx::raw_sql("COMMIT").execute(&mut late).await.unwrap();
        let decided = deciding.await.unwrap().expect(status);
        if status == 200 {
            assert_eq!(decided["record"]["sensitivity"], "personal");
        }
    }
}

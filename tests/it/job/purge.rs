//! How long jobs are kept, and what goes with them.

use chrono::TimeDelta;

use crate::support::TestApp;

async fn count(app: &TestApp, table: &str) -> i64 {
    let sql = sqlx::AssertSqlSafe(format!("SELECT count(*) FROM {table}"));
    sqlx::query_scalar(sql).fetch_one(&mut app.db.superuser().await).await.unwrap()
}

#[tokio::test]
async fn done_jobs_are_kept_for_a_week_and_failed_ones_for_a_month() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("alice").await.client;
    app.captured(&client, "I prefer green tea.").await;
    app.captured(&client, "Nothing of note.").await;
    client.capture("I prefer black tea.").await;
    let sql = "UPDATE jobs SET status = 'failed' WHERE status = 'queued'";
    sqlx::query(sql).execute(&mut app.db.superuser().await).await.unwrap();
    for (days, jobs, sources) in [(6, 3, 3), (2, 1, 2), (21, 1, 2), (2, 0, 1)] {
        app.app.clock.shift(TimeDelta::days(days));
        memtide::job::tidy(&app.app).await;
        assert_eq!((count(&app, "jobs").await, count(&app, "sources").await), (jobs, sources), "{days}");
    }
    // The text that a record was made of stays as long as the record.
    assert_eq!(count(&app, "source_memories").await, 1);
}

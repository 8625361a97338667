//! Jobs that fail: tried again with growing pauses, then given up with a reason (XD-15, C158, R-12).

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use crate::support::stub::{EmbeddingStub, Reply};
use crate::support::{Made, TestApp};

/// A caller whose capability is fresh: time has passed.
async fn fresh(app: &TestApp, made: &Made) -> crate::support::Client {
    app.anyone().capability(&app.exchange(&made.key, json!({ "namespace": "default" })).await)
}

async fn due_at(app: &TestApp) -> DateTime<Utc> {
    sqlx::query_scalar("SELECT due_at FROM jobs").fetch_one(&mut app.db.superuser().await).await.unwrap()
}

/// Tries a job until it is over. Gives the pauses.
async fn try_until_over(app: &TestApp) -> Vec<TimeDelta> {
    let mut pauses = Vec::new();
    loop {
        let before = app.app.clock.now();
        assert_eq!(app.work().await, 1);
        let pause = due_at(app).await - before;
        let open: bool = sqlx::query_scalar("SELECT EXISTS (SELECT FROM jobs WHERE status = 'queued')")
            .fetch_one(&mut app.db.superuser().await)
            .await
            .unwrap();
        if !open {
            return pauses;
        }
        assert_eq!(app.work().await, 0, "it waits");
        pauses.push(pause);
        app.app.clock.shift(pause + TimeDelta::milliseconds(50));
    }
}

#[tokio::test]
async fn a_job_that_always_fails_is_given_up_with_its_reason_and_can_be_retried_c158_xd15() {
    let stub = EmbeddingStub::start((0..6).map(|_| Reply::Status(500, None))).await;
    let app = TestApp::start_with(stub.embedder("stub").await).await;
    let made = app.tenant("alice").await;
    let id = made.client.capture("I prefer green tea.").await;
    let pauses = try_until_over(&app).await;
    assert_eq!(pauses.len(), 5, "five retries: {pauses:?}");
    assert!(pauses.is_sorted_by(|one, next| *next > *one * 2), "{pauses:?}");
    app.app.clock.shift(TimeDelta::hours(2));
    assert_eq!(app.work().await, 0, "it is over");

    let client = fresh(&app, &made).await;
    let job = client.job(&id).await;
    assert_eq!((&job["status"], &job["memory_ids"]), (&json!("failed"), &json!([])));
    assert_eq!(job["error"], "the embedder is unavailable");
    assert_eq!(client.listed("").await.len(), 0, "nothing of it is stored");
    let kept: String = sqlx::query_scalar("SELECT content FROM sources")
        .fetch_one(&mut app.db.superuser().await)
        .await
        .unwrap();
    assert_eq!(kept, "I prefer green tea.", "the source is kept");

    let operator = app.operator().await;
    let failed = operator.get("/v1/admin/jobs?status=failed").await.expect(200);
    let listed = &failed["items"][0];
    assert_eq!((&listed["id"], &listed["attempts"]), (&json!(id), &json!(6)));
    let path = format!("/v1/admin/jobs/{id}/retry");
    let retried = operator.post(&path, Value::Null).await;
    let retried = if retried.status == 200 {
        retried
    } else {
        operator.send(axum::http::Method::POST, &path, None).await
    };
    assert_eq!(retried.expect(200)["job"]["status"], "queued");
    app.work().await;
    let job = client.job(&id).await;
    assert_eq!((&job["status"], job.get("error")), (&json!("done"), None), "{job}");
    assert_eq!(client.listed("").await.len(), 1);
}

/// C158: what makes a job fail does not touch the others, and a job that the domain cannot read is a fault, not a panic.
#[tokio::test]
async fn other_jobs_go_on_beside_one_that_cannot_be_done_c158() {
    let app = TestApp::start_lexical().await;
    app.leaves_jobs();
    let client = app.tenant("alice").await.client;
    let broken = client.capture("I prefer green tea.").await;
    let mut superuser = app.db.superuser().await;
    sqlx::query("UPDATE jobs SET reach = NULL").execute(&mut superuser).await.unwrap();
    let good = client.capture("I prefer black tea.").await;
    app.work().await;
    assert_eq!(client.job(&good).await["status"], "done");
    let job = client.job(&broken).await;
    assert_eq!((&job["status"], &job["error"]), (&json!("queued"), &json!("internal error")));
}

/// A job that ends the process every time is given up, too: it must not end the next one.
#[tokio::test]
async fn a_job_whose_node_dies_every_time_is_given_up_c158() {
    let app = TestApp::start_lexical().await;
    app.leaves_jobs();
    let made = app.tenant("alice").await;
    let id = made.client.capture("I prefer green tea.").await;
    let mut superuser = app.db.superuser().await;
    let died = "UPDATE jobs SET status = 'running', attempts = $1, due_at = now() - interval '1 second'";
    sqlx::query(died).bind(5).execute(&mut superuser).await.unwrap();
    let claimed = "UPDATE jobs SET reach = reach";
    sqlx::query(claimed).execute(&mut superuser).await.unwrap();
    sqlx::query(died).bind(6).execute(&mut superuser).await.unwrap();
    assert_eq!(app.work().await, 0);
    let job = made.client.job(&id).await;
    assert_eq!(job["status"], "failed");
    assert!(job["error"].as_str().unwrap().contains("ended while it was under way"), "{job}");
}

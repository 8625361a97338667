//! Jobs as operators see them.

use axum::http::Method;
use serde_json::json;

use crate::support::process::Settings;
use crate::support::{TestApp, each};

const JOBS: &str = "/v1/admin/jobs";

#[tokio::test]
async fn operators_list_jobs_of_all_tenants_without_a_word_of_them_r53() {
    let app = TestApp::start_lexical().await;
    let (one, two) = (app.tenant("one").await, app.tenant("two").await);
    let first = one.client.capture("I prefer green tea.").await;
    app.work().await;
    let second = two.client.capture("I prefer black tea.").await;
    let operator = app.operator().await;
    let all = operator.get(JOBS).await;
    assert!(!all.text.contains("tea") && !all.text.contains("mem_"), "{}", all.text);
    let all = all.expect(200);
    assert_eq!(each(&all["items"], "id"), [&json!(second), &json!(first)], "newest first");
    let job = &all["items"][1];
    let shape = json!({ "id": first, "tenant_id": one.id, "kind": "capture", "status": "done", "attempts": 1,
        "created_at": job["created_at"], "updated_at": job["updated_at"] });
    assert_eq!(*job, shape);
    for (status, wanted) in [("done", 1), ("queued", 1), ("running", 0), ("failed", 0)] {
        let page = operator.get(&format!("{JOBS}?status={status}")).await.expect(200);
        assert_eq!(page["items"].as_array().unwrap().len(), wanted, "{status}");
    }
    operator.get(&format!("{JOBS}?status=dead")).await.refused(400, "invalid_request");
    let page = operator.get(&format!("{JOBS}?limit=1")).await.expect(200);
    let next = format!("{JOBS}?limit=1&cursor={}", page["next_cursor"].as_str().unwrap());
    let next = operator.get(&next).await.expect(200);
    assert_eq!((&next["items"][0]["id"], next.get("next_cursor")), (&json!(first), None));
    one.client.get(JOBS).await.refused(403, "forbidden");
    app.work().await;
}

#[tokio::test]
async fn only_a_job_that_failed_can_be_retried() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("alice").await.client;
    let id = client.capture("I prefer green tea.").await;
    let operator = app.operator().await;
    let path = format!("{JOBS}/{id}/retry");
    operator.send(Method::POST, &path, None).await.refused(409, "conflict");
    app.work().await;
    operator.send(Method::POST, &path, None).await.refused(409, "conflict");
    let unknown = format!("{JOBS}/{}/retry", memtide::id::JobId::new());
    operator.send(Method::POST, &unknown, None).await.refused(404, "not_found");
}

#[tokio::test]
async fn the_command_line_does_the_same() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("alice").await.client;
    let id = client.capture("I prefer green tea.").await;
    let sql = "UPDATE jobs SET status = 'failed', attempts = 6, error = 'x'";
    sqlx::query(sql).execute(&mut app.db.superuser().await).await.unwrap();
    let settings = Settings::of(&app.db.config());
    let listed = settings.run(&["admin", "job", "list", "--status", "failed"]).await;
    assert!(listed.stdout.contains(&id) && listed.stdout.lines().count() == 1, "{listed:?}");
    let retried = settings.run(&["admin", "job", "retry", &id]).await;
    assert!(retried.stdout.contains("\"queued\""), "{retried:?}");
    assert_ne!(settings.run(&["admin", "job", "retry", &id]).await.code, Some(0));
    app.work().await;
    assert_eq!(client.job(&id).await["status"], "done");
}

//! Processes that end while a job is under way (XD-15).

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sqlx::PgConnection;

use crate::support::TestDb;
use crate::support::process::Settings;
use crate::support::stub::EmbeddingStub;
use crate::support::wire::{self, Wire};

const PATIENCE: Duration = Duration::from_mins(1);

fn settings(db: &TestDb, provider: &EmbeddingStub) -> Settings {
    Settings::of(&db.config())
        .with("MEMTIDE_EMBEDDER", "http")
        .with("MEMTIDE_EMBED_URL", &provider.base_url)
        .with("MEMTIDE_EMBED_DIMENSIONS", 2)
}

async fn capture(caller: &Wire, content: &str) -> String {
    let body = json!({ "task_content": content });
    let taken = caller.post("/v1/memory/capture", &body).await.unwrap().expect(202);
    taken["job_id"].as_str().unwrap().to_owned()
}

async fn done(caller: &Wire, id: &str) -> Value {
    let start = Instant::now();
    loop {
        let job = caller.get(&format!("/v1/memory/jobs/{id}")).await.unwrap().expect(200)["job"].clone();
        if job["status"] == "done" {
            return job;
        }
        assert!(start.elapsed() < PATIENCE, "{job}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn asked(provider: &EmbeddingStub, requests: usize) {
    let start = Instant::now();
    while provider.requests().len() < requests {
        assert!(start.elapsed() < PATIENCE, "the job never got to the embedder");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The end of every lease, which would else be waited for.
async fn end_leases(superuser: &mut PgConnection) {
    let sql = "UPDATE jobs SET due_at = due_at - interval '1 minute' WHERE status = 'running'";
    sqlx::query(sql).execute(superuser).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_capture_survives_a_kill_between_its_answer_and_its_end_xd15() {
    let db = TestDb::create().await;
    let slow = EmbeddingStub::slow(2, Duration::from_secs(5)).await;
    let key = settings(&db, &slow).make_tenant("kill").await;
    let mut server = settings(&db, &slow).serve().await;
    let caller = wire::caller(&server.url, &key).await;
    // One is killed in the middle of its job, the other right after its answer.
    let first = capture(&caller, "I prefer green tea.").await;
    asked(&slow, 1).await;
    let second = capture(&caller, "I live in Lisbon.").await;
    server.kill();

    let mut superuser = db.superuser().await;
    let stored: i64 =
        sqlx::query_scalar("SELECT count(*) FROM memories").fetch_one(&mut superuser).await.unwrap();
    assert_eq!(stored, 0, "they were killed before their ends");
    end_leases(&mut superuser).await;
    let quick = EmbeddingStub::start([]).await;
    let server = settings(&db, &quick).serve().await;
    let caller = wire::caller(&server.url, &key).await;
    for (job, content) in [(&first, "I prefer green tea."), (&second, "I live in Lisbon.")] {
        let job = done(&caller, job).await;
        let path = format!("/v1/memory/items/{}", job["memory_ids"][0].as_str().unwrap());
        assert_eq!(caller.get(&path).await.unwrap().expect(200)["record"]["content"], content);
    }
    let rows: (i64, i64) = sqlx::query_as("SELECT count(*), sum(version)::int8 FROM memories")
        .fetch_one(&mut superuser)
        .await
        .unwrap();
    assert_eq!(rows, (2, 2), "each once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_is_told_to_stop_gives_its_jobs_back() {
    let db = TestDb::create().await;
    let slow = EmbeddingStub::slow(2, Duration::from_secs(5)).await;
    let key = settings(&db, &slow).make_tenant("stop").await;
    let mut server = settings(&db, &slow).serve().await;
    let caller = wire::caller(&server.url, &key).await;
    let id = capture(&caller, "I prefer green tea.").await;
    asked(&slow, 1).await;
    server.terminate();
    assert_eq!(server.ended(Duration::from_secs(10)).await.code(), Some(0), "{}", server.log());
    let job: (String, i32, i32) = sqlx::query_as("SELECT status, attempts, fence FROM jobs")
        .fetch_one(&mut db.superuser().await)
        .await
        .unwrap();
    assert_eq!(job, ("queued".to_owned(), 0, 1), "it has not failed, and nobody holds it");
    // The next one takes it at once.
    let quick = EmbeddingStub::start([]).await;
    let server = settings(&db, &quick).serve().await;
    let caller = wire::caller(&server.url, &key).await;
    assert_eq!(done(&caller, &id).await["memory_ids"].as_array().unwrap().len(), 1);
}

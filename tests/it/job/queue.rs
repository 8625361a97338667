//! Who does which job, when, and how often (XD-15).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use serde_json::json;

use crate::support::stub::EmbeddingStub;
use crate::support::{Client, TestApp};

/// What takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until a job is done, as a client would.
async fn done(client: &Client, id: &str) {
    let start = Instant::now();
    while client.job(id).await["status"] != "done" {
        assert!(start.elapsed() < PATIENCE, "{}", client.job(id).await);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_share_the_jobs_and_none_is_done_twice_xd15() {
    let stub = EmbeddingStub::slow(2, Duration::from_millis(20)).await;
    let app = TestApp::start_with(stub.embedder("stub").await).await;
    let (second, _) = app.second_node().await;
    let clients = [app.tenant("one").await.client, app.tenant("two").await.client];
    let mut jobs = Vec::new();
    for number in 0..30 {
        for client in &clients {
            jobs.push((client, client.capture(&format!("I prefer tea number {number}.")).await));
        }
    }
    let running = [&app.app, &second].map(|node| tokio::spawn(memtide::job::run(node.clone())));
    for (client, job) in &jobs {
        done(client, job).await;
    }
    let mut asked: BTreeMap<String, usize> = BTreeMap::new();
    for text in stub.requests().into_iter().flat_map(|request| request.texts) {
        *asked.entry(text).or_default() += 1;
    }
    assert_eq!(asked.len(), 30);
    assert!(asked.values().all(|times| *times == clients.len()), "{asked:?}");
    let sql = "SELECT count(*) FILTER (WHERE attempts = 1 AND fence = 1), count(*) FROM jobs";
    let counts: (i64, i64) = sqlx::query_as(sql).fetch_one(&mut app.db.superuser().await).await.unwrap();
    assert_eq!(counts, (60, 60));
    second.stop();
    app.app.stop();
    for node in running {
        node.await.unwrap();
    }
}

#[tokio::test]
async fn a_node_is_woken_at_once_by_what_it_is_asked_for() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("alice").await.client;
    let running = tokio::spawn(memtide::job::run(app.app.clone()));
    // Its first look is over, and the next is a second away.
    done(&client, &client.capture("I prefer black tea.").await).await;
    let (start, mut turns) = (Instant::now(), 0);
    while start.elapsed() < Duration::from_secs(2) {
        done(&client, &client.capture(&format!("I prefer tea number {turns}.")).await).await;
        turns += 1;
    }
    assert!(turns > 8, "{turns} jobs in two seconds: who is not woken does two");
    app.app.stop();
    running.await.unwrap();
}

#[tokio::test]
async fn a_tenant_with_many_jobs_does_not_keep_another_waiting() {
    let stub = EmbeddingStub::start([]).await;
    let app = TestApp::start_with(stub.embedder("stub").await).await;
    let (many, few) = (app.tenant("many").await.client, app.tenant("few").await.client);
    for number in 0..60 {
        many.capture(&format!("I prefer tea number {number}.")).await;
    }
    few.capture("I prefer coffee.").await;
    app.work().await;
    let place = stub.requests().iter().position(|request| request.texts[0] == "I prefer coffee.").unwrap();
    assert!(place < 16, "61 jobs, and the other tenant's was number {place}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_whose_node_is_silent_is_taken_over_and_settled_once() {
    let stub = EmbeddingStub::slow(2, Duration::from_secs(1)).await;
    let app = TestApp::start_with(stub.embedder("stub").await).await;
    let client = app.tenant("alice").await.client;
    let id = client.capture("I prefer green tea.").await;
    let (second, _) = app.second_node().await;
    let first = app.app.clone();
    let slow = tokio::spawn(async move { memtide::job::work(&first).await });
    while stub.requests().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(memtide::job::work(&second).await, 0, "it is held");
    app.app.clock.shift(TimeDelta::seconds(61));
    assert_eq!(memtide::job::work(&second).await, 1, "its lease is over");
    assert_eq!(slow.await.unwrap(), 1);
    let sql = "SELECT status, attempts, fence, (SELECT count(*) FROM memories), (SELECT count(*) FROM memory_versions)
               FROM jobs";
    let row: (String, i32, i32, i64, i64) =
        sqlx::query_as(sql).fetch_one(&mut app.db.superuser().await).await.unwrap();
    assert_eq!(row, ("done".to_owned(), 2, 2, 1, 1), "{id}");
    second.stop();
}

#[tokio::test]
async fn a_suspended_tenants_jobs_wait() {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("alice").await;
    let id = made.client.capture("I prefer green tea.").await;
    let operator = app.operator().await;
    let path = format!("/v1/admin/tenants/{}", made.id);
    operator.patch(&path, json!({ "status": "suspended" })).await.expect(200);
    assert_eq!(app.work().await, 0);
    operator.patch(&path, json!({ "status": "active" })).await.expect(200);
    assert_eq!(app.work().await, 1);
    done(&made.client, &id).await;
}

/// an id of something else, of another tenant or namespace, or of nothing.
#[tokio::test]
async fn a_job_that_is_not_ones_own_does_not_exist_r07_r30() {
    let app = TestApp::start_lexical().await;
    let (made, other) = (app.tenant("alice").await, app.tenant("bob").await);
    let id = made.client.capture("I prefer green tea.").await;
    app.work().await;
    let elsewhere = app.exchange(&made.key, json!({ "namespace": "elsewhere" })).await;
    let path = format!("/v1/memory/jobs/{id}");
    for caller in [&other.client, &app.anyone().capability(&elsewhere)] {
        caller.get(&path).await.refused(404, "not_found");
    }
    made.client.get("/v1/memory/jobs/mem_00000000000000000000000000").await.refused(404, "not_found");
    made.client.get("/v1/memory/jobs/none").await.names(400, "id");
}

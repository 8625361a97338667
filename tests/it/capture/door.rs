//! What is taken, and how it is answered (D-040 to D-044, XD-14).

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::stub::EmbeddingStub;
use crate::support::{TestApp, with};

const CAPTURE: &str = "/v1/memory/capture";

fn task(content: &str) -> Value {
    json!({ "task_content": content })
}

#[tokio::test]
async fn a_capture_is_answered_with_its_job_d040_d044_xd14_r25() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("alice").await.client;
    let taken = client.post(CAPTURE, task("I prefer green tea.")).await.expect(202);
    let id = taken["job_id"].as_str().unwrap();
    assert!(id.starts_with("job_") && id.len() == 30, "R-07: {id}");
    assert_eq!(taken, json!({ "ok": true, "job_id": id, "status": "queued" }));
    let job = client.job(id).await;
    assert_eq!(
        (&job["status"], &job["memory_ids"], &job["kind"]),
        (&json!("queued"), &json!([]), &json!("capture"))
    );
    app.work().await;
}

#[tokio::test]
async fn a_text_of_32_kb_is_taken_and_not_a_byte_more_c041() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("alice").await.client;
    let just = format!("I prefer tea.\n{}", "x".repeat(32_768 - 14));
    let two_bytes = format!("{}{}", "é".repeat(8_192), "x".repeat(16_384));
    for content in [&just, &two_bytes] {
        assert_eq!(content.len(), 32_768);
        client.post(CAPTURE, task(content)).await.expect(202);
    }
    for content in
        [format!("{just}x"), "語".repeat(11_000), format!("{}{}", "é".repeat(16_384), "x".repeat(16_384))]
    {
        let reply = client.post(CAPTURE, task(&content)).await;
        assert!(reply.text.contains("32 KB"), "{}", reply.text);
        let details = reply.names(413, "task_content");
        assert_eq!((&details["limit"], &details["actual"]), (&json!(32_768), &json!(content.len())));
    }
    for blank in ["", "  \n", "\u{200B}", "\0"] {
        client.post(CAPTURE, task(blank)).await.names(400, "task_content");
    }
    app.work().await;
}

#[tokio::test]
async fn a_description_is_cut_and_a_client_is_checked_d041_d042_d055() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("alice").await.client;
    let more = json!({ "task_description": format!("one\r\ntwo {}", "é".repeat(600)),
        "client": { "conversation_id": " c1 ", "conversation_title": "t".repeat(300) } });
    client.post(CAPTURE, with(task("I prefer tea."), more)).await.expect(202);
    let sql = "SELECT description, conversation_id, conversation_title FROM sources";
    let (description, id, title): (String, String, String) =
        sqlx::query_as(sql).fetch_one(&mut app.db.superuser().await).await.unwrap();
    assert_eq!((description.chars().count(), title.chars().count(), id.as_str()), (500, 200, "c1"));
    assert!(description.starts_with("one two é"), "{description}");
    for (client_part, field, status) in [
        (json!({ "conversation_id": "x".repeat(257) }), "client.conversation_id", 400),
        (json!({ "conversation": "c1" }), "", 422),
        (json!("c1"), "", 422),
    ] {
        let reply = client.post(CAPTURE, with(task("I prefer tea."), json!({ "client": client_part }))).await;
        assert_eq!(reply.status.as_u16(), status, "{}", reply.text);
        if !field.is_empty() {
            reply.names(400, field);
        }
    }
    client
        .post(CAPTURE, with(task("I prefer tea."), json!({ "more": 1 })))
        .await
        .refused(422, "unprocessable");
    app.work().await;
}

#[tokio::test]
async fn a_repeated_capture_makes_one_job_r11() {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("alice").await;
    let client = made.client.with("idempotency-key", "once");
    let first = client.post(CAPTURE, task("I prefer tea.")).await;
    let again = client.post(CAPTURE, task("I prefer tea.")).await;
    assert_eq!(again.headers["idempotent-replayed"], "true");
    assert_eq!(first.expect(202), again.expect(202));
    client.post(CAPTURE, task("I prefer coffee.")).await.refused(422, "idempotency_mismatch");
    assert_eq!(app.work().await, 1);
}

#[tokio::test]
async fn a_tenant_with_too_many_jobs_is_told_to_wait_r34() {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("alice").await;
    let other = app.tenant("bob").await;
    let path = format!("/v1/admin/tenants/{}", made.id);
    app.operator().await.patch(&path, json!({ "limits": { "max_queued_jobs": 2 } })).await.expect(200);
    for number in 0..2 {
        made.client.capture(&format!("I prefer tea number {number}.")).await;
    }
    let refused = made.client.post(CAPTURE, task("I prefer tea.")).await;
    assert!(refused.headers.contains_key("retry-after"));
    refused.refused(429, "rate_limited");
    let sources: i64 = sqlx::query_scalar("SELECT count(*) FROM sources")
        .fetch_one(&mut app.db.superuser().await)
        .await
        .unwrap();
    assert_eq!(sources, 2, "what is refused is not stored");
    other.client.capture("I prefer tea.").await;
    app.work().await;
    app.captured(&made.client, "I prefer tea.").await;
}

#[tokio::test]
async fn a_token_that_does_not_reach_its_own_memory_captures_nothing() {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("alice").await;
    let request = json!({ "namespace": "default", "scopes": [{ "kind": "workspace", "key": "w" }] });
    let narrow = app.anyone().capability(&app.exchange(&made.key, request).await);
    narrow.post(CAPTURE, task("I prefer tea.")).await.refused(403, "forbidden");
}

/// XD-14, C154: the embedder takes five seconds, and nobody waits for it but the jobs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_embedder_delays_neither_captures_nor_reads_and_no_connection_waits_c154() {
    let stub = EmbeddingStub::slow(2, Duration::from_secs(3)).await;
    let app = TestApp::start_with(stub.embedder("slow").await).await;
    app.leaves_jobs();
    let client = app.tenant("alice").await.client;
    let running = tokio::spawn(memtide::job::run(app.app.clone()));
    let (mut captures, mut reads) = (Vec::new(), Vec::new());
    for number in 0..50 {
        let text = format!(
            "I prefer tea number {number}.\n{}",
            "x".repeat(if number % 2 == 0 { 0 } else { 32_000 })
        );
        let start = Instant::now();
        client.capture(&text).await;
        captures.push(start.elapsed());
        let start = Instant::now();
        client.get("/v1/memory/items").await.expect(200);
        reads.push(start.elapsed());
    }
    while stub.requests().len() < 8 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
               AND state LIKE 'idle in transaction%' AND clock_timestamp() - state_change > interval '100 ms'";
    let waiting: i64 = sqlx::query_scalar(sql).fetch_one(&mut app.db.superuser().await).await.unwrap();
    assert_eq!(waiting, 0, "a connection waits for the embedder");
    for (what, mut times) in [("captures", captures), ("reads", reads)] {
        times.sort();
        eprintln!("{what}: median {:?}, slowest {:?}", times[25], times[49]);
        assert!(times[49] < Duration::from_secs(1), "{what} wait: {times:?}");
        assert!(times[25] < Duration::from_millis(200), "{what} wait: {times:?}");
    }
    app.app.stop();
    running.await.unwrap();
}

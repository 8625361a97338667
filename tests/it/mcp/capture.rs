//! Capturing what a task has brought about.

use serde_json::json;

use crate::support::TestApp;

const CAPTURE: &str = "capture_task";

/// D-040 to D-045, XD-14, XD-15: taken at once; the facts are found a moment later, in their conversation.
#[tokio::test]
async fn a_task_is_captured_and_its_facts_are_found_d043_d044_xd14_xd15() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("acme").await.client;
    let arguments = json!({
        "task_content": "I prefer green tea to coffee.",
        "task_description": "A letter.\nOn drinks.",
        "client": { "conversation_id": "c1", "conversation_title": "Drinks" },
        "priority": "high",
    });
    let taken = client.tool(CAPTURE, arguments).await;
    assert_eq!(taken["status"], "queued");
    let id = taken["job_id"].as_str().unwrap();
    assert!(id.starts_with("job_"), "{taken}");
    app.work().await;
    let job = client.job(id).await;
    assert_eq!((&job["status"], job["memory_ids"].as_array().unwrap().len()), (&json!("done"), 1), "{job}");
    let wanted = json!({ "query": "green tea", "conversation_id": "c1", "dedupe_recent": false });
    let found = client.tool("search_memory", wanted).await;
    assert_eq!(found["relevant"][0]["id"], job["memory_ids"][0], "{found}");
}

/// C041, XD-14: over the limit is refused and named, never cut.
#[tokio::test]
async fn a_text_over_the_limit_is_refused_and_named_c041_xd14() {
    let app = TestApp::start_lexical().await;
    app.leaves_jobs();
    let client = app.tenant("acme").await.client;
    client.tool(CAPTURE, json!({ "task_content": "x".repeat(32_768) })).await;
    for text in ["x".repeat(32_769), "茶".repeat(11_000)] {
        let bytes = text.len();
        let error = client.tool_fails(CAPTURE, json!({ "task_content": text }), "payload_too_large").await;
        assert_eq!(error["details"], json!({ "field": "task_content", "limit": 32_768, "actual": bytes }));
    }
    for (arguments, field) in [
        (json!({ "task_content": " " }), "task_content"),
        (json!({}), "task_content"),
        (json!({ "task_content": ["x"] }), "task_content"),
        (json!({ "task_content": "x", "task_description": 7 }), "task_description"),
        (json!({ "task_content": "x", "client": { "thread": "c" } }), "client.thread"),
    ] {
        let error = client.tool_fails(CAPTURE, arguments, "invalid_request").await;
        assert_eq!(error["details"]["field"], field);
    }
}

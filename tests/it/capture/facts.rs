//! What becomes of what is found (D-043, R-12, XD-16).

use serde_json::json;

use crate::support::{TestApp, with};

#[tokio::test]
async fn what_is_found_is_stored_with_where_it_comes_from_d043_d056_r12_xd16() {
    let app = TestApp::start().await;
    let client = app.tenant("alice").await.client;
    let text = "The build took nine minutes.\nI prefer green tea.\n";
    let body =
        json!({ "task_content": text, "client": { "conversation_id": "c1", "conversation_title": "Tea" } });
    let taken = client.post("/v1/memory/capture", body).await.expect(202);
    app.work().await;
    let job = client.job(taken["job_id"].as_str().unwrap()).await;
    assert_eq!((&job["status"], &job["extracted_by"]), (&json!("done"), &json!("rules")));
    assert_eq!(job["memory_ids"].as_array().unwrap().len(), 1, "{job}");
    let path = format!("/v1/memory/items/{}", job["memory_ids"][0].as_str().unwrap());
    let record = client.get(&path).await.expect(200)["record"].clone();
    assert_eq!((&record["content"], &record["status"]), (&json!("I prefer green tea."), &json!("active")));
    assert_eq!(record["scope"], json!({ "kind": "user", "key": "default" }), "XD-17");
    assert_eq!(record["source_context_kind"], "generated_summary");
    assert_eq!(record["provenance"]["created_by"]["kind"], "extractor");
    assert_eq!(record["provenance"]["source_kind"], "background_extractor");
    let source = record["provenance"]["source_item_id"].as_str().unwrap();
    assert!(source.starts_with("src_"));
    let metadata = &record["metadata"];
    assert_eq!(metadata["client"], json!({ "conversation_id": "c1", "conversation_title": "Tea" }));
    assert_eq!((&metadata["extractor"], metadata["type"].is_string()), (&json!("rules"), true));
    let evidence = &metadata["evidence"][0];
    assert_eq!(
        (&evidence["source_ref"], &evidence["quote"]),
        (&json!(source), &json!("I prefer green tea."))
    );
    let span = |end: &str| usize::try_from(evidence["span"][end].as_u64().unwrap()).unwrap();
    assert_eq!(&text[span("start")..span("end")], "I prefer green tea.");
    let sql = "SELECT s.content FROM sources s JOIN source_memories USING (tenant_id, ns, source_id)";
    let kept: String = sqlx::query_scalar(sql).fetch_one(&mut app.db.superuser().await).await.unwrap();
    assert_eq!(kept, text, "the source is kept to the letter");
    // The score and the decision are those of any candidate.
    let candidates = client.get("/v1/memory/candidates").await.expect(200);
    let candidate = &candidates["candidates"][0];
    assert_eq!((&candidate["status"], &candidate["reason"]), (&json!("approved"), &json!("captured")));
    assert!(candidate["score"].as_f64().unwrap() > 0.5, "{candidate}");
    assert_eq!(candidate["memory_id"], record["id"]);
    assert_eq!(client.found("which tea").await, ["I prefer green tea."]);
}

/// C118 asks for a rejection under default settings; XD-16 (Z-5) has it stored: the contract wins.
#[tokio::test]
async fn no_threshold_keeps_a_captured_fact_out_c118() {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("alice").await;
    let strict = json!({ "candidate_policy": { "auto_approve_min_score": 1.0, "auto_reject_max_score": 0.99,
        "allow_explicit_auto_approve": false } });
    let path = format!("/v1/admin/tenants/{}", made.id);
    app.operator().await.patch(&path, json!({ "settings": strict })).await.expect(200);
    let job = app.captured(&made.client, "I prefer green tea.").await;
    assert_eq!(job["memory_ids"].as_array().unwrap().len(), 1, "{job}");
}

#[tokio::test]
async fn the_same_text_again_adds_nothing_and_names_the_same_records() {
    let app = TestApp::start().await;
    let client = app.tenant("alice").await.client;
    let first = app.captured(&client, "I prefer green tea.").await;
    let again = app.captured(&client, "I prefer green tea.").await;
    assert_eq!(first["memory_ids"], again["memory_ids"]);
    assert_eq!(client.listed("").await.len(), 1);
    let links: i64 = sqlx::query_scalar("SELECT count(*) FROM source_memories")
        .fetch_one(&mut app.db.superuser().await)
        .await
        .unwrap();
    assert_eq!(links, 2, "both texts are known to say it");
}

#[tokio::test]
async fn a_text_without_facts_gives_none_and_says_so_r12() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("alice").await.client;
    let job = app.captured(&client, "Compiling memtide v0.1.0\nFinished in 9 minutes.").await;
    assert_eq!(job["memory_ids"], json!([]));
    assert!(job.get("error").is_none(), "{job}");
    assert_eq!(client.listed("").await.len(), 0);
}

/// what a job writes is within the token that captured, whatever else the key could do.
#[tokio::test]
async fn a_job_writes_in_the_scope_of_the_token_that_captured_xd17() {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("alice").await;
    let request = json!({ "namespace": "team", "scopes": [{ "kind": "user", "key": "bob" }] });
    let bob = app.anyone().capability(&app.exchange(&made.key, request).await);
    let job = app.captured(&bob, "I prefer green tea.").await;
    let path = format!("/v1/memory/items/{}", job["memory_ids"][0].as_str().unwrap());
    let record = bob.get(&path).await.expect(200)["record"].clone();
    assert_eq!((&record["scope"]["key"], &record["namespace"]), (&json!("bob"), &json!("team")));
    // Another user of the same namespace sees neither the record nor the job.
    let request = json!({ "namespace": "team", "scopes": [{ "kind": "user", "key": "carol" }] });
    let carol = app.anyone().capability(&app.exchange(&made.key, request).await);
    carol.get(&path).await.refused(404, "not_found");
    carol.get(&format!("/v1/memory/jobs/{}", job["id"].as_str().unwrap())).await.refused(404, "not_found");
    made.client
        .get(&format!("/v1/memory/jobs/{}", job["id"].as_str().unwrap()))
        .await
        .refused(404, "not_found");
}

#[tokio::test]
async fn a_captured_fact_is_told_like_any_other() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("alice").await.client;
    let mut events = client.events("/v1/memory/events").await;
    let body = with(json!({ "task_content": "I prefer green tea." }), json!({}));
    client.post("/v1/memory/capture", body).await.expect(202);
    app.work().await;
    let told = events.until("memory/changed").await;
    assert_eq!(told["record"]["content"], "I prefer green tea.");
    assert_eq!(told["actor"]["kind"].as_str().unwrap_or("extractor"), "extractor");
}

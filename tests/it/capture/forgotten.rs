//! What a user forgot is not captured back (R-06, XC-31).

use serde_json::json;

use crate::support::{TestApp, fact, with};

const TEXT: &str = "I prefer green tea.";

#[tokio::test]
async fn a_capture_does_not_bring_back_what_was_forgotten_c107_r06() {
    let app = TestApp::start().await;
    let client = app.tenant("alice").await.client;
    let job = app.captured(&client, TEXT).await;
    let path = format!("/v1/memory/items/{}", job["memory_ids"][0].as_str().unwrap());
    let record = client.get(&path).await.expect(200)["record"].clone();
    client.delete(&path).await.expect(200);
    for _ in 0..2 {
        let again = app.captured(&client, TEXT).await;
        assert_eq!(again["memory_ids"], json!([]), "{again}");
    }
    assert_eq!(client.listed("").await.len(), 0);
    let page = client.get("/v1/memory/candidates?status=auto_rejected").await.expect(200);
    let rejected = page["candidates"].as_array().unwrap();
    assert_eq!(rejected.len(), 1, "XC-32: counted, not stored again: {page}");
    assert_eq!(rejected[0]["reason"], "suppressed_duplicate");
    // The user's own word does.
    let body = with(fact(TEXT), json!({ "scope": record["scope"], "category": record["category"] }));
    client.post("/v1/memory/items", body).await.expect(201);
    assert_eq!(client.listed("").await.len(), 1);
}

#[tokio::test]
async fn what_was_erased_while_it_waited_is_not_looked_at() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("alice").await.client;
    let first = app.captured(&client, TEXT).await;
    let waiting = client.capture(TEXT).await;
    // Silenced as by an erasure of a record that was made from it.
    sqlx::query("UPDATE sources SET content = NULL").execute(&mut app.db.superuser().await).await.unwrap();
    app.work().await;
    let job = client.job(&waiting).await;
    assert_eq!((&job["status"], &job["memory_ids"]), (&json!("done"), &json!([])));
    assert!(job["note"].as_str().unwrap().contains("erased"), "{job}");
    assert_ne!(first["id"], job["id"]);
}

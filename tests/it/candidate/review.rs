//! Decisions of reviewers: C-017 to C-022, PC-39, XC-30, C114.

use chrono::TimeDelta;
use serde_json::{Value, json};

use super::{acting, identity, reviewed};
use crate::support::{Made, TestApp, fact, pending, proposal, with};

async fn start() -> (TestApp, Made) {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("review").await;
    (app, made)
}

async fn status(made: &Made, id: &str) -> Value {
    made.client.get(&format!("/v1/memory/candidates/{id}")).await.expect(200)["candidate"]["status"].clone()
}

#[tokio::test]
async fn an_approved_candidate_is_an_active_record_c018() {
    let (app, made) = start().await;
    let assistant = acting(&app, &made, "assistant").await;
    let written = assistant.propose(pending("Likes the sea.")).await;
    let id = written["candidate"]["id"].as_str().unwrap();
    assert!(made.client.found("sea").await.is_empty(), "not before");
    let decided =
        made.client.review(id, "approve", json!({ "actor": { "kind": "system" } })).await.expect(200);
    let (candidate, record) = (&decided["candidate"], &decided["record"]);
    assert_eq!(
        (&candidate["status"], &candidate["decision_reason"]),
        (&json!("approved"), &json!("approved"))
    );
    assert_eq!(candidate["decided_by"], json!({ "kind": "user" }), "PC-06: from the token");
    assert_eq!(candidate["memory_id"], record["id"]);
    assert_eq!((&record["status"], &record["content"]), (&json!("active"), &json!("Likes the sea.")));
    assert_eq!(record["provenance"]["created_by"]["kind"], "assistant", "who proposed it wrote it");
    assert_eq!(made.client.found("sea").await, ["Likes the sea."], "R-10");
    let again = made.client.review(id, "approve", json!({})).await.expect(200);
    assert_eq!(again, decided, "idempotent");
    for (act, body) in [
        ("reject", json!({})),
        ("suppress_similar", json!({})),
        ("decide", json!({ "decision": "expire" })),
        ("edit_and_approve", json!({ "edited_text": "x" })),
        ("merge", json!({ "target_memory_id": record["id"] })),
    ] {
        made.client.review(id, act, body).await.refused(409, "not_pending");
    }
}

#[tokio::test]
async fn a_rejected_candidate_stays_rejected_c019() {
    let (_app, made) = start().await;
    let id = made.client.candidate("Likes the sea.").await;
    let decided = made.client.review(&id, "reject", json!({ "reason": "wrong" })).await.expect(200);
    assert_eq!((&decided["candidate"]["status"], decided.get("record")), (&json!("rejected"), None));
    assert_eq!(decided["candidate"]["decision_reason"], "wrong");
    assert_eq!(made.client.review(&id, "reject", json!({ "reason": "other" })).await.expect(200), decided);
    let params = json!({ "candidate_id": id });
    let error = made.client.refused("memory/candidates/approve", params, -32009, "not_pending").await;
    assert_eq!(error["message"], "the candidate is rejected, not pending");
    let written = made.client.propose(proposal("Likes the sea.")).await;
    assert_eq!(written["relation"], "suppressed_by_rejection");
}

#[tokio::test]
async fn decide_approves_rejects_and_expires_c017() {
    let (_app, made) = start().await;
    for (decision, status, reason) in [
        ("approve", "approved", "approved"),
        ("reject", "rejected", "rejected"),
        ("expire", "expired", "expired"),
    ] {
        let id = made.client.candidate(&format!("To {decision}.")).await;
        let params = json!({ "candidate_id": id, "decision": decision });
        let decided = made.client.call("memory/candidates/decide", params).await;
        assert_eq!(decided["candidate"]["status"], status);
        assert_eq!(decided["candidate"]["decision_reason"], reason);
        assert_eq!(decided.get("record").is_some(), decision == "approve");
    }
    let id = made.client.candidate("Undecided.").await;
    made.client.review(&id, "decide", json!({ "decision": "maybe" })).await.names(400, "decision");
    made.client.review(&id, "decide", json!({})).await.names(422, "decision");
    let long = json!({ "reason": "x".repeat(1_025) });
    made.client.review(&id, "approve", long).await.names(400, "reason");
    assert_eq!(status(&made, &id).await, "pending");
}

#[tokio::test]
async fn edit_and_approve_keeps_the_original_c020_c114() {
    let (_app, made) = start().await;
    let id = made.client.candidate("Likes the see.").await;
    for (text, field_status) in [("", 400), (" \u{200b}", 400), ("\u{0}", 400)] {
        made.client
            .review(&id, "edit_and_approve", json!({ "edited_text": text }))
            .await
            .names(field_status, "edited_text");
    }
    let huge = json!({ "edited_text": "x".repeat(1 << 20) });
    let details = made.client.review(&id, "edit_and_approve", huge).await.names(413, "edited_text");
    assert_eq!(details["limit"], 65_536);
    assert_eq!(status(&made, &id).await, "pending");
    let edit = json!({ "edited_text": "Likes the sea.", "edited_value": "sea" });
    let decided = made.client.review(&id, "edit_and_approve", edit).await.expect(200);
    assert_eq!(decided["record"]["content"], "Likes the sea.");
    let candidate = &decided["candidate"];
    assert_eq!(
        (&candidate["status"], &candidate["candidate_text"]),
        (&json!("approved"), &json!("Likes the sea."))
    );
    assert_eq!(candidate["decision_reason"], "edit_and_approved");
    assert_eq!(candidate["metadata"]["lifecycle"]["original_text"], "Likes the see.");
    let known = made.client.candidate("Likes the ocean.").await;
    let edit = json!({ "edited_text": "likes the  SEA." });
    let decided = made.client.review(&known, "edit_and_approve", edit).await.expect(200);
    assert_eq!(decided["candidate"]["status"], "merged_duplicate");
    assert_eq!(decided["candidate"]["memory_id"], decided["record"]["id"]);
    assert_eq!(made.client.listed("").await.len(), 1);
}

#[tokio::test]
async fn approval_supersedes_another_value_pc39() {
    let app = TestApp::start_lexical().await;
    let made = reviewed(&app, "review").await;
    let ada = made.client.propose(identity("Ada")).await;
    let eve = made.client.propose(identity("Eve")).await;
    assert_eq!(
        (&eve["relation"], &eve["candidate"]["status"]),
        (&json!("contradiction"), &json!("ask_on_use"))
    );
    let id = eve["candidate"]["id"].as_str().unwrap();
    let decided = made.client.review(id, "approve", json!({})).await.expect(200);
    assert_eq!(decided["record"]["content"], "The user's name is Eve.");
    let path = format!("/v1/memory/items/{}", ada["record"]["id"].as_str().unwrap());
    assert_eq!(made.client.get(&path).await.expect(200)["record"]["superseded_by"], decided["record"]["id"]);
}

#[tokio::test]
async fn merge_takes_one_target_and_gives_it_the_evidence_c021_xc30() {
    let (_app, made) = start().await;
    let record = made.client.remember(fact("Alice likes the coast.")).await;
    let (id, twin) =
        (made.client.candidate("Likes the sea.").await, made.client.candidate("Loves the sea.").await);
    for body in [json!({}), json!({ "target_memory_id": record["id"], "target_candidate_id": twin })] {
        made.client.review(&id, "merge", body).await.refused(400, "invalid_request");
    }
    let unknown = json!({ "target_memory_id": "mem_00000000000000000000000000" });
    made.client.review(&id, "merge", unknown).await.refused(404, "not_found");
    let bob = json!({ "scope": { "kind": "user", "key": "bob" }, "category": "custom", "content": "Bob's." });
    let bob = made.client.remember(bob).await;
    made.client
        .review(&id, "merge", json!({ "target_memory_id": bob["id"] }))
        .await
        .names(400, "target_memory_id");
    made.client.review(&id, "merge", json!({ "target_candidate_id": id })).await.refused(404, "not_found");
    let merged = made.client.review(&twin, "merge", json!({ "target_candidate_id": id })).await.expect(200);
    assert_eq!((&merged["candidate"]["status"], merged.get("record")), (&json!("merged_duplicate"), None));
    let kept = made.client.get(&format!("/v1/memory/candidates/{id}")).await.expect(200);
    assert_eq!(kept["candidate"]["evidence"].as_array().unwrap().len(), 2);
    let merged =
        made.client.review(&id, "merge", json!({ "target_memory_id": record["id"] })).await.expect(200);
    assert_eq!(merged["candidate"]["decision_reason"], "merged_duplicate");
    assert_eq!((&merged["record"]["content"], &merged["record"]["version"]), (&record["content"], &json!(2)));
    assert_eq!(merged["record"]["metadata"]["evidence"].as_array().unwrap().len(), 2);
    let third = made.client.candidate("Adores the sea.").await;
    made.client
        .review(&third, "merge", json!({ "target_candidate_id": id }))
        .await
        .refused(409, "not_pending");
    made.client.delete(&format!("/v1/memory/items/{}", record["id"].as_str().unwrap())).await.expect(200);
    made.client
        .review(&third, "merge", json!({ "target_memory_id": record["id"] }))
        .await
        .refused(409, "conflict");
    assert_eq!(status(&made, &third).await, "pending", "a refused action leaves it as it was (C116)");
}

#[tokio::test]
async fn candidates_expire_after_thirty_days_xc34() {
    let (app, made) = start().await;
    let id = made.client.candidate("Likes the sea.").await;
    let waiting = made.client.candidate("Likes tea.").await;
    let later =
        async || app.anyone().capability(&app.exchange(&made.key, json!({ "namespace": "default" })).await);
    app.app.clock.shift(TimeDelta::days(29));
    assert_eq!(
        later().await.get(&format!("/v1/memory/candidates/{id}")).await.expect(200)["candidate"]["status"],
        "pending"
    );
    app.app.clock.shift(TimeDelta::days(1) + TimeDelta::seconds(1));
    let client = later().await;
    let list = client.get("/v1/memory/candidates?status=pending").await.expect(200);
    assert_eq!(list["candidates"], json!([]), "whether or not the sweeper has seen it");
    client.review(&id, "approve", json!({})).await.refused(409, "not_pending");
    memtide::job::tidy(&app.app).await;
    let client = later().await;
    for id in [&id, &waiting] {
        let candidate =
            client.get(&format!("/v1/memory/candidates/{id}")).await.expect(200)["candidate"].clone();
        assert_eq!(
            (&candidate["status"], &candidate["decision_reason"]),
            (&json!("expired"), &json!("expired"))
        );
        assert_eq!(candidate["decided_by"]["kind"], "system");
    }
    assert_eq!(
        client.propose(pending("Likes the sea.")).await["relation"],
        "novel",
        "it may be proposed again"
    );
}

/// a decision has one effect for its key, and the same answer.
#[tokio::test]
async fn a_decision_is_replayed_for_its_key_r11() {
    let (_app, made) = start().await;
    let id = made.client.candidate("Likes the sea.").await;
    let keyed = made.client.with("idempotency-key", "k");
    let first =
        keyed.review(&id, "edit_and_approve", json!({ "edited_text": "Likes tea." })).await.expect(200);
    let again = keyed.review(&id, "edit_and_approve", json!({ "edited_text": "Likes tea." })).await;
    assert_eq!(again.headers["idempotent-replayed"], "true");
    assert_eq!(again.expect(200), first);
    keyed
        .review(&id, "edit_and_approve", json!({ "edited_text": "x" }))
        .await
        .refused(422, "idempotency_mismatch");
    let over_rpc = json!({ "candidate_id": id, "edited_text": "Likes tea." });
    made.client.refused("memory/candidates/edit_and_approve", over_rpc, -32009, "not_pending").await;
}

#[tokio::test]
async fn unknown_and_odd_ids_are_answered_alike_c105() {
    let (_app, made) = start().await;
    let record = made.client.remember(fact("A record.")).await;
    for id in ["cnd_00000000000000000000000000", record["id"].as_str().unwrap()] {
        made.client.get(&format!("/v1/memory/candidates/{id}")).await.refused(404, "not_found");
        made.client.review(id, "approve", json!({})).await.refused(404, "not_found");
        assert_eq!(made.client.call("memory/candidates/get", json!({ "candidate_id": id })).await, json!({}));
        made.client
            .refused("memory/candidates/reject", json!({ "candidate_id": id }), -32602, "not_found")
            .await;
    }
    made.client.review("nonsense", "approve", json!({})).await.names(400, "candidate_id");
    made.client
        .refused("memory/candidates/get", json!({ "candidate_id": "x" }), -32602, "invalid_request")
        .await;
    made.client.review("nonsense", "approve", with(json!({}), json!({ "more": 1 }))).await.names(422, "more");
}

/// XC-31: that what is like a rejected one is suppressed from now on is written down, once.
#[tokio::test]
async fn suppressing_what_is_like_a_rejected_one_is_audited_xc31() {
    let (app, made) = start().await;
    let id = made.client.candidate("Likes the sea.").await;
    made.client.review(&id, "reject", json!({})).await.expect(200);
    for _ in 0..2 {
        let decided = made.client.review(&id, "suppress_similar", json!({})).await.expect(200);
        assert_eq!(decided["candidate"]["status"], "rejected");
    }
    let actions = "SELECT action FROM audit_log WHERE target = $1 ORDER BY audit_id";
    let actions: Vec<String> =
        sqlx::query_scalar(actions).bind(&id).fetch_all(&mut app.db.superuser().await).await.unwrap();
    assert_eq!(actions, ["candidate.pending", "candidate.rejected", "candidate.suppress_similar"]);
}

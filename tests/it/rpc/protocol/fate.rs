//! XC-32 to XC-35: what becomes of candidates on their own: counted, told, expired, judged by the tenant's policy.

use std::time::Duration;

use chrono::TimeDelta;
use serde_json::{Value, json};

use super::{both, identity};
use crate::support::{Follower, TestApp, pending, proposal};

#[tokio::test]
async fn xc32_a_suppressed_write_is_one_candidate_that_counts() {
    let (_app, callers) = both().await;
    for mut caller in callers {
        let written = caller.call("memory/semantic_write", pending("Likes the sea.")).await;
        let id = json!({ "candidate_id": written["candidate"]["id"] });
        caller.call("memory/candidates/suppress_similar", id).await;
        let mut ids = Vec::new();
        for repeats in 0..3 {
            let again = caller.call("memory/semantic_write", proposal("likes the  SEA.")).await;
            let lifecycle = &again["candidate"]["metadata"]["lifecycle"];
            assert_eq!(lifecycle["repeats"].as_i64().unwrap_or_default(), repeats, "{again}");
            ids.push(again["candidate"]["id"].clone());
        }
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
        let rejected = caller.call("memory/candidates/list", json!({ "statuses": ["auto_rejected"] })).await;
        assert_eq!(
            rejected["candidates"].as_array().unwrap().len(),
            2,
            "the one decided on, and the repeated one"
        );
    }
}

#[tokio::test]
async fn xc33_a_candidate_is_told_unless_it_was_approved_at_once() {
    let (app, callers) = both().await;
    let address = app.serve().await;
    for (mut caller, over_socket) in callers.into_iter().zip([false, true]) {
        let mut events = Follower::open(over_socket, address, &caller.made.capability, Some(0)).await;
        for write in [pending("Likes the sea."), proposal("Likes tea."), secret()] {
            let written = caller.call("memory/semantic_write", write).await;
            let told = events.told().await;
            assert_eq!(told["method"], "memory/candidate_created");
            assert_eq!(told["params"]["candidate"]["id"], written["candidate"]["id"]);
            assert_eq!(told["params"]["candidate"]["status"], written["candidate"]["status"]);
        }
        let approved = caller.call("memory/semantic_write", identity("Ada")).await;
        let told = events.told().await;
        assert_eq!(
            (&told["method"], &told["params"]["memory_id"]),
            (&json!("memory/changed"), &approved["record"]["id"])
        );
        assert_eq!(events.told_within(Duration::from_millis(300)).await, None);
    }
}

/// A proposal that is rejected whatever else is known of it.
fn secret() -> Value {
    let mut write = proposal("The key is under the mat.");
    write["semantic"]["sensitivity"] = json!("secret");
    write
}

#[tokio::test]
async fn xc34_a_candidate_that_nobody_decides_on_expires_after_thirty_days() {
    let (app, callers) = both().await;
    let mut ids = Vec::new();
    let mut callers = Vec::from(callers);
    for caller in &mut callers {
        let written = caller.call("memory/semantic_write", pending("Likes the sea.")).await;
        ids.push(json!({ "candidate_id": written["candidate"]["id"] }));
    }
    for (days, status) in [(29, "pending"), (2, "expired")] {
        app.app.clock.shift(TimeDelta::days(days));
        for (caller, id) in callers.iter_mut().zip(&ids) {
            caller.renew(&app).await;
            memtide::job::tidy(&app.app).await;
            let got = caller.call("memory/candidates/get", id.clone()).await;
            assert_eq!(got["candidate"]["status"], status);
        }
    }
    for (caller, id) in callers.iter_mut().zip(&ids) {
        let refused = caller.refused("memory/candidates/approve", id.clone()).await;
        assert_eq!(refused, (-32009, "not_pending".to_owned()));
        let again = caller.call("memory/semantic_write", pending("Likes the sea.")).await;
        assert_eq!(again["relation"], "novel", "it may be proposed again");
    }
}

#[tokio::test]
async fn xc35_thresholds_and_switches_are_the_tenants() {
    let (app, callers) = both().await;
    for mut caller in callers {
        let mut names = 0..;
        let mut judged = async |policy: Value, write: fn(&str) -> Value| {
            set(&app, &caller.made.id.to_string(), policy).await;
            let name = format!("Name {}", names.next().unwrap_or_default());
            let written = caller.call("memory/semantic_write", write(&name)).await;
            let candidate = &written["candidate"];
            (candidate["status"].clone(), candidate["reason"].clone())
        };
        let says = |status: &str, reason: &str| (json!(status), json!(reason));
        let usual = json!({});
        assert_eq!(judged(usual, identity).await, says("approved", "high_confidence_durable_fact"));
        let middle = judged(json!({}), proposal).await;
        assert_eq!(middle, says("review_disabled_rejected", "implicit_auto_approve_disabled"));
        let review = json!({ "review_enabled": true });
        assert_eq!(judged(review, proposal).await, says("needs_review", "implicit_auto_approve_disabled"));
        let open = json!({ "allow_implicit_auto_approve": true });
        assert_eq!(judged(open, proposal).await, says("approved", "high_confidence_durable_fact"));
        let strict = json!({ "allow_implicit_auto_approve": true, "auto_approve_min_score": 1.0, "review_enabled": true });
        assert_eq!(judged(strict, doubtful).await, says("pending_silent", "middle_confidence"));
        let harsh = json!({ "auto_approve_min_score": 1.0, "auto_reject_max_score": 0.95 });
        assert_eq!(judged(harsh, doubtful).await, says("auto_rejected", "extremely_low_confidence"));
    }
}

/// A proposal with a score in the middle.
fn doubtful(content: &str) -> Value {
    let mut write = proposal(content);
    write["semantic"]["certainty"] = json!("low");
    write["evidence"] = json!([{ "source_ref": "elsewhere" }]);
    write
}

async fn set(app: &TestApp, tenant: &str, policy: Value) {
    let settings = json!({ "settings": { "candidate_policy": policy } });
    app.operator().await.patch(&format!("/v1/admin/tenants/{tenant}"), settings).await.expect(200);
}

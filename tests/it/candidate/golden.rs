//! The golden rows of XC-37, to the digit, through REST, JSON-RPC and WebSocket.

use serde_json::{Value, json};

use super::{acting, identity, meaning};
use crate::support::{Socket, TestApp, with};

/// The score, its parts, the status, the reason, and whether a record was made.
fn outcome(written: &Value) -> (Value, Value, Value, Value, bool) {
    let candidate = &written["candidate"];
    let policy = &candidate["metadata"]["candidate_policy"];
    assert_eq!(candidate["score"], policy["score"], "XC-38: mirrored");
    assert_eq!(candidate["evidence"], candidate["metadata"]["evidence"]);
    assert_eq!(candidate["reason"], policy["reason_code"]);
    assert_eq!(policy["policy_version"], "memory_policy_v1");
    (
        candidate["score"].clone(),
        policy["score_parts"].clone(),
        candidate["status"].clone(),
        candidate["reason"].clone(),
        written.get("record").is_some(),
    )
}

fn row_b() -> Value {
    let semantic = json!({
        "intent": "implicit_candidate", "explicitness": "implicit", "category": "preference", "attribute": "custom",
        "scope_hint": "unknown", "certainty": "medium",
    });
    with(meaning(identity("Ada"), semantic), json!({ "content": "Prefers short answers.", "value": null }))
}

fn row_d() -> Value {
    let semantic = json!({
        "intent": "none", "explicitness": "unclear", "category": "todo", "attribute": "custom", "certainty": "low",
        "durability": "unknown",
    });
    let scope = json!({ "kind": "thread", "key": "t1" });
    with(meaning(identity("Ada"), semantic), json!({ "scope": scope, "content": "Call Bob?", "value": null }))
}

#[tokio::test]
async fn the_golden_rows_come_out_to_the_digit_xc37() {
    for transport in ["rest", "rpc", "socket"] {
        let app = TestApp::start_lexical().await;
        let made = app.tenant("golden").await;
        let assistant = acting(&app, &made, "assistant").await;
        let address = app.serve().await;
        let mut socket = Socket::open(address, &made.capability, "").await.unwrap();
        let mut write = async |is_user: bool, proposal: Value| match (transport, is_user) {
            ("rest", true) => made.client.propose(proposal).await,
            ("rest", false) => assistant.propose(proposal).await,
            ("socket", true) => socket.call("memory/semantic_write", proposal).await,
            (_, true) => made.client.call("memory/semantic_write", proposal).await,
            (_, false) => assistant.call("memory/semantic_write", proposal).await,
        };
        let a = write(true, identity("Ada")).await;
        let (score, parts, status, reason, has_record) = outcome(&a);
        assert_eq!(score, json!(1.0));
        let expected = json!({
            "source_trust": 0.18, "evidence": 0.12, "explicitness": 0.03, "fact_class": 0.14, "lifetime": 0.12,
            "scope": 0.1, "ownership": 0.16, "relation": 0.06, "sensitivity": 0.08, "certainty": 0.1, "penalty": 0.0,
        });
        assert_eq!(parts, expected, "1.06 in all");
        assert_eq!(
            (status, reason, has_record),
            (json!("approved"), json!("high_confidence_durable_fact"), true)
        );
        assert_eq!((&a["relation"], &a["created"]), (&json!("novel"), &json!(true)));

        let (score, _, status, reason, has_record) = outcome(&write(false, row_b()).await);
        assert_eq!(score, json!(0.65));
        assert_eq!(status, "review_disabled_rejected");
        assert_eq!((reason, has_record), (json!("review_disabled_middle_confidence"), false));

        for hint in ["secret", "regulated"] {
            let secret = meaning(identity("hunter2"), json!({ "sensitivity": hint, "attribute": "custom" }));
            let written = write(true, secret).await;
            let (score, parts, status, reason, has_record) = outcome(&written);
            assert_eq!((score, parts), (json!(0.0), Value::Null));
            assert_eq!((status, reason), (json!("auto_rejected"), json!("secret_like_or_regulated")));
            assert!(!has_record && !written.to_string().contains("hunter2"), "{written}");
        }

        let (score, parts, status, reason, has_record) = outcome(&write(false, row_d()).await);
        assert_eq!((score, &parts["penalty"]), (json!(0.0), &json!(0.36)));
        assert_eq!((&parts["relation"], &parts["sensitivity"]), (&json!(0.06), &json!(0.08)), "0.14 in all");
        assert_eq!((status, reason), (json!("auto_rejected"), json!("extremely_low_confidence")));
        assert!(!has_record);

        let e = write(true, identity("Eve")).await;
        let (score, _, status, reason, has_record) = outcome(&e);
        assert_eq!((score, status), (json!(0.7), json!("review_disabled_rejected")));
        assert_eq!((reason, has_record), (json!("review_disabled_contradiction"), false));
        assert_eq!(e["relation"], "contradiction");
    }
}

/// XC-35: thresholds and switches are the tenant's; nonsense is refused.
#[tokio::test]
async fn each_tenant_has_its_policy_xc35() {
    let app = TestApp::start_lexical().await;
    let (strict, usual) = (app.tenant("strict").await, app.tenant("usual").await);
    let operator = app.operator().await;
    let path = format!("/v1/admin/tenants/{}", strict.id);
    let set = async |policy: Value| {
        operator.patch(&path, json!({ "settings": { "candidate_policy": policy } })).await
    };
    for bad in [
        json!({ "auto_reject_max_score": 0.9 }),
        json!({ "auto_reject_max_score": 0.5, "auto_approve_min_score": 0.4 }),
        json!({ "auto_approve_min_score": 1.5 }),
        json!({ "expire_after_days": 0 }),
        json!({ "review": true }),
        json!("on"),
    ] {
        set(bad).await.refused(400, "invalid_request");
    }
    set(json!({ "allow_explicit_auto_approve": false, "review_enabled": true })).await.expect(200);
    let written = strict.client.propose(identity("Ada")).await;
    assert_eq!(written["candidate"]["status"], "needs_review");
    assert_eq!(usual.client.propose(identity("Ada")).await["candidate"]["status"], "approved");
    set(json!({ "auto_approve_min_score": 0.6, "allow_implicit_auto_approve": true })).await.expect(200);
    let assistant = acting(&app, &strict, "assistant").await;
    assert_eq!(assistant.propose(row_b()).await["candidate"]["status"], "approved");
}

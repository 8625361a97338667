//! C-015 to C-023, C-048, C-050 to C-060, XC-30 to XC-34: candidates and decisions.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Caller, both, invalid};
use crate::support::{fact, pending, proposal};

async fn candidate(caller: &mut Caller, content: &str) -> Value {
    let written = caller.call("memory/semantic_write", pending(content)).await;
    written["candidate"]["id"].clone()
}

async fn decide(caller: &mut Caller, act: &str, mut params: Value, id: &Value) -> Value {
    params["candidate_id"] = id.clone();
    caller.call(&format!("memory/candidates/{act}"), params).await
}

#[tokio::test]
async fn c015_c016_c048_candidates_are_listed_and_got_with_all_they_have() {
    let (_app, callers) = both().await;
    for mut caller in callers {
        let id = candidate(&mut caller, "Likes the sea.").await;
        let listed = caller.call("memory/candidates/list", json!({ "statuses": ["pending"] })).await;
        let got =
            caller.call("memory/candidates/get", json!({ "candidate_id": id })).await["candidate"].clone();
        assert_eq!(listed["candidates"], json!([got]));
        for member in [
            "scope",
            "category",
            "key",
            "candidate_text",
            "confidence",
            "reason",
            "provenance",
            "status",
            "created_at",
            "score",
            "evidence",
            "metadata",
        ] {
            assert!(got.get(member).is_some(), "{member}");
        }
        for member in ["candidate_policy", "evidence", "lifecycle"] {
            assert!(got["metadata"].get(member).is_some(), "XC-38: {member}");
        }
        assert!(id.as_str().unwrap().starts_with("cnd_"), "XC-16");
        assert_eq!(
            caller
                .call("memory/candidates/get", json!({ "candidate_id": "cnd_00000000000000000000000000" }))
                .await,
            json!({})
        );
    }
}

#[tokio::test]
async fn c017_c019_candidates_are_approved_rejected_and_expired() {
    let (_app, callers) = both().await;
    for mut caller in callers {
        for (act, params, status) in [
            ("approve", json!({}), "approved"),
            ("reject", json!({ "reason": "no" }), "rejected"),
            ("decide", json!({ "decision": "approve" }), "approved"),
            ("decide", json!({ "decision": "reject" }), "rejected"),
            ("decide", json!({ "decision": "expire" }), "expired"),
        ] {
            let id = candidate(&mut caller, &format!("To {act}: {params}.")).await;
            let decided = decide(&mut caller, act, params, &id).await;
            assert_eq!(decided["candidate"]["status"], status);
            assert_eq!(decided.get("record").is_some(), status == "approved");
            let again = json!({ "candidate_id": id, "edited_text": "x" });
            let refused = caller.refused("memory/candidates/edit_and_approve", again).await;
            assert_eq!(refused, (-32009, "not_pending".to_owned()), "R-41");
        }
    }
}

#[tokio::test]
async fn c020_edit_and_approve_changes_the_text() {
    let (_app, callers) = both().await;
    for mut caller in callers {
        let id = candidate(&mut caller, "Likes the see.").await;
        let blank = json!({ "candidate_id": id, "edited_text": " " });
        assert_eq!(caller.refused("memory/candidates/edit_and_approve", blank).await, invalid());
        let decided =
            decide(&mut caller, "edit_and_approve", json!({ "edited_text": "Likes the sea." }), &id).await;
        assert_eq!(decided["record"]["content"], "Likes the sea.");
        assert_eq!(caller.found(json!({ "query": "sea" })).await, ["Likes the sea."]);
    }
}

#[tokio::test]
async fn c021_xc30_merge_takes_a_memory_or_a_candidate() {
    let (_app, callers) = both().await;
    for mut caller in callers {
        let record = caller.remember(fact("On the coast.")).await;
        let (one, other) =
            (candidate(&mut caller, "Likes the sea.").await, candidate(&mut caller, "Loves it.").await);
        for odd in [json!({}), json!({ "target_memory_id": record["id"], "target_candidate_id": one })] {
            let params = json!({ "candidate_id": other, "target_memory_id": odd.get("target_memory_id"), "target_candidate_id": odd.get("target_candidate_id") });
            assert_eq!(caller.refused("memory/candidates/merge", params).await, invalid());
        }
        let merged = decide(&mut caller, "merge", json!({ "target_candidate_id": one }), &other).await;
        assert_eq!(merged["candidate"]["status"], "merged_duplicate");
        let merged = decide(&mut caller, "merge", json!({ "target_memory_id": record["id"] }), &one).await;
        assert_eq!(merged["record"]["content"], "On the coast.");
        assert_eq!(merged["record"]["metadata"]["evidence"].as_array().unwrap().len(), 2);
    }
}

#[tokio::test]
async fn c022_xc31_xc32_suppressed_suggestions_do_not_come_back() {
    let (_app, callers) = both().await;
    for mut caller in callers {
        let id = candidate(&mut caller, "Likes the sea.").await;
        let decided = decide(&mut caller, "suppress_similar", json!({}), &id).await;
        assert_eq!(
            (&decided["candidate"]["status"], &decided["candidate"]["decision_reason"]),
            (&json!("auto_rejected"), &json!("suppress_similar"))
        );
        let first = caller.call("memory/semantic_write", proposal("likes the SEA.")).await;
        assert_eq!(
            (&first["relation"], &first["candidate"]["reason"]),
            (&json!("suppressed_by_rejection"), &json!("suppressed_duplicate"))
        );
        let second = caller.call("memory/semantic_write", proposal("Likes the sea.")).await;
        assert_eq!(second["candidate"]["id"], first["candidate"]["id"]);
        caller.remember(fact("Likes the sea.")).await;
        assert_eq!(caller.found(json!({ "query": "sea" })).await, ["Likes the sea."]);
    }
}

#[test]
fn c023_the_thirteen_methods_are_there() {
    let names: BTreeSet<&str> = memtide::rpc::method::methods().map(|method| method.name).collect();
    let seed = [
        "memory/search",
        "memory/get",
        "memory/list",
        "memory/remember",
        "memory/forget",
        "memory/candidates/list",
        "memory/candidates/get",
        "memory/candidates/decide",
        "memory/candidates/approve",
        "memory/candidates/reject",
        "memory/candidates/edit_and_approve",
        "memory/candidates/merge",
        "memory/candidates/suppress_similar",
    ];
    assert!(seed.iter().all(|name| names.contains(name)));
    let ours: Vec<&str> = names.into_iter().filter(|name| !seed.contains(name)).collect();
    assert_eq!(ours, ["memory/restore", "memory/semantic_write"], "extensions of ours");
}

/// Each status is a filter by its exact name, and the usual service uses no review states.
#[tokio::test]
async fn c050_c060_statuses_have_exact_names_and_review_states_are_not_used() {
    let (_app, callers) = both().await;
    let statuses = [
        "pending",
        "pending_silent",
        "ask_on_use",
        "needs_review",
        "approved",
        "rejected",
        "auto_rejected",
        "review_disabled_rejected",
        "merged_duplicate",
        "expired",
        "superseded",
    ];
    for mut caller in callers {
        for status in statuses {
            caller.call("memory/candidates/list", json!({ "statuses": [status] })).await;
        }
        assert_eq!(
            caller.refused("memory/candidates/list", json!({ "statuses": ["Pending"] })).await,
            invalid()
        );
        for (at, (explicitness, certainty)) in [
            ("explicit", "high"),
            ("implicit", "high"),
            ("implicit", "low"),
            ("unclear", "low"),
            ("none", "medium"),
        ]
        .into_iter()
        .enumerate()
        {
            let mut write = proposal(&format!("Fact {at}."));
            write["semantic"]["explicitness"] = json!(explicitness);
            write["semantic"]["certainty"] = json!(certainty);
            caller.call("memory/semantic_write", write).await;
        }
        let unused = json!({ "statuses": ["pending_silent", "ask_on_use", "needs_review"] });
        assert_eq!(caller.call("memory/candidates/list", unused).await["candidates"], json!([]));
    }
}

//! C-046, C-047, C-070 to C-077, XC-35 to XC-39: semantic writes.

use serde_json::{Value, json};

use super::both;
use crate::support::{pending, proposal, with};

const FIELDS: [&str; 8] =
    ["intent", "explicitness", "category", "subject", "attribute", "durability", "sensitivity", "certainty"];

#[tokio::test]
async fn c046_c071_nine_semantic_fields_describe_a_write() {
    let (_app, callers) = both().await;
    for mut caller in callers {
        for field in FIELDS {
            let mut write = proposal("x");
            write["semantic"].as_object_mut().unwrap().remove(field);
            let refused = caller.refused("memory/semantic_write", write).await;
            assert_eq!(refused, (-32602, "unprocessable".to_owned()), "{field} is wanted");
            let mut write = proposal("x");
            write["semantic"][field] = json!("nonsense");
            assert_eq!(caller.refused("memory/semantic_write", write).await.0, -32602, "{field}");
        }
        let mut write = proposal("Without a hint.");
        write["semantic"].as_object_mut().unwrap().remove("scope_hint");
        let written = caller.call("memory/semantic_write", write).await;
        let parts = &written["candidate"]["metadata"]["candidate_policy"]["score_parts"];
        assert_eq!(parts["scope"], 0.06, "R-39: inferred");
    }
}

#[tokio::test]
async fn c047_c070_c076_a_write_takes_everything_and_the_policy_decides() {
    let (_app, callers) = both().await;
    for mut caller in callers {
        let write = with(
            proposal("  Likes\u{0} the sea. "),
            json!({
                "value": { "b": 1, "a": [true] }, "provenance": { "source_thread_id": "t", "source_kind": "background_extractor" },
                "evidence": [{
                    "source_thread_id": "t", "source_turn_id": "1", "source_item_id": "i", "source_ref": "r",
                    "quote": "I like the sea", "span": { "start": 3, "end": 17 },
                }],
                "confidence": 0.7, "importance": 0.9, "disposition": "route_to_candidate_policy",
                "context": { "thread_id": "t", "speaker": "Alice" }, "metadata": { "mine": 1 },
            }),
        );
        let written = caller.call("memory/semantic_write", write.clone()).await;
        let candidate = &written["candidate"];
        assert_eq!(candidate["candidate_text"], "Likes the sea.", "C-072: cleaned");
        assert_eq!(candidate["evidence"], write["evidence"], "C-073");
        assert_eq!(candidate["provenance"]["created_by"], json!({ "kind": "user" }), "C-074");
        assert_eq!(candidate["provenance"]["source_thread_id"], "t");
        assert_eq!(candidate["confidence"], 0.7, "C-075");
        assert_eq!(candidate["metadata"]["client"]["mine"], 1);
        let approve =
            with(pending("Likes the coast."), json!({ "importance": 0.9, "context": { "thread_id": "t" } }));
        let id = caller.call("memory/semantic_write", approve).await["candidate"]["id"].clone();
        let record =
            caller.call("memory/candidates/approve", json!({ "candidate_id": id })).await["record"].clone();
        assert_eq!((&record["importance"], &record["context"]["thread_id"]), (&json!(0.9), &json!("t")));
    }
}

/// What a client chooses has no effect on key, duplicates, score and state.
#[tokio::test]
async fn c077_xc39_the_service_owns_what_it_decides() {
    let (_app, callers) = both().await;
    for mut caller in callers {
        let plain = caller.call("memory/semantic_write", proposal("Likes the sea.")).await;
        let claims = json!({ "client_provided_key": "mine", "status": "approved", "score": 1.0 });
        let claimed = caller.call("memory/semantic_write", with(proposal("Likes the  SEA."), claims)).await;
        let owned = |written: &Value| {
            let candidate = &written["candidate"];
            [
                &written["canonical_key"],
                &written["semantic_fingerprint"],
                &candidate["score"],
                &candidate["status"],
            ]
            .map(Value::clone)
        };
        assert_eq!(owned(&plain), owned(&claimed));
        assert_eq!(plain["candidate"]["id"], claimed["candidate"]["id"], "and it is the same");
    }
}

#[tokio::test]
async fn xc35_xc36_scores_show_their_parts() {
    let (_app, callers) = both().await;
    for mut caller in callers {
        for (category, worth) in
            [("identity", 0.14), ("preference", 0.13), ("constraint", 0.13), ("todo", 0.0), ("custom", 0.0)]
        {
            let mut write = pending(&format!("A {category}."));
            write["semantic"]["category"] = json!(category);
            let written = caller.call("memory/semantic_write", write).await;
            let policy = &written["candidate"]["metadata"]["candidate_policy"];
            assert_eq!(policy["score_parts"]["fact_class"], worth, "{category}");
            assert_eq!(policy["score"], written["candidate"]["score"]);
        }
    }
}

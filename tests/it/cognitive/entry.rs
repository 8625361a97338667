//! Thoughts, decisions, interactions: XB-63, XB-64, XB-65, XB-66, XB-67; C133.

use serde_json::{Value, json};

use super::{DECISION, INTERACTION, NO_SESSION, SESSION, SESSIONS, THOUGHT, one_of_each, started};

/// An entry without what differs each time, after a look at it.
fn plain(mut entry: Value, prefix: &str) -> Value {
    let id = entry["id"].as_str().unwrap();
    assert!(id.starts_with(prefix) && id.len() == 30, "XB-60: {id}");
    assert!(entry["created_at"].is_i64(), "{entry}");
    for member in ["id", "created_at", "session_id"] {
        entry.as_object_mut().unwrap().remove(member).unwrap();
    }
    entry
}

#[tokio::test]
async fn a_thought_is_an_observation_unless_told_b044_xb63() {
    let (_app, made) = started().await;
    let id = made.client.session("A goal.").await;
    let thought = made.client.think(&id, "Resellers fell.").await;
    assert_eq!(thought["session_id"], id);
    let expected = json!({ "seq": 1, "kind": "observation", "content": "Resellers fell.", "confidence": null, "metadata": {} });
    assert_eq!(plain(thought, "tht_"), expected);
    for (at, kind) in ["observation", "hypothesis", "plan", "reflection"].into_iter().enumerate() {
        let body = json!({ "session_id": id, "content": " as sent\n", "kind": kind, "confidence": 0.25, "metadata": { "a": [1] } });
        let reply = made.client.post(THOUGHT, body).await.expect(200);
        let expected = json!({ "seq": at + 2, "kind": kind, "content": " as sent\n", "confidence": 0.25, "metadata": { "a": [1] } });
        assert_eq!(plain(reply["thought"].clone(), "tht_"), expected);
    }
    let unknown = json!({ "session_id": id, "content": "x", "kind": "guess" });
    made.client.post(THOUGHT, unknown).await.refused(400, "invalid_request");
}

#[tokio::test]
async fn a_decision_says_why_and_what_else_b045_xb64() {
    let (_app, made) = started().await;
    let id = made.client.session("A goal.").await;
    let thought = made.client.think(&id, "Resellers fell.").await["id"].clone();
    let body = json!({
        "session_id": id, "decision": "Ask the resellers.", "rationale": "They know.",
        "alternatives": ["Guess.", "Wait."], "confidence": 1, "based_on": [thought, "ticket-7"], "metadata": { "n": 18_446_744_073_709_551_615_u64 },
    });
    let reply = made.client.post(DECISION, body).await.expect(200);
    assert_eq!(reply.as_object().unwrap().keys().collect::<Vec<_>>(), ["decision"]);
    let expected = json!({
        "seq": 2, "decision": "Ask the resellers.", "rationale": "They know.", "alternatives": ["Guess.", "Wait."],
        "confidence": 1.0, "based_on": [thought, "ticket-7"], "metadata": { "n": 18_446_744_073_709_551_615_u64 },
    });
    assert_eq!(plain(reply["decision"].clone(), "dec_"), expected);
    let bare = made.client.resolve(&id, "Go on.").await;
    let expected = json!({ "seq": 3, "decision": "Go on.", "rationale": null, "alternatives": [], "confidence": null, "based_on": [], "metadata": {} });
    assert_eq!(plain(bare, "dec_"), expected);
    let with = |more: Value| {
        let mut body = json!({ "session_id": id, "decision": "x" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    for (field, more) in [
        ("alternatives", json!({ "alternatives": vec!["a"; 65] })),
        ("alternatives[1]", json!({ "alternatives": ["a", " "] })),
        ("alternatives[0]", json!({ "alternatives": ["a".repeat(4_097)] })),
        ("based_on", json!({ "based_on": vec!["a"; 65] })),
        ("based_on[0]", json!({ "based_on": ["a\0"] })),
        ("rationale", json!({ "rationale": "a".repeat(65_537) })),
        ("confidence", json!({ "confidence": 1.01 })),
    ] {
        made.client.post(DECISION, with(more)).await.names(400, field);
    }
    made.client.post(DECISION, with(json!({ "alternatives": "a" }))).await.names(422, "alternatives");
}

#[tokio::test]
async fn an_interaction_has_a_role_b046_xb65() {
    let (_app, made) = started().await;
    let id = made.client.session("A goal.").await;
    for (at, role) in ["user", "assistant", "tool", "system", "agent"].into_iter().enumerate() {
        let body = json!({ "session_id": id, "role": role, "content": "Hello.", "counterparty": "Bob" });
        let reply = made.client.post(INTERACTION, body).await.expect(200);
        let expected = json!({ "seq": at + 1, "role": role, "content": "Hello.", "counterparty": "Bob", "metadata": {} });
        assert_eq!(plain(reply["interaction"].clone(), "int_"), expected);
    }
    let body = |more: Value| {
        let mut body = json!({ "session_id": id, "content": "Hello." });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    made.client.post(INTERACTION, body(json!({}))).await.names(422, "role");
    made.client.post(INTERACTION, body(json!({ "role": "robot" }))).await.refused(400, "invalid_request");
    let blank = body(json!({ "role": "user", "counterparty": "" }));
    made.client.post(INTERACTION, blank).await.names(400, "counterparty");
}

/// XB-66: one counter over all kinds, and the session counts each.
#[tokio::test]
async fn all_kinds_share_one_counter_xb66() {
    let (_app, made) = started().await;
    let id = made.client.session("A goal.").await;
    let other = made.client.session("Another.").await;
    for _ in 0..3 {
        for (path, body) in one_of_each(&id) {
            made.client.post(path, body).await.expect(200);
        }
        made.client.think(&other, "Elsewhere.").await;
    }
    made.client.post(THOUGHT, json!({ "session_id": id, "content": "" })).await.names(400, "content");
    made.client.think(&id, "The last.").await;
    let entries = made.client.whole_timeline(&id).await;
    let seqs: Vec<i64> = entries.iter().map(|entry| entry["seq"].as_i64().unwrap()).collect();
    assert_eq!(seqs, (1..=10).collect::<Vec<_>>(), "what was refused took no number");
    let kinds: Vec<&Value> = entries.iter().take(3).map(|entry| &entry["type"]).collect();
    assert_eq!(kinds, ["thought", "decision", "interaction"]);
    let session = made.client.look_at(&id).await;
    let counts = ["thought_count", "decision_count", "interaction_count"].map(|count| session[count].clone());
    assert_eq!(counts, [json!(4), json!(3), json!(3)]);
}

/// XB-67 with R-04 and R-47: too large is 413, blank 400, and U+0000 is dropped.
#[tokio::test]
async fn texts_have_their_limits_xb67_r04_r47() {
    let (_app, made) = started().await;
    let id = made.client.session("A goal.").await;
    let longest = "ü".repeat(32_768);
    for (path, mut body) in one_of_each(&id) {
        let field = if path == DECISION { "decision" } else { "content" };
        let entry = path.rsplit('/').next().unwrap();
        body[field] = json!(longest);
        assert_eq!(made.client.post(path, body.clone()).await.expect(200)[entry][field], longest);
        body[field] = json!(format!("{longest}a"));
        let reply = made.client.post(path, body.clone()).await;
        assert_eq!(reply.body["error"]["code"], "payload_too_large");
        let details = reply.names(413, field);
        assert_eq!((&details["limit"], &details["actual"]), (&json!(65_536), &json!(65_537)));
        for blank in ["", " \n\u{200b}", "\0"] {
            body[field] = json!(blank);
            made.client.post(path, body.clone()).await.names(400, field);
        }
        body[field] = json!("a\0b");
        assert_eq!(made.client.post(path, body.clone()).await.expect(200)[entry][field], "ab");
        body[field] = json!("x");
        body["metadata"] = json!({ "x": "y".repeat(16_384) });
        made.client.post(path, body).await.names(400, "metadata");
    }
    for confidence in [json!(-0.01), json!(1.01), json!(2)] {
        let body = json!({ "session_id": id, "content": "x", "confidence": confidence });
        made.client.post(THOUGHT, body).await.names(400, "confidence");
    }
    let lone = format!(r#"{{"session_id":"{id}","content":"\ud83d"}}"#);
    made.client.send(axum::http::Method::POST, THOUGHT, Some(lone)).await.refused(400, "invalid_request");
    assert_eq!(made.client.whole_timeline(&id).await.len(), 6);
}

/// C133: an unknown session, none at all, another tenant's, another namespace's. No session appears.
#[tokio::test]
async fn nothing_is_written_into_sessions_that_are_not_there_c133_xb70() {
    let (app, made) = started().await;
    let foreign = app.tenant("foreign").await.client.session("Foreign.").await;
    let elsewhere = app.within(&made.key, "elsewhere").await.session("Elsewhere.").await;
    for session in [NO_SESSION, &foreign, &elsewhere, "cnd_00000000000000000000000000"] {
        for (path, body) in one_of_each(session) {
            made.client.post(path, body).await.refused(404, "not_found");
        }
    }
    for (path, mut body) in one_of_each("no-id") {
        made.client.post(path, body.clone()).await.names(400, "session_id");
        body.as_object_mut().unwrap().remove("session_id");
        made.client.post(path, body).await.names(422, "session_id");
    }
    assert_eq!(made.client.get(SESSIONS).await.expect(200)["sessions"], json!([]));
    let untouched =
        app.within(&made.key, "elsewhere").await.get(&format!("{SESSION}/{elsewhere}")).await.expect(200);
    assert_eq!(untouched["session"]["thought_count"], 0);
}

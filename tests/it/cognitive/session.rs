//! Starting and getting sessions: XB-60, XB-61, XB-62, XB-70, XB-71, XB-72.

use serde_json::{Value, json};

use super::{NO_SESSION, SESSION, SESSIONS, holding, one_of_each, started};

#[tokio::test]
async fn a_session_starts_active_and_empty_b041_b042_b043_xb60_xb61() {
    let (_app, made) = started().await;
    let body = json!({ "agent_id": "revenue-assistant", "goal": "Investigate the Q3 revenue change by sales channel." });
    let reply = made.client.post(SESSION, body).await.expect(200);
    assert_eq!(reply.as_object().unwrap().keys().collect::<Vec<_>>(), ["session"]);
    let session = &reply["session"];
    let (id, at) = (session["id"].as_str().unwrap(), &session["created_at"]);
    assert!(id.starts_with("ses_") && id.len() == 30, "{id}");
    assert!(at.as_i64().unwrap() > 1_700_000_000, "Unix seconds: {at}");
    let expected = json!({
        "id": id,
        "agent_id": "revenue-assistant",
        "goal": "Investigate the Q3 revenue change by sales channel.",
        "status": "active",
        "created_at": at,
        "updated_at": at,
        "closed_at": null,
        "outcome": null,
        "thought_count": 0,
        "decision_count": 0,
        "interaction_count": 0,
        "metadata": {},
    });
    assert_eq!(*session, expected);
    assert_eq!(made.client.look_at(id).await, expected, "XB-68");
    let later = made.client.session("Another.").await;
    assert!(later.as_str() > id, "ids are in order of time");
}

/// B-040: the record stands beside working memory, and fills none of it.
#[tokio::test]
async fn starting_a_session_fills_no_slot_b040() {
    let (_app, made) = started().await;
    let id = made.client.session("Plan a dinner.").await;
    made.client.think(&id, "Alice is vegetarian.").await;
    assert_eq!(made.client.ids().await, Vec::<String>::new());
    assert_eq!(made.client.listed("").await.len(), 0, "nor durable memory");
}

/// C135, XB-62: what is taken comes back as it was sent, up to the limits; what is not is refused by name.
#[tokio::test]
async fn odd_agents_and_goals_come_back_exactly_or_are_refused_c135_xb62() {
    let (_app, made) = started().await;
    let longest = "g".repeat(4_096);
    let goals = ["Two\nlines and a \"quote\" \\ 'x'", "🦀 größer, 目標", "<b>bold</b>", &longest];
    for agent in ["team/a bot #1", "a", &"b".repeat(128), "größe:目標?x=1&y"] {
        for goal in goals {
            let reply =
                made.client.post(SESSION, json!({ "agent_id": agent, "goal": goal })).await.expect(200);
            assert_eq!(
                (&reply["session"]["agent_id"], &reply["session"]["goal"]),
                (&json!(agent), &json!(goal))
            );
            let kept = made.client.look_at(reply["session"]["id"].as_str().unwrap()).await;
            assert_eq!(kept, reply["session"]);
        }
    }
    let padded = json!({ "agent_id": "a", "goal": format!("  {longest}\n"), "metadata": { "deep": [1, { "a": null }] } });
    let reply = made.client.post(SESSION, padded).await.expect(200);
    assert_eq!(reply["session"]["goal"], longest, "measured and kept without the white space around it");
    assert_eq!(reply["session"]["metadata"], json!({ "deep": [1, { "a": null }] }));
    let nul = made.client.post(SESSION, json!({ "agent_id": "a", "goal": "a\0b" })).await.expect(200);
    assert_eq!(nul["session"]["goal"], "ab", "R-04: U+0000 is dropped from free text");
    let bad = |agent: &str, goal: &str| json!({ "agent_id": agent, "goal": goal });
    for (field, body) in [
        ("agent_id", bad("", "g")),
        ("agent_id", bad(" ", "g")),
        ("agent_id", bad("a\0", "g")),
        ("agent_id", bad("a\n", "g")),
        ("agent_id", bad(&"b".repeat(129), "g")),
        ("goal", bad("a", "")),
        ("goal", bad("a", " \u{200b}\n")),
        ("goal", bad("a", "\0")),
        ("goal", bad("a", &"g".repeat(4_097))),
        ("goal", bad("a", &"g".repeat(10_240))),
        ("goal", bad("a", &"g".repeat(1_048_576))),
        ("metadata", json!({ "agent_id": "a", "goal": "g", "metadata": { "x": "y".repeat(16_384) } })),
        ("metadata", json!({ "agent_id": "a", "goal": "g", "metadata": { "x": "\0" } })),
    ] {
        made.client.post(SESSION, body).await.names(400, field);
    }
    let details = made.client.post(SESSION, bad("a", &"g".repeat(4_097))).await.names(400, "goal");
    assert_eq!((&details["limit"], &details["actual"]), (&json!(4_096), &json!(4_097)));
    for (field, body) in [
        ("agent_id", json!({})),
        ("agent_id", json!({ "goal": "g" })),
        ("goal", json!({ "agent_id": "a" })),
        ("goal", json!({ "agent_id": "a", "goal": null })),
        ("metadata", json!({ "agent_id": "a", "goal": "g", "metadata": [] })),
    ] {
        made.client.post(SESSION, body).await.names(422, field);
    }
    let listed = made.client.get(&format!("{SESSIONS}?limit=100")).await.expect(200);
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 18, "what was refused left nothing");
}

/// the seed's handlers pass over what they do not know.
#[tokio::test]
async fn unknown_members_are_passed_over_r08() {
    let (_app, made) = started().await;
    let body = json!({ "agent_id": "a", "goal": "g", "sdk": "1.0", "id": "ses_mine", "status": "closed" });
    let session = made.client.post(SESSION, body).await.expect(200)["session"].clone();
    assert_eq!(session["status"], "active");
    for (path, mut body) in one_of_each(session["id"].as_str().unwrap()) {
        body["seq"] = json!(99);
        body["other"] = json!({});
        made.client.post(path, body).await.expect(200);
    }
    made.client.post(SESSION, json!(["a", "g"])).await.refused(422, "unprocessable");
}

/// XB-71 with the codes of R-11.
#[tokio::test]
async fn a_repeated_key_gives_the_first_answer_xb71_r11() {
    let (_app, made) = started().await;
    let once = made.client.with("idempotency-key", "k1");
    let body = json!({ "agent_id": "a", "goal": "g" });
    let first = once.post(SESSION, body.clone()).await;
    let again = once.post(SESSION, body).await;
    assert_eq!(first.text, again.text);
    assert_eq!(again.headers["idempotent-replayed"], "true");
    assert!(!first.headers.contains_key("idempotent-replayed"));
    once.post(SESSION, json!({ "agent_id": "a", "goal": "h" })).await.refused(422, "idempotency_mismatch");
    let session = first.body["session"]["id"].as_str().unwrap().to_owned();
    for (path, body) in one_of_each(&session) {
        let first = once.post(path, body.clone()).await;
        let again = once.post(path, body.clone()).await;
        assert_eq!((first.status, &first.text), (again.status, &again.text), "{path}");
        assert_eq!(again.headers["idempotent-replayed"], "true");
        let mut other = body;
        other["metadata"] = json!({ "n": 1 });
        once.post(path, other).await.refused(422, "idempotency_mismatch");
    }
    assert_eq!(made.client.whole_timeline(&session).await.len(), 3, "a repeated request adds none");
    let long = made.client.with("idempotency-key", &"k".repeat(256));
    long.post(SESSION, json!({ "agent_id": "a", "goal": "g" })).await.names(400, "idempotency_key");
    // What is refused for good is kept, too.
    let lost = made.client.with("idempotency-key", "k2");
    for _ in 0..2 {
        lost.post(super::THOUGHT, json!({ "session_id": NO_SESSION, "content": "x" }))
            .await
            .refused(404, "not_found");
    }
}

/// XB-72: write for POST, read for GET, and no other right does.
#[tokio::test]
async fn writing_needs_write_and_reading_needs_read_xb72() {
    let (app, made) = started().await;
    let id = made.client.session("A goal.").await;
    let reader = holding(&app, &made, "default", json!({ "memory.cognitive": ["read"] })).await;
    let writer = holding(&app, &made, "default", json!({ "memory.cognitive": ["write"] })).await;
    let other = json!({ "memory.durable": ["read", "write"], "memory.working": ["read", "write"], "memory.candidates": ["read", "write"] });
    let other = holding(&app, &made, "default", other).await;
    let reads = [SESSIONS.to_owned(), format!("{SESSION}/{id}"), format!("{SESSION}/{id}/timeline")];
    for path in &reads {
        reader.get(path).await.expect(200);
        writer.get(path).await.refused(403, "forbidden");
        other.get(path).await.refused(403, "forbidden");
    }
    let mut writes = one_of_each(&id).to_vec();
    writes.push((SESSION, json!({ "agent_id": "a", "goal": "g" })));
    for (path, body) in writes {
        writer.post(path, body.clone()).await.expect(200);
        reader.post(path, body.clone()).await.refused(403, "forbidden");
        other.post(path, body).await.refused(403, "forbidden");
    }
}

/// XB-70: an unknown session, one of another namespace and one of another tenant are answered alike.
#[tokio::test]
async fn sessions_of_others_are_not_found_xb70() {
    let (app, made) = started().await;
    let foreign = app.tenant("foreign").await;
    let elsewhere = app.within(&made.key, "elsewhere").await;
    let ids = [
        elsewhere.session("Elsewhere.").await,
        foreign.client.session("Foreign.").await,
        NO_SESSION.to_owned(),
    ];
    let mut answers: Vec<Value> = Vec::new();
    for id in ids.iter().map(String::as_str).chain(["mem_00000000000000000000000000"]) {
        for path in [format!("{SESSION}/{id}"), format!("{SESSION}/{id}/timeline")] {
            let reply = made.client.with("x-request-id", "same").get(&path).await;
            assert_eq!(reply.status, 404, "{}", reply.text);
            answers.push(reply.body);
        }
    }
    assert!(answers.iter().all(|answer| answer == &answers[0]), "{answers:?}");
    made.client.get(&format!("{SESSION}/no-id")).await.names(400, "id");
    let listed = made.client.get(SESSIONS).await.expect(200);
    assert_eq!(listed["sessions"], json!([]));
}

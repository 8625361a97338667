//! Observe, decide, act: what an agent needs to go on (B-037), and the session's goal for the gates (XB-33, XB-51).

use serde_json::{Value, json};

use super::{NO_SESSION, SESSION, holding, started};
use crate::support::{TestApp, each, fact};
use crate::working::OFFER;

fn path(session: &str) -> String {
    format!("{SESSION}/{session}/context")
}

#[tokio::test]
async fn a_context_holds_goal_slots_entries_and_records_b037() {
    let app = TestApp::start().await;
    let made = app.tenant("minds").await;
    let client = &made.client;
    let id = client.session("Plan a dinner\nfor Alice.").await;
    let record = client.remember(fact("Alice is vegetarian.")).await;
    client.inject("guests", json!({ "n": 4 })).await.expect(200);
    client.inject("menu", json!("Soup, then\nrisotto.")).await.expect(200);
    client.post("/v1/working-memory/focus", json!({ "id": "guests" })).await.expect(200);
    let mut thoughts = Vec::new();
    for at in 1..=3 {
        thoughts.push(client.think(&id, &format!("Thought {at}.")).await);
    }
    let decision = client.resolve(&id, "Cook risotto.").await;
    let reply = client.get(&path(&id)).await.expect(200);
    let expected = format!(
        "Goal: Plan a dinner for Alice.\nWorkspace:\n- {{\"n\":4}} (guests)\n- Soup, then risotto. (menu)\n\
         Decisions:\n- Cook risotto. ({})\nThoughts:\n- Thought 3. ({})\n- Thought 2. ({})\n- Thought 1. ({})\nMemory:\n",
        decision["id"].as_str().unwrap(),
        thoughts[2]["id"].as_str().unwrap(),
        thoughts[1]["id"].as_str().unwrap(),
        thoughts[0]["id"].as_str().unwrap(),
    );
    let text = reply["text"].as_str().unwrap();
    assert!(text.starts_with(&expected), "{text}");
    assert!(
        text.ends_with(&format!("Alice is vegetarian. ({})\n", record["id"].as_str().unwrap())),
        "{text}"
    );
    assert_eq!(reply["goal"], "Plan a dinner\nfor Alice.", "the goal as a whole");
    assert_eq!(
        (each(&reply["slots"], "id"), each(&reply["slots"], "focused")),
        (vec![&json!("guests"), &json!("menu")], vec![&json!(true), &json!(false)])
    );
    assert_eq!((&reply["decisions"][0]["id"], &reply["decisions"][0]["seq"]), (&decision["id"], &json!(4)));
    assert_eq!(each(&reply["thoughts"], "seq"), [3, 2, 1]);
    assert_eq!(reply["memories"][0]["id"], record["id"]);
    assert!(reply["memories"][0]["score"].as_f64().unwrap() > 0.0);
    assert!(reply["tokens"].as_u64().unwrap() <= 1_024);
    assert!(reply.get("left_out").is_none() && reply.get("degraded").is_none(), "{reply}");
}

/// The room is kept to, and shared: no part is starved by what comes before it.
#[tokio::test]
async fn a_context_keeps_to_its_room_and_shares_it_b037() {
    let (_app, made) = started().await;
    let client = &made.client;
    let id = client.session(&"A long goal. ".repeat(300)).await;
    for at in 0..12 {
        client.think(&id, &format!("Thought {at}: {}", "and on ".repeat(400))).await;
        client.resolve(&id, &format!("Decision {at}.")).await;
    }
    client.inject("note", json!("x".repeat(60_000))).await.expect(200);
    client.remember(fact("A long goal is a goal.")).await;
    for room in [1, 30, 64, 240, 1_000, 32_768] {
        let reply = client.get(&format!("{}?max_tokens={room}", path(&id))).await.expect(200);
        let (text, tokens) = (reply["text"].as_str().unwrap(), reply["tokens"].as_u64().unwrap());
        assert!(tokens <= room && text.chars().count() as u64 <= 4 * room, "{room}: {tokens}");
        if room >= 240 {
            for part in ["slots", "decisions", "thoughts", "memories"] {
                assert!(!reply[part].as_array().unwrap().is_empty(), "{room}: {part} is starved: {text}");
            }
            assert_eq!(reply["decisions"][0]["text"], "Decision 11.", "the latest first");
        }
        for id in
            ["slots", "decisions", "thoughts", "memories"].iter().flat_map(|part| each(&reply[*part], "id"))
        {
            assert!(text.contains(&format!("({})", id.as_str().unwrap())), "{id} is not in the text");
        }
    }
    for bad in ["0", "32769", "x", "", "-1", "1.5"] {
        client.get(&format!("{}?max_tokens={bad}", path(&id))).await.refused(400, "invalid_request");
    }
    client.get(&path(NO_SESSION)).await.refused(404, "not_found");
}

/// What the token has no right to is left out, and that is said.
#[tokio::test]
async fn a_context_says_what_it_leaves_out_b037_r30() {
    let (app, made) = started().await;
    let id = made.client.session("Find the lighthouse.").await;
    made.client.inject("note", json!("A note.")).await.expect(200);
    made.client.remember(fact("The lighthouse stands on rock.")).await;
    let reader = holding(&app, &made, "default", json!({ "memory.cognitive": ["read"] })).await;
    let reply = reader.get(&path(&id)).await.expect(200);
    let forbidden = |part: &str| json!({ "part": part, "reason": "forbidden" });
    assert_eq!(reply["left_out"], json!([forbidden("slots"), forbidden("memories")]));
    assert_eq!(reply["text"], "Goal: Find the lighthouse.\n");
    let more = json!({ "memory.cognitive": ["read"], "memory.durable": ["read"] });
    let reply = holding(&app, &made, "default", more).await.get(&path(&id)).await.expect(200);
    assert_eq!(reply["left_out"], json!([forbidden("slots")]));
    assert_eq!(reply["memories"].as_array().unwrap().len(), 1);
    assert_eq!(reply["degraded"], json!(["semantic"]), "there is no embedder");
    // A token sees the records of its scopes only.
    let bob = json!({ "namespace": "default", "scopes": [{ "kind": "user", "key": "bob" }] });
    let bob = app.anyone().capability(&app.exchange(&made.key, bob).await);
    let reply = bob.get(&path(&id)).await.expect(200);
    assert_eq!((&reply["memories"], each(&reply["slots"], "id")), (&json!([]), vec![&json!("note")]));
}

/// XB-51: an offer takes the goal of an active session of the namespace.
#[tokio::test]
async fn an_offer_takes_the_goal_of_a_session_xb33_xb51() {
    let app = TestApp::start().await;
    let made = app.tenant("minds").await;
    let client = &made.client;
    client.engine(json!({ "gate": { "type": "GoalDirected", "threshold": 0.3 } })).await;
    let id = client.session("Plan a vegetarian dinner for Alice.").await;
    let items = json!([
        { "id": "on", "value": "A vegetarian dinner that Alice likes." },
        { "id": "off", "value": "The printer driver crashes on startup." },
    ]);
    let offer = |more: Value| {
        let mut body = json!({ "items": items });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    client.post(OFFER, offer(json!({}))).await.names(400, "goal");
    let reply = client.post(OFFER, offer(json!({ "session_id": id }))).await.expect(200);
    assert_eq!(each(&reply["verdicts"], "reason"), ["admitted", "off_goal"]);
    let own = json!({ "session_id": id, "goal": "Repair the printer driver that crashes." });
    let reply = client.post(OFFER, offer(own)).await.expect(200);
    assert_eq!(each(&reply["verdicts"], "reason"), ["off_goal", "admitted"], "the goal that is given counts");
    let foreign = app.tenant("foreign").await.client.session("Plan a dinner.").await;
    let elsewhere = app.within(&made.key, "elsewhere").await.session("Plan a dinner.").await;
    for unknown in [NO_SESSION, &foreign, &elsewhere] {
        client.post(OFFER, offer(json!({ "session_id": unknown }))).await.refused(404, "not_found");
        client
            .post(OFFER, offer(json!({ "session_id": unknown, "goal": "g" })))
            .await
            .refused(404, "not_found");
    }
    client.post(OFFER, offer(json!({ "session_id": "no-id" }))).await.names(400, "session_id");
    let writer = holding(&app, &made, "default", json!({ "memory.working": ["write"] })).await;
    writer.post(OFFER, offer(json!({ "session_id": id }))).await.refused(403, "forbidden");
    let enough = json!({ "memory.working": ["write"], "memory.cognitive": ["read"] });
    let enough = holding(&app, &made, "default", enough).await;
    enough.post(OFFER, offer(json!({ "session_id": id }))).await.expect(200);
    client.close_session(&id, json!({})).await.expect(200);
    client.post(OFFER, offer(json!({ "session_id": id }))).await.refused(409, "conflict");
}

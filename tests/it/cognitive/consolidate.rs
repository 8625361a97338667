//! What came of a session becomes durable memory when it is closed: XB-69, R-30, PC-38, B-004.

use serde_json::{Value, json};

use super::{DECISION, SESSIONS, holding, started};
use crate::support::wire::at_once;
use crate::support::{Client, TestApp, each};

/// The active records, by content.
async fn records(client: &Client) -> Vec<Value> {
    let listed = client.get("/v1/memory/items?limit=100").await.expect(200);
    let mut records = listed["records"].as_array().unwrap().clone();
    records.sort_by_key(|record| record["content"].as_str().unwrap().to_owned());
    records
}

#[tokio::test]
async fn decisions_and_summary_become_durable_memory_xb69_pc38_b004() {
    let app = TestApp::start().await;
    let made = app.tenant("minds").await;
    let client = &made.client;
    let id = client.session("Investigate the Q3 revenue change by sales channel.").await;
    client.think(&id, "A thought is not kept.").await;
    let body = json!({ "session_id": id, "decision": "Ask the resellers first.", "rationale": "They fell most.", "confidence": 0.9 });
    let first = client.post(DECISION, body).await.expect(200)["decision"].clone();
    let second = client.resolve(&id, "Report on Friday.").await;
    let third = client.resolve(&id, "report  on FRIDAY.").await;
    let body = json!({ "consolidate": true, "summary": "Resellers lost two large customers." });
    let closed = client.close_session(&id, body).await.expect(200);
    assert_eq!(closed["session"]["status"], "closed");
    let consolidated = &closed["consolidated"];
    assert_eq!(each(consolidated, "entry"), [&first["id"], &second["id"], &third["id"], &json!("summary")]);
    assert_eq!(
        each(consolidated, "relation"),
        ["novel", "novel", "duplicate", "novel"],
        "equal texts are one fact"
    );
    assert_eq!(consolidated[1]["memory_id"], consolidated[2]["memory_id"]);
    let kept = records(client).await;
    assert_eq!(
        each(&json!(kept), "content"),
        ["Ask the resellers first.", "Report on Friday.", "Resellers lost two large customers."]
    );
    let agent = json!({ "kind": "agent", "key": "revenue-assistant" });
    assert!(kept.iter().all(|record| record["scope"] == agent && record["status"] == "active"));
    assert_eq!(each(&json!(kept), "category"), ["project_decision", "project_decision", "project_fact"]);
    let decision = &kept[0];
    assert_eq!((&decision["id"], &decision["confidence"]), (&consolidated[0]["memory_id"], &json!(0.9)));
    let evidence = &decision["metadata"]["evidence"];
    assert_eq!(evidence[0]["source_ref"], first["id"]);
    assert_eq!(each(evidence, "quote"), ["Ask the resellers first.", "They fell most."]);
    assert_eq!(decision["metadata"]["session_id"], id);
    assert_eq!(kept[1]["metadata"]["evidence"].as_array().unwrap().len(), 2, "both decisions are evidence");
    for result in consolidated.as_array().unwrap().iter().filter(|result| result["relation"] == "novel") {
        let path = format!("/v1/memory/candidates/{}", result["candidate_id"].as_str().unwrap());
        assert_eq!(client.get(&path).await.expect(200)["candidate"]["status"], "approved");
    }
    assert_eq!(client.found("whom to ask about sales").await[0], "Ask the resellers first.", "R-10");
    // What is repeated doubles nothing.
    let again = client.close_session(&id, json!({ "consolidate": true })).await.expect(200);
    assert_eq!(again["session"], closed["session"]);
    assert_eq!(each(&again["consolidated"], "relation"), ["duplicate"; 4]);
    assert_eq!(each(&again["consolidated"], "memory_id"), each(consolidated, "memory_id"));
    let still: Vec<Value> = records(client).await;
    assert_eq!(each(&json!(still), "version"), each(&json!(kept), "version"), "nor changes anything");
}

/// A close that broke off after it had consolidated: the session is active, and the next close finds what is there.
#[tokio::test]
async fn a_close_that_broke_off_is_done_again_without_doubling_xb69() {
    let (app, made) = started().await;
    let id = made.client.session("A goal.").await;
    for at in 0..70 {
        made.client.resolve(&id, &format!("Decision number {at}.")).await;
    }
    let mut superuser = app.db.superuser().await;
    let fail = "CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE SQLSTATE '57P01'; END $$;
      CREATE TRIGGER broken BEFORE UPDATE ON cognitive_sessions FOR EACH ROW EXECUTE FUNCTION broken();";
    sqlx::raw_sql(fail).execute(&mut superuser).await.unwrap();
    let once = made.client.with("idempotency-key", "k");
    let body = json!({ "consolidate": true, "summary": "The sum." });
    once.close_session(&id, body.clone()).await.refused(503, "unavailable");
    assert_eq!(made.client.look_at(&id).await["status"], "active");
    assert_eq!(records(&made.client).await.len(), 71);
    sqlx::raw_sql("DROP TRIGGER broken ON cognitive_sessions").execute(&mut superuser).await.unwrap();
    made.client.resolve(&id, "One more decision.").await;
    let closed = once.close_session(&id, body).await.expect(200);
    let relations = each(&closed["consolidated"], "relation");
    assert_eq!(relations.iter().filter(|relation| **relation == "duplicate").count(), 71);
    assert_eq!(relations.iter().filter(|relation| **relation == "novel").count(), 1);
    assert_eq!(
        made.client.get("/v1/memory/items?query=Decision&limit=100").await.expect(200)["records"]
            .as_array()
            .unwrap()
            .len(),
        71
    );
}

/// No decision is lost between the consolidation and the close.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn decisions_that_come_in_meanwhile_are_consolidated_too_xb69() {
    let (_app, made) = started().await;
    let id = made.client.session("A goal.").await;
    for at in 0..20 {
        made.client.resolve(&id, &format!("Early decision {at}.")).await;
    }
    let replies = at_once((0..24).map(|at| {
        let (client, id) = (made.client.clone(), id.clone());
        async move {
            if at == 8 {
                let path = format!("{}/{id}/close", super::SESSION);
                return client.post_until_answered(&path, json!({ "consolidate": true })).await;
            }
            let body = json!({ "session_id": id, "decision": format!("Late decision {at}.") });
            client.post_until_answered(DECISION, body).await
        }
    }))
    .await;
    let closed = replies[8].body.clone();
    assert_eq!(closed["session"]["status"], "closed", "{closed}");
    let mut consolidated: Vec<Value> = each(&closed["consolidated"], "entry").into_iter().cloned().collect();
    let mut decisions: Vec<Value> =
        made.client.whole_timeline(&id).await.iter().map(|entry| entry["id"].clone()).collect();
    consolidated.sort_by_key(Value::to_string);
    decisions.sort_by_key(Value::to_string);
    assert_eq!(consolidated, decisions);
    assert_eq!(records(&made.client).await.len(), decisions.len());
}

/// consolidation needs durable write, slots need rights on working memory; without them nothing happens at all.
#[tokio::test]
async fn it_needs_the_rights_to_all_it_touches_r30() {
    let (app, made) = started().await;
    let id = made.client.session("A goal.").await;
    made.client.resolve(&id, "A decision.").await;
    made.client.inject("note", json!("A note.")).await.expect(200);
    let write = json!({ "consolidate": true });
    let keep = json!({ "slots": { "consolidate": ["note"] } });
    let clear = json!({ "slots": { "clear": ["note"] } });
    for (rights, refused) in [
        (
            json!({ "memory.cognitive": ["write"], "memory.candidates": ["read", "write", "review"], "memory.durable": ["read"] }),
            vec![&write, &keep, &clear],
        ),
        (
            json!({ "memory.cognitive": ["read"], "memory.durable": ["write"], "memory.working": ["read", "delete"] }),
            vec![&write, &keep, &clear],
        ),
        (
            json!({ "memory.cognitive": ["write"], "memory.durable": ["write"], "memory.working": ["read", "write"] }),
            vec![&keep, &clear],
        ),
        (
            json!({ "memory.cognitive": ["write"], "memory.durable": ["write"], "memory.working": ["delete"] }),
            vec![&keep],
        ),
        (
            json!({ "memory.cognitive": ["write"], "memory.durable": ["read"], "memory.working": ["read", "delete"] }),
            vec![&keep],
        ),
    ] {
        let caller = holding(&app, &made, "default", rights).await;
        for body in refused {
            caller.close_session(&id, body.clone()).await.refused(403, "forbidden");
        }
    }
    // A token whose scopes do not reach the agent's memory.
    let scoped = json!({ "namespace": "default", "scopes": [{ "kind": "user", "key": "alice" }] });
    let scoped = app.anyone().capability(&app.exchange(&made.key, scoped).await);
    scoped.close_session(&id, write.clone()).await.refused(403, "forbidden");
    assert_eq!(made.client.look_at(&id).await["status"], "active");
    assert_eq!((records(&made.client).await.len(), made.client.ids().await), (0, vec!["note".to_owned()]));
    let alice = json!({ "consolidate": true, "scope": { "kind": "user", "key": "alice" } });
    scoped.close_session(&id, alice).await.expect(200);
    assert_eq!(records(&made.client).await[0]["scope"], json!({ "kind": "user", "key": "alice" }));
    let other = made.client.session("Another.").await;
    let enough = holding(
        &app,
        &made,
        "default",
        json!({ "memory.cognitive": ["write"], "memory.durable": ["write"] }),
    )
    .await;
    enough.close_session(&other, write).await.expect(200);
}

/// What the tenant's policy does not let in waits as a candidate, and the answer says so.
#[tokio::test]
async fn the_tenants_policy_has_the_last_word_pc38() {
    let (app, made) = started().await;
    let settings =
        json!({ "candidate_policy": { "review_enabled": true, "allow_explicit_auto_approve": false } });
    let mut superuser = app.db.superuser().await;
    let sql = "UPDATE tenants SET settings = $2 WHERE tenant_id = $1";
    sqlx::query(sql).bind(made.id.uuid()).bind(settings).execute(&mut superuser).await.unwrap();
    let id = made.client.session("A goal.").await;
    made.client.resolve(&id, "A decision.").await;
    let closed = made.client.close_session(&id, json!({ "consolidate": true })).await.expect(200);
    let result = &closed["consolidated"][0];
    assert!(result.get("memory_id").is_none() && result["candidate_id"].is_string(), "{closed}");
    assert_eq!(closed["session"]["status"], "closed");
    let path = format!("/v1/memory/candidates/{}", result["candidate_id"].as_str().unwrap());
    let candidate = made.client.get(&path).await.expect(200)["candidate"].clone();
    assert_eq!(candidate["candidate_text"], "A decision.");
    assert_eq!(records(&made.client).await.len(), 0);
}

#[tokio::test]
async fn slots_whose_task_is_done_are_remembered_or_cleared_b004() {
    let (_app, made) = started().await;
    let client = &made.client;
    for (id, value) in
        [("keep", json!("Ask Bob.")), ("drop", json!(1)), ("stay", json!(2)), ("blank", json!(" "))]
    {
        client.inject(id, value).await.expect(200);
    }
    let id = client.session("A goal.").await;
    client.resolve(&id, "Not asked to be kept.").await;
    for (field, slots) in [
        ("slots.clear[0]", json!({ "clear": [""] })),
        ("slots.clear[0]", json!({ "consolidate": ["keep"], "clear": ["keep"] })),
        ("slots", json!({ "clear": (0..65).map(|at| at.to_string()).collect::<Vec<_>>() })),
    ] {
        client.close_session(&id, json!({ "slots": slots, "consolidate": true })).await.names(400, field);
    }
    assert_eq!(records(client).await.len(), 0, "nothing is done when something is wrong");
    let slots = json!({ "consolidate": ["keep", "blank", "absent"], "clear": ["drop", "gone"] });
    let closed = client.close_session(&id, json!({ "slots": slots })).await.expect(200);
    assert!(closed.get("consolidated").is_none());
    let settled = &closed["slots"];
    assert_eq!(each(settled, "id"), ["keep", "blank", "absent", "drop", "gone"]);
    assert_eq!(each(settled, "cleared"), [true, false, false, true, false]);
    assert_eq!(settled[1]["error"]["code"], "invalid_request");
    let kept = records(client).await;
    assert_eq!(
        (kept.len(), &kept[0]["id"], &kept[0]["content"]),
        (1, &settled[0]["memory_id"], &json!("Ask Bob."))
    );
    assert_eq!(kept[0]["scope"], json!({ "kind": "agent", "key": "revenue-assistant" }));
    assert_eq!(client.ids().await, ["blank", "stay"]);
}

/// A session with more decisions than one close can see to is refused as it is, and can be closed without.
#[tokio::test]
async fn a_thousand_decisions_are_too_many_to_consolidate() {
    let (app, made) = started().await;
    let id = made.client.session("A goal.").await;
    let mut superuser = app.db.superuser().await;
    sqlx::query("UPDATE cognitive_sessions SET decision_count = 1001").execute(&mut superuser).await.unwrap();
    let details =
        made.client.close_session(&id, json!({ "consolidate": true })).await.names(400, "consolidate");
    assert_eq!((&details["limit"], &details["actual"]), (&json!(1_000), &json!(1_001)));
    made.client.close_session(&id, json!({})).await.expect(200);
    let listed = made.client.get(&format!("{SESSIONS}?status=closed")).await.expect(200);
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
}

//! Listing sessions and reading timelines page by page: XB-68, C141, C143.

use serde_json::{Value, json};

use super::{SESSION, SESSIONS, one_of_each, started};
use crate::support::each;

#[tokio::test]
async fn each_session_is_listed_once_newest_first_c141_xb68() {
    let (app, made) = started().await;
    let mut made_ids = Vec::new();
    for at in 0..25 {
        let body = json!({ "agent_id": format!("agent-{}", at % 2), "goal": format!("Goal {at}.") });
        made_ids.push(made.client.post(SESSION, body).await.expect(200)["session"]["id"].clone());
    }
    made_ids.reverse();
    for limit in [1, 7, 50] {
        let (mut ids, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = made.client.get(&format!("{SESSIONS}?limit={limit}{cursor}")).await.expect(200);
            ids.extend(each(&page["sessions"], "id").into_iter().cloned());
            let Some(next) = page.get("next_cursor") else { break };
            cursor = format!("&cursor={}", next.as_str().unwrap());
        }
        assert_eq!(ids, made_ids, "pages of {limit}");
    }
    let of_one = made.client.get(&format!("{SESSIONS}?agent_id=agent-1&limit=100")).await.expect(200);
    assert_eq!(of_one["sessions"].as_array().unwrap().len(), 12);
    assert!(each(&of_one["sessions"], "agent_id").iter().all(|agent| *agent == "agent-1"));
    let none = made.client.get(&format!("{SESSIONS}?agent_id=agent")).await.expect(200);
    assert_eq!(none, json!({ "sessions": [] }));
    let active = made.client.get(&format!("{SESSIONS}?status=active")).await.expect(200);
    assert_eq!(active["sessions"].as_array().unwrap().len(), 20);
    assert_eq!(
        made.client.get(&format!("{SESSIONS}?status=closed")).await.expect(200),
        json!({ "sessions": [] })
    );
    for bad in ["status=open", "status=", "agent_id=", "limit=0", "limit=x", "offset=1", "agent_id=a%00"] {
        made.client.get(&format!("{SESSIONS}?{bad}")).await.refused(400, "invalid_request");
    }
    assert_eq!(app.within(&made.key, "new").await.get(SESSIONS).await.expect(200), json!({ "sessions": [] }));
}

/// C143: a cursor is good for its tenant, namespace and question alone; only the limit may change.
#[tokio::test]
async fn a_cursor_is_for_its_question_c143() {
    let (app, made) = started().await;
    let foreign = app.tenant("foreign").await;
    for at in 0..4 {
        for client in [&made.client, &foreign.client] {
            client.begin(&format!("Goal {at}.")).await;
        }
    }
    let page = made.client.get(&format!("{SESSIONS}?limit=1")).await.expect(200);
    let cursor = page["next_cursor"].as_str().unwrap();
    let rest = made.client.get(&format!("{SESSIONS}?limit=50&cursor={cursor}")).await.expect(200);
    assert_eq!(rest["sessions"].as_array().unwrap().len(), 3);
    let elsewhere = app.within(&made.key, "elsewhere").await;
    let taken = format!("{SESSIONS}?cursor={cursor}");
    for caller in [&foreign.client, &elsewhere] {
        caller.get(&taken).await.names(400, "cursor");
    }
    let cut = &cursor[..cursor.len() - 1];
    let flipped = format!("{}{}", if cursor.starts_with('A') { "B" } else { "A" }, &cursor[1..]);
    let huge = "A".repeat(40_000);
    for bad in [cut, &flipped, "AAAA", "", "%25", &huge] {
        made.client.get(&format!("{SESSIONS}?cursor={bad}")).await.names(400, "cursor");
    }
    for changed in ["agent_id=revenue-assistant", "status=active"] {
        made.client.get(&format!("{taken}&{changed}")).await.names(400, "cursor");
    }
    made.client.get(&format!("/v1/memory/items?cursor={cursor}")).await.names(400, "cursor");
    made.client.get(&format!("/v1/memory/candidates?cursor={cursor}")).await.names(400, "cursor");
}

#[tokio::test]
async fn a_timeline_is_read_in_order_from_anywhere_xb68() {
    let (_app, made) = started().await;
    let id = made.client.session("A goal.").await;
    let mut written: Vec<Value> = Vec::new();
    for _ in 0..9 {
        for (path, body) in one_of_each(&id) {
            let reply = made.client.post(path, body).await.expect(200);
            let kind = path.rsplit('/').next().unwrap();
            let mut entry = reply[kind].clone();
            entry["type"] = json!(kind);
            written.push(entry);
        }
    }
    assert_eq!(made.client.whole_timeline(&id).await, written, "as they were answered, with their type");
    let path = format!("{SESSION}/{id}/timeline");
    let first = made.client.get(&path).await.expect(200);
    assert_eq!((first["entries"].as_array().unwrap().len(), &first["next_after_seq"]), (20, &json!(20)));
    let page = made.client.get(&format!("{path}?after_seq=20&limit=7")).await.expect(200);
    assert_eq!(page, json!({ "entries": written[20..27] }), "nothing follows the last");
    for after in [27, 1_000_000] {
        let page = made.client.get(&format!("{path}?after_seq={after}")).await.expect(200);
        assert_eq!(page, json!({ "entries": [] }));
    }
    let capped = made.client.get(&format!("{path}?limit=1000")).await.expect(200);
    assert_eq!(capped["entries"].as_array().unwrap().len(), 27, "R-03");
    for bad in
        ["after_seq=-1", "after_seq=x", "after_seq=", "after_seq=99999999999999999999", "limit=0", "before=1"]
    {
        made.client.get(&format!("{path}?{bad}")).await.refused(400, "invalid_request");
    }
}

//! Versions and snapshots of the workspace (B-034, XB-18, XB-27, XB-48, R-52).

use ::redis::cmd;
use serde_json::json;

use super::WORKSPACE;
use crate::support::{TestApp, redis};

#[tokio::test]
async fn versions_rise_by_one_and_a_stale_one_is_409_xb48_r52() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    let version = async || alice.get(WORKSPACE).await.expect(200)["version"].as_u64().unwrap();
    alice.inject("a", json!(1)).await.expect(200);
    let writes = [
        ("workspace/offer", json!({ "items": [{ "id": "b", "value": 1 }] })),
        ("slots/rehearse", json!({ "id": "b" })),
        ("focus", json!({ "id": "b" })),
        ("focus/release", json!({})),
        ("slots/consolidate", json!({ "id": "b" })),
        ("clear", json!({})),
    ];
    for (path, body) in &writes {
        let current = version().await;
        let path = format!("/v1/working-memory/{path}");
        for wrong in [current + 1, current - 1, 0] {
            let mut body = body.clone();
            body["if_version"] = wrong.into();
            alice.post(&path, body).await.refused(409, "conflict");
            assert_eq!(version().await, current, "{path}");
        }
        let mut body = body.clone();
        // A text may be remembered; a number may, too.
        body["if_version"] = current.into();
        alice.post(&path, body).await.expect(200);
        assert_eq!(version().await, current + 1, "{path}");
    }
    let emptied = version().await;
    alice.inject("a", json!(1)).await.expect(200);
    assert_eq!(version().await, emptied + 1, "it goes on after it was empty");
    let refused = json!({ "items": [{ "id": "c", "value": 1, "activation": 0, "importance": 0, "relevance": 0, "observed_at": 0 }] });
    let before = version().await;
    alice.post("/v1/working-memory/workspace/offer", refused).await.expect(200);
    assert_eq!(version().await, before, "what the gate refuses changes nothing");
}

#[tokio::test]
async fn a_snapshot_is_read_again_as_it_was_b034_xb18_xb48() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await;
    let client = &alice.client;
    client.inject("a", json!("before")).await.expect(200);
    let first = client.get(&format!("{WORKSPACE}?snapshot=new")).await.expect(200);
    let id = first["snapshot"].as_str().unwrap();
    client.inject("a", json!("after")).await.expect(200);
    client.inject("b", json!(1)).await.expect(200);
    app.pass(5.0);
    let again = client.get(&format!("{WORKSPACE}?snapshot={id}")).await.expect(200);
    assert_eq!(again, first);
    assert_eq!(client.get(WORKSPACE).await.expect(200)["count"], 2);
    let other = app.within(&alice.key, "other").await;
    other.get(&format!("{WORKSPACE}?snapshot={id}")).await.refused(404, "not_found");
    client.get(&format!("{WORKSPACE}?snapshot=snp_none")).await.refused(404, "not_found");
    client.engine(json!({ "isolation": "ReadCommitted" })).await;
    let newest = client.get(&format!("{WORKSPACE}?snapshot={id}")).await.expect(200);
    assert_eq!(newest["count"], 2, "ReadCommitted holds no snapshot");
    client.engine(json!({ "isolation": "Serializable" })).await;
    let message = client.rehearse("a").await.refused(400, "invalid_request");
    assert!(message.contains("if_version"), "{message}");
    let seen = client.get(WORKSPACE).await.expect(200)["version"].clone();
    let body = json!({ "id": "a", "if_version": seen });
    client.post("/v1/working-memory/slots/rehearse", body.clone()).await.expect(200);
    client.post("/v1/working-memory/slots/rehearse", body).await.refused(409, "conflict");
    client.engine(json!({})).await;
    for _ in 1..16 {
        client.get(&format!("{WORKSPACE}?snapshot=new")).await.expect(200);
    }
    client.get(&format!("{WORKSPACE}?snapshot=new")).await.refused(409, "conflict");
}

/// Whatever became of a workspace meanwhile: who builds on one that is gone is told so.
#[tokio::test]
async fn no_version_ever_stands_for_another_workspace_xb48() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    alice.configure(json!({ "ttl_seconds": 100 })).await;
    let version = async || alice.get(WORKSPACE).await.expect(200)["version"].as_u64().unwrap();
    let mut seen = vec![];
    for round in 0..4 {
        for number in 0..3 {
            alice.inject("a", json!(number)).await.expect(200);
            let version = version().await;
            assert!(seen.iter().all(|&before| before < version), "{version} after {seen:?}");
            seen.push(version);
        }
        for &stale in &seen[..seen.len() - 1] {
            let body = json!({ "id": "a", "if_version": stale });
            alice.post("/v1/working-memory/slots/rehearse", body).await.refused(409, "conflict");
        }
        // It ends unseen, or is seen to end, or Redis itself forgets it; at last it is cleared.
        match round {
            0 => app.pass(100.0),
            1 => {
                app.pass(100.0);
                seen.push(version().await);
            }
            2 => {
                let dump = redis::dump(&app).await;
                let key = dump.keys().find(|key| key.ends_with(":workspace")).unwrap();
                let key = format!("{}{key}", app.app.config.redis.prefix);
                redis::tell_keeper(&app, cmd("DEL").arg(key)).await;
                assert_eq!(version().await, 0);
            }
            _ => {
                alice.engine(json!({ "isolation": "Serializable" })).await;
                for removed in [1, 0] {
                    let body = json!({ "if_version": version().await });
                    let reply = alice.post("/v1/working-memory/clear", body).await.expect(200);
                    assert_eq!(reply["removed"], removed);
                    assert_eq!(reply["version"], version().await, "what is answered can be built on");
                }
            }
        }
    }
}

#[tokio::test]
async fn looking_may_rehearse_under_serializable_xb27_xb48() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    alice.engine(json!({ "isolation": "Serializable", "gate": { "type": "Open" } })).await;
    alice.inject("a", json!(1)).await.expect(200);
    let version = alice.get(WORKSPACE).await.expect(200)["version"].as_u64().unwrap();
    let path = format!("{WORKSPACE}?id=a&rehearse=true");
    alice.get(&path).await.refused(400, "invalid_request");
    for wrong in ["", "x", "-1", "1.5"] {
        alice.get(&format!("{path}&if_version={wrong}")).await.refused(400, "invalid_request");
    }
    alice.get(&format!("{path}&if_version={}", version - 1)).await.refused(409, "conflict");
    let look = alice.get(&format!("{path}&if_version={version}")).await.expect(200);
    assert_eq!(look["version"], version + 1);
    alice.get(&format!("{WORKSPACE}?if_version={version}")).await.refused(400, "invalid_request");
}

#[tokio::test]
async fn a_snapshot_lives_for_a_minute_whatever_comes_after_it_xb48() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    alice.inject("a", json!(1)).await.expect(200);
    let new = format!("{WORKSPACE}?snapshot=new");
    let mut first = String::new();
    for number in 0..16 {
        let look = alice.get(&new).await.expect(200);
        if number == 0 {
            first = format!("{WORKSPACE}?snapshot={}", look["snapshot"].as_str().unwrap());
            app.pass(30.0);
        }
    }
    alice.get(&new).await.refused(409, "conflict");
    alice.get(&first).await.expect(200);
    app.pass(30.0);
    alice.get(&first).await.refused(404, "not_found");
    alice.get(&new).await.expect(200);
    alice.get(&new).await.refused(409, "conflict");
}

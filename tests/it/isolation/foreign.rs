//! Good tokens that do not reach the target: of another tenant, namespace, scope, or lower sensitivity.

use std::collections::BTreeMap;

use memtide::id::{CandidateId, MemoryId};
use serde_json::json;

use super::stage::nothing;
use super::{Call, Stage, Target, assert_tells_nothing, bytes, send, tenant_routes};
use crate::support::Client;

/// Sends everything to everything, and compares with what a missing id gets.
async fn try_all(stage: &Stage, scope: &str, sensitivity: &str, caller: &Client, rows: Rows<'_>) {
    for route in tenant_routes() {
        let (mut target, missing) = (stage.plant(scope, sensitivity).await, nothing());
        if !matches!(rows, Rows::All) {
            // Its own tenant's id is nothing new to a caller.
            target.tenant.clone_from(&missing.tenant);
        }
        if matches!(rows, Rows::Records) {
            // Nor is a session of its own namespace, whatever its scopes.
            target.session.clone_from(&missing.session);
        }
        let before = rows.read(stage, &target).await;
        let (call, reply) = send(route, &target, caller).await;
        assert_tells_nothing(&reply, &call, &target);
        assert!(reply.status.as_u16() < 500, "{call:?} {}", reply.text);
        let (same, answer) = send(route, &missing, caller).await;
        if same != call {
            assert_eq!(bytes(&reply, &target), bytes(&answer, &missing), "{call:?}");
        }
        assert_eq!(rows.read(stage, &target).await, before, "{call:?} changed rows");
    }
}

/// The rows that must not change.
#[derive(Clone, Copy)]
pub enum Rows<'a> {
    All,
    Namespace(&'a str),
    /// Those of the records that the request is aimed at.
    Records,
}

impl Rows<'_> {
    pub async fn read(self, stage: &Stage, target: &Target) -> BTreeMap<String, String> {
        match self {
            Self::All => stage.rows().await,
            Self::Namespace(name) => {
                let ns = format!(
                    "ns = (SELECT ns FROM namespaces n WHERE n.tenant_id = t.tenant_id AND n.name = '{name}')"
                );
                let mut rows = stage.rows_where(&["tenant_id", "ns"], &ns).await;
                rows.extend(stage.slots(&format!(":{name}}}")).await);
                rows
            }
            Self::Records => {
                let uuid = |id: &str| id.parse::<MemoryId>().unwrap().uuid();
                let ids = format!("memory_id IN ('{}', '{}')", uuid(&target.memory), uuid(&target.forgotten));
                let mut rows = stage.rows_where(&["tenant_id", "memory_id"], &ids).await;
                let uuid = |id: &str| id.parse::<CandidateId>().unwrap().uuid();
                let ids =
                    format!("candidate_id IN ('{}', '{}')", uuid(&target.candidate), uuid(&target.twin));
                let of_candidates = stage.rows_where(&["tenant_id", "candidate_id"], &ids).await;
                rows.extend(
                    of_candidates.into_iter().map(|(table, rows)| (format!("{table} of candidates"), rows)),
                );
                rows
            }
        }
    }
}

#[tokio::test]
async fn a_foreign_tenant_gets_what_a_missing_id_gets_and_changes_nothing() {
    let stage = Stage::set().await;
    try_all(&stage, "alice", "normal", &stage.foreign.client, Rows::All).await;
    stage.home.client.get("/v1/auth/whoami").await.expect(200);
}

#[tokio::test]
async fn another_namespace_gets_what_a_missing_id_gets_and_changes_nothing() {
    let stage = Stage::set().await;
    let other = stage.holding(&stage.home, json!({ "namespace": "other", "control": true })).await;
    try_all(&stage, "alice", "normal", &other, Rows::Namespace("default")).await;
}

#[tokio::test]
async fn another_scope_gets_what_a_missing_id_gets_and_changes_nothing() {
    let stage = Stage::set().await;
    let alice = json!({ "namespace": "default", "scopes": [{ "kind": "user", "key": "alice" }] });
    try_all(&stage, "bob", "normal", &stage.holding(&stage.home, alice).await, Rows::Records).await;
    // The kind of a scope is part of it.
    let agent = json!({ "namespace": "default", "scopes": [{ "kind": "user", "key": "alice" }, { "kind": "agent", "key": "bob" }] });
    try_all(&stage, "bob", "normal", &stage.holding(&stage.home, agent).await, Rows::Records).await;
}

#[tokio::test]
async fn a_record_above_the_tokens_sensitivity_is_as_if_absent() {
    let stage = Stage::set().await;
    let normal = json!({ "namespace": "default", "sensitivity": ["normal"] });
    try_all(&stage, "alice", "regulated", &stage.holding(&stage.home, normal).await, Rows::Records).await;
    let usual = json!({ "namespace": "default", "sensitivity": ["normal", "personal"] });
    try_all(&stage, "alice", "secret_like", &stage.holding(&stage.home, usual).await, Rows::Records).await;
}

/// C143: a cursor is good for one tenant, namespace and question.
#[tokio::test]
async fn a_cursor_opens_nothing_for_anybody_else() {
    let stage = Stage::set().await;
    for _ in 0..2 {
        stage.plant("alice", "normal").await;
    }
    let page = stage.home.client.get("/v1/memory/items?limit=1").await.expect(200);
    let list = format!("/v1/memory/items?limit=1&cursor={}", page["next_cursor"].as_str().unwrap());
    let mut search = json!({ "query": "lighthouse", "limit": 1 });
    let page = stage.home.client.post("/v1/memory/search", search.clone()).await.expect(200);
    search["cursor"] = page["next_cursor"].clone();
    stage.home.client.get(&list).await.expect(200);
    stage.home.client.post("/v1/memory/search", search.clone()).await.expect(200);
    let other = stage.holding(&stage.home, json!({ "namespace": "other" })).await;
    for caller in [&stage.foreign.client, &other] {
        caller.get(&list).await.refused(400, "invalid_request");
        caller.post("/v1/memory/search", search.clone()).await.refused(400, "invalid_request");
    }
    // A narrower token of the same namespace gets no more than it may see anyway.
    let bob = json!({ "namespace": "default", "scopes": [{ "kind": "user", "key": "bob" }] });
    let bob = stage.holding(&stage.home, bob).await;
    for reply in [bob.get(&list).await, bob.post("/v1/memory/search", search).await] {
        assert!(!reply.text.contains(super::MARKER), "{}", reply.text);
    }
}

/// C063, R-11: another tenant's key, and one of a wider token, are independent.
#[tokio::test]
async fn an_answer_that_is_kept_is_shown_to_nobody_else() {
    let stage = Stage::set().await;
    let target = stage.plant("alice", "normal").await;
    let route = tenant_routes().find(|route| route.path.ends_with("/restore")).unwrap();
    let call = Call::to(route, &target);
    let kept = call.send(&stage.home.client.with("idempotency-key", "k")).await;
    assert!(kept.text.contains(super::MARKER));
    let bob = json!({ "namespace": "default", "scopes": [{ "kind": "user", "key": "bob" }] });
    let normal = json!({ "namespace": "default", "sensitivity": ["personal"] });
    let other = json!({ "namespace": "other" });
    for request in [bob, normal, other] {
        let narrow = stage.holding(&stage.home, request).await;
        let reply = call.send(&narrow.with("idempotency-key", "k")).await;
        assert_tells_nothing(&reply, &call, &target);
    }
    let reply = call.send(&stage.foreign.client.with("idempotency-key", "k")).await;
    assert_tells_nothing(&reply, &call, &target);
    let again = call.send(&stage.home.client.with("idempotency-key", "k")).await;
    assert_eq!(again.text, kept.text, "and its owner still gets it");
}

//! Every method × every wrong token, over HTTP and over WebSocket (F-1).

use std::net::SocketAddr;

use axum::http::Method as HttpMethod;
use memtide::http::route::Needs;
use memtide::rpc::method::{Method, methods};
use serde_json::{Value, json};

use super::foreign::Rows;
use super::right::enough_and_lacking;
use super::routes::{Target, decision};
use super::stage::nothing;
use super::{MARKER, Stage};
use crate::support::{Socket, pending};

/// Every method and what a caller must hold.
const METHODS: &[&str] = &[
    "memory/search Right(Durable, Read)",
    "memory/get Right(Durable, Read)",
    "memory/list Right(Durable, Read)",
    "memory/remember Right(Durable, Write)",
    "memory/forget Right(Durable, Delete)",
    "memory/restore Right(Durable, Write)",
    "memory/candidates/list Right(Candidates, Read)",
    "memory/candidates/get Right(Candidates, Read)",
    "memory/candidates/decide Right(Candidates, Review)",
    "memory/candidates/approve Rights([(Candidates, Review), (Durable, Write)])",
    "memory/candidates/reject Right(Candidates, Review)",
    "memory/candidates/edit_and_approve Rights([(Candidates, Review), (Durable, Write)])",
    "memory/candidates/merge Right(Candidates, Review)",
    "memory/candidates/suppress_similar Right(Candidates, Review)",
    "memory/semantic_write Right(Candidates, Write)",
];

#[test]
fn the_table_of_methods_is_the_one_that_was_looked_at_c023() {
    let found: Vec<String> = methods().map(|method| format!("{} {:?}", method.name, method.needs)).collect();
    assert_eq!(
        found, METHODS,
        "look at the new or changed method, say how it is called, and update the list"
    );
}

/// How a method is called for this target.
fn params(method: &Method, target: &Target) -> Value {
    let note =
        json!({ "scope": { "kind": "user", "key": "alice" }, "category": "custom", "content": "A note." });
    match method.name {
        "memory/search" => json!({ "query": target.words, "limit": 100 }),
        "memory/get" => json!({ "memory_id": target.memory, "include_deleted": true }),
        "memory/list" | "memory/candidates/list" => json!({ "limit": 100 }),
        "memory/remember" => note,
        "memory/forget" => json!({ "target": { "kind": "id", "memory_id": target.memory } }),
        "memory/restore" => json!({ "memory_id": target.forgotten }),
        "memory/semantic_write" => pending("A note on the sea."),
        "memory/candidates/get" => json!({ "candidate_id": target.candidate }),
        name => {
            let act = name.strip_prefix("memory/candidates/").unwrap_or_else(|| panic!("{name} is new"));
            let mut params = decision(act, target);
            params["candidate_id"] = json!(target.candidate);
            params
        }
    }
}

/// A way to call methods.
#[derive(Clone, Copy)]
enum Transport {
    Http,
    Socket(SocketAddr),
}

impl Transport {
    async fn both(stage: &Stage) -> [Self; 2] {
        [Self::Http, Self::Socket(stage.app.serve().await)]
    }

    /// The answer without the request's id, which differs each time.
    async fn answer(self, stage: &Stage, token: &str, method: &Method, params: &Value) -> Value {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method.name, "params": params });
        let mut answer = match self {
            Self::Http => {
                let caller = stage.app.anyone().capability(token);
                caller.send(HttpMethod::POST, "/v1/rpc", Some(request.to_string())).await.expect(200)
            }
            Self::Socket(address) => {
                let mut socket = Socket::open(address, token, "").await.unwrap();
                socket.send(&request.to_string()).await;
                socket.next_answer().await
            }
        };
        if let Some(data) = answer.pointer_mut("/error/data") {
            data["request_id"] = json!("(request)");
        }
        answer
    }
}

fn assert_tells_nothing(answer: &Value, params: &Value, target: &Target, method: &Method) {
    let (answer, params) = (answer.to_string(), params.to_string());
    for secret in target.ids().into_iter().chain([MARKER]).filter(|secret| !params.contains(secret)) {
        assert!(!answer.contains(secret), "{} answers {secret}: {answer}", method.name);
    }
}

/// The answer with the target's ids made alike.
fn alike(answer: &Value, target: &Target) -> String {
    target.ids().iter().fold(answer.to_string(), |all, id| all.replace(id, "(id)"))
}

async fn try_all(stage: &Stage, scope: &str, sensitivity: &str, token: &str, rows: Rows<'_>) {
    for transport in Transport::both(stage).await {
        for method in methods() {
            let (target, missing) = (stage.plant(scope, sensitivity).await, nothing());
            let before = rows.read(stage, &target).await;
            let (sent, of_missing) = (params(method, &target), params(method, &missing));
            let answer = transport.answer(stage, token, method, &sent).await;
            assert_tells_nothing(&answer, &sent, &target, method);
            if sent != of_missing {
                let other = transport.answer(stage, token, method, &of_missing).await;
                assert_eq!(alike(&answer, &target), alike(&other, &missing), "{}", method.name);
            }
            assert_eq!(rows.read(stage, &target).await, before, "{} changed rows", method.name);
        }
    }
}

#[tokio::test]
async fn a_foreign_tenant_gets_what_a_missing_id_gets_from_every_method() {
    let stage = Stage::set().await;
    try_all(&stage, "alice", "normal", &stage.foreign.capability, Rows::All).await;
}

#[tokio::test]
async fn other_namespaces_scopes_and_sensitivities_get_what_a_missing_id_gets_from_every_method() {
    let stage = Stage::set().await;
    let other = stage.token(&stage.home, json!({ "namespace": "other" })).await;
    try_all(&stage, "alice", "normal", &other, Rows::Namespace("default")).await;
    let stage = Stage::set().await;
    let alice = json!({ "namespace": "default", "scopes": [{ "kind": "user", "key": "alice" }] });
    try_all(&stage, "bob", "normal", &stage.token(&stage.home, alice).await, Rows::Records).await;
    let stage = Stage::set().await;
    let usual = json!({ "namespace": "default", "sensitivity": ["normal", "personal"] });
    try_all(&stage, "alice", "secret_like", &stage.token(&stage.home, usual).await, Rows::Records).await;
}

#[tokio::test]
async fn each_right_of_a_method_is_enough_and_everything_but_it_is_not_c090() {
    let stage = Stage::set().await;
    for transport in Transport::both(&stage).await {
        for method in methods() {
            assert!(matches!(method.needs, Needs::Right(..) | Needs::Rights(..)), "{}", method.name);
            let (enough, lacking) = enough_and_lacking(method.needs);
            let target = stage.plant("alice", "normal").await;
            let sent = params(method, &target);
            let before = stage.rows().await;
            for request in lacking {
                let token = stage.token(&stage.home, request).await;
                let answer = transport.answer(&stage, &token, method, &sent).await;
                assert_tells_nothing(&answer, &sent, &target, method);
                assert_eq!(answer["error"]["code"], -32003, "{} {answer}", method.name);
                assert_eq!(answer["error"]["data"]["code"], "forbidden");
            }
            assert_eq!(stage.rows().await, before, "{} was refused and had an effect", method.name);
            let token = stage.token(&stage.home, enough).await;
            let answer = transport.answer(&stage, &token, method, &sent).await;
            assert!(answer.get("result").is_some(), "{} {answer}", method.name);
        }
    }
}

/// What needs durable write depends on what is asked.
#[tokio::test]
async fn decisions_that_change_a_memory_need_durable_write() {
    let stage = Stage::set().await;
    let review = json!({ "namespace": "default", "capabilities": { "memory.candidates": ["read", "write", "review"] } });
    let reviewer = stage.holding(&stage.home, review).await;
    let target = stage.plant("alice", "normal").await;
    let before = stage.rows().await;
    let id = &target.candidate;
    for (method, params) in [
        ("memory/candidates/decide", json!({ "candidate_id": id, "decision": "approve" })),
        ("memory/candidates/merge", json!({ "candidate_id": id, "target_memory_id": target.memory })),
    ] {
        reviewer.refused(method, params, -32003, "forbidden").await;
    }
    let mut accept = pending("Accept this.");
    accept["disposition"] = json!("accept_active");
    reviewer.refused("memory/semantic_write", accept.clone(), -32003, "forbidden").await;
    reviewer.post("/v1/memory/semantic_write", accept).await.refused(403, "forbidden");
    assert_eq!(stage.rows().await, before);
}

/// Every wrong authority is refused at the handshake, with HTTP's own status (PC-01).
#[tokio::test]
async fn a_handshake_without_a_good_token_is_401() {
    let stage = Stage::set().await;
    let address = stage.app.serve().await;
    for token in ["", "garbage", "a.b.c"] {
        assert_eq!(Socket::open(address, token, "").await.err(), Some(401), "{token}");
    }
    let revoked = stage.token(&stage.home, json!({ "namespace": "default" })).await;
    stage.app.anyone().capability(&revoked).post("/v1/auth/revoke", json!({})).await.expect(200);
    assert_eq!(Socket::open(address, &revoked, "").await.err(), Some(401));
    assert!(Socket::open(address, &stage.home.capability, "").await.is_ok());
}

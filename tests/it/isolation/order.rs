//! The order of checks: who lacks the right to a route is told so, whatever else is wrong with the request.

use axum::http::Method;
use memtide::auth::Rights;
use memtide::http::route::{Needs, Route};
use serde_json::{Value, json};

use super::{Stage, tenant_routes};

/// A request that fits its type and breaks a rule: what follows the route's path, and the body.
fn faulty(route: &Route) -> Option<(String, Option<Value>)> {
    let path = route.path.replace("{id}", "no-id");
    let scope = json!({ "kind": "user", "key": "alice" });
    Some(match (route.method.as_str(), route.path) {
        ("POST", "/v1/memory/items") => {
            (path, Some(json!({ "scope": scope, "category": "custom", "content": " " })))
        }
        ("POST", "/v1/memory/items/batch") => (path, Some(json!({ "items": [] }))),
        ("POST", "/v1/memory/capture") => (path, Some(json!({ "task_content": " " }))),
        ("GET", "/v1/memory/items") => (format!("{path}?scope=nobody&limit=0&key=k"), None),
        ("GET", "/v1/memory/items/{id}/history") => (format!("{path}?limit=0"), None),
        ("PATCH", "/v1/memory/items/{id}") => (path, Some(json!({ "content": " " }))),
        ("GET" | "DELETE", "/v1/memory/items/{id}") | ("GET", "/v1/memory/jobs/{id}") => (path, None),
        ("POST", "/v1/memory/items/{id}/restore") => (path, Some(json!({}))),
        ("POST", "/v1/memory/search") => (path, Some(json!({ "query": " " }))),
        ("POST", "/v1/memory/context") => (path, Some(json!({ "query": "x", "max_tokens": 0 }))),
        ("POST", "/v1/memory/forget") => {
            (path, Some(json!({ "target": { "kind": "id", "memory_id": "no-id" } })))
        }
        (_, pattern) if pattern.starts_with("/v1/memory/cognitive/") => return of_session(pattern, path),
        _ => return None,
    })
}

/// The same of sessions.
fn of_session(pattern: &str, path: String) -> Option<(String, Option<Value>)> {
    let body = match pattern.strip_prefix("/v1/memory/cognitive/")? {
        "session" => json!({ "agent_id": " ", "goal": "g" }),
        "thought" => json!({ "session_id": "no-id", "content": "c" }),
        "decision" => json!({ "session_id": "no-id", "decision": "d" }),
        "interaction" => json!({ "session_id": "no-id", "role": "user", "content": "c" }),
        "sessions" => return Some((format!("{path}?limit=0"), None)),
        "session/{id}/timeline" => return Some((format!("{path}?after_seq=x"), None)),
        "session/{id}/context" => return Some((format!("{path}?max_tokens=0"), None)),
        "session/{id}/close" => json!({ "summary": "s" }),
        "session/{id}" => return Some((path, None)),
        _ => panic!("{pattern} is new: say here what breaks its rules"),
    };
    Some((path, Some(body)))
}

#[tokio::test]
async fn the_right_is_asked_for_before_the_rules_r31() {
    let stage = Stage::set().await;
    for route in tenant_routes() {
        let (Needs::Right(area, action), Some((path, body))) = (route.needs, faulty(route)) else { continue };
        let but = Rights::of(Rights::all().iter().filter(|right| *right != (area, action)));
        for (rights, status, code) in [(but, 403, "forbidden"), (Rights::all(), 400, "invalid_request")] {
            let request = json!({ "namespace": "default", "capabilities": rights, "control": true });
            let caller = stage.holding(&stage.home, request).await;
            let mut requests = vec![caller.clone(), caller.with("idempotency-key", &"k".repeat(300))];
            if route.method == Method::PATCH {
                requests.push(caller.with("if-match", "the last"));
            }
            for caller in requests {
                let body = body.as_ref().map(Value::to_string);
                caller.send(route.method.clone(), &path, body).await.refused(status, code);
            }
        }
    }
}

//! Authorities of the wrong sort, and good ones that have ended.

use chrono::TimeDelta;
use memtide::auth::Rights;
use memtide::http;
use memtide::http::route::Needs;
use serde_json::json;

use super::{Stage, assert_tells_nothing, send};
use crate::support::Client;

/// What somebody holds.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Sort {
    Nothing,
    Garbage,
    Expired,
    Revoked,
    Suspended,
    ApiKey,
    PersonalToken,
    OperatorKey,
    Capability,
}

/// How a route refuses it; none when it may let it in.
#[expect(clippy::match_same_arms, reason = "each arm is a rule of its own, and their order matters")]
fn refusal(needs: Needs, sort: Sort) -> Option<(u16, &'static str)> {
    let unauthorized = Some((401, "unauthorized"));
    let forbidden = Some((403, "forbidden"));
    match (needs, sort) {
        (Needs::Nothing, _) => None,
        (_, Sort::Nothing | Sort::Garbage | Sort::Expired | Sort::Revoked) => unauthorized,
        (Needs::Operator, Sort::OperatorKey) | (Needs::ApiKey, Sort::ApiKey) => None,
        // a good authority of the wrong sort.
        (_, Sort::OperatorKey) => forbidden,
        // a capability buys no capability.
        (Needs::ApiKey, _) => unauthorized,
        // a suspended tenant is told so everywhere.
        (_, Sort::Suspended) => Some((403, "tenant_suspended")),
        (Needs::Operator, _) => forbidden,
        // R-13a: an API key alone has to be exchanged first.
        (_, Sort::ApiKey) => unauthorized,
        (Needs::Control | Needs::RightAndControl(..), Sort::PersonalToken) => forbidden,
        (_, Sort::PersonalToken | Sort::Capability) => None,
    }
}

async fn holders(stage: &Stage) -> Vec<(Sort, Client)> {
    let app = &stage.app;
    let short = app.exchange(&stage.home.key, json!({ "namespace": "default", "ttl_seconds": 60 })).await;
    app.app.clock.shift(TimeDelta::seconds(66));
    let revoked = app.exchange(&stage.home.key, json!({ "namespace": "default" })).await;
    app.anyone().capability(&revoked).post("/v1/auth/revoke", json!({})).await.expect(200);
    let suspended = app.tenant("suspended").await;
    let operator = app.operator().await;
    let path = format!("/v1/admin/tenants/{}", suspended.id);
    operator.patch(&path, json!({ "status": "suspended" })).await.expect(200);
    let token = json!({ "name": "t", "namespace": "default", "capabilities": Rights::all() });
    let token = app.personal_token(stage.foreign.id, token).await.1;
    let anyone = app.anyone();
    vec![
        (Sort::Nothing, anyone.clone()),
        (Sort::Garbage, anyone.bearer("garbage")),
        (Sort::Garbage, anyone.capability("a.b.c")),
        (Sort::Garbage, anyone.with("authorization", "Basic bWU6bWU=")),
        // Forms of keys that nobody was given; the checksum of each is right.
        (Sort::Garbage, anyone.bearer(&stage.home.key.replacen("mt_key_", "mt_pat_", 1))),
        (Sort::Expired, anyone.capability(&short)),
        (Sort::Expired, anyone.bearer(&short)),
        (Sort::Revoked, anyone.capability(&revoked)),
        (Sort::Suspended, anyone.capability(&suspended.capability)),
        (Sort::ApiKey, anyone.bearer(&stage.foreign.key)),
        (Sort::PersonalToken, anyone.bearer(&token)),
        (Sort::OperatorKey, operator),
        (Sort::Capability, stage.foreign.client.clone()),
    ]
}

#[tokio::test]
async fn every_wrong_authority_is_refused_and_changes_nothing() {
    let stage = Stage::set().await;
    let holders = holders(&stage).await;
    let target = stage.plant("alice", "normal").await;
    let before = stage.rows().await;
    for route in http::routes() {
        for (sort, caller) in &holders {
            let Some((status, code)) = refusal(route.needs, *sort) else { continue };
            let (call, reply) = send(route, &target, caller).await;
            assert_tells_nothing(&reply, &call, &target);
            assert_eq!(reply.status.as_u16(), status, "{sort:?} {call:?} {}", reply.text);
            reply.refused(status, code);
        }
        assert_eq!(stage.rows().await, before, "{} {} changed rows", route.method, route.path);
    }
}

/// what needs no token takes any, and tells nothing of anybody.
#[tokio::test]
async fn open_routes_answer_everybody_and_tell_nothing_of_a_tenant() {
    let stage = Stage::set().await;
    let holders = holders(&stage).await;
    let target = stage.plant("alice", "normal").await;
    for route in http::routes().filter(|route| route.needs == Needs::Nothing) {
        for (sort, caller) in &holders {
            let (call, reply) = send(route, &target, caller).await;
            assert_eq!(reply.status.as_u16(), 200, "{sort:?} {call:?} {}", reply.text);
            assert_tells_nothing(&reply, &call, &target);
        }
    }
    for path in ["/openapi.json", "/docs/"] {
        let reply = stage.app.anyone().get(path).await;
        assert_eq!(reply.status.as_u16(), 200, "{path}");
    }
}

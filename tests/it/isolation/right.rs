//! What the table says a route needs, it needs, and nothing more (R-14, R-30, C090).

use memtide::auth::{Action, Area, Rights};
use memtide::http;
use memtide::http::route::Needs;
use serde_json::{Value, json};

use super::{Stage, assert_tells_nothing, send, status_in_memory, tenant_routes};
use crate::support::Client;

/// A request for a capability with these rights.
fn request(rights: &Rights, control: bool) -> Value {
    json!({ "namespace": "default", "capabilities": rights, "control": control })
}

fn only(area: Area, action: Action) -> Rights {
    Rights::of([(area, action)])
}

fn all_but(area: Area, action: Action) -> Rights {
    Rights::of(Rights::all().iter().filter(|right| *right != (area, action)))
}

/// Just what is needed, and each way to have all but that.
pub fn enough_and_lacking(needs: Needs) -> (Value, Vec<Value>) {
    match needs {
        Needs::Right(area, action) => {
            (request(&only(area, action), false), vec![request(&all_but(area, action), true)])
        }
        Needs::Rights(rights) => (
            request(&Rights::of(rights.iter().copied()), false),
            rights.iter().map(|&(area, action)| request(&all_but(area, action), true)).collect(),
        ),
        Needs::RightAndControl(area, action) => (
            request(&only(area, action), true),
            vec![request(&all_but(area, action), true), request(&Rights::all(), false)],
        ),
        Needs::Control => {
            (request(&only(Area::Events, Action::Read), true), vec![request(&Rights::all(), false)])
        }
        Needs::Capability => (request(&only(Area::Events, Action::Read), false), Vec::new()),
        Needs::Nothing | Needs::ApiKey | Needs::Operator => unreachable!("no capability is needed"),
    }
}

#[tokio::test]
async fn each_right_is_enough_and_everything_but_it_is_not() {
    let stage = Stage::set().await;
    for route in tenant_routes() {
        let (enough, lacking) = enough_and_lacking(route.needs);
        let target = stage.plant("alice", "normal").await;
        let before = stage.rows().await;
        for request in lacking {
            let caller = stage.holding(&stage.home, request.clone()).await;
            let (call, reply) = send(route, &target, &caller).await;
            assert_tells_nothing(&reply, &call, &target);
            reply.refused(403, "forbidden");
        }
        assert_eq!(
            stage.rows().await,
            before,
            "{} {} was refused and had an effect",
            route.method,
            route.path
        );
        // The caller ends its own capability here, not that of the test.
        let caller = stage.holding(&stage.home, enough).await;
        let target = super::Target { capability: own_capability(&caller).await, ..target };
        let (call, reply) = send(route, &target, &caller).await;
        assert_eq!(reply.status.as_u16(), status_in_memory(route), "{call:?} {}", reply.text);
    }
}

async fn own_capability(caller: &Client) -> String {
    caller.get("/v1/auth/whoami").await.expect(200)["jti"].as_str().unwrap().to_owned()
}

/// So that the matrix is not one of requests that fail anyway.
#[tokio::test]
async fn every_request_of_the_matrix_is_in_order() {
    let stage = Stage::set().await;
    let operator = stage.app.operator().await;
    for route in http::routes() {
        let mut target = stage.plant("alice", "normal").await;
        if route.needs == Needs::Operator {
            let slug = format!("scratch-{}", &target.memory[20..]);
            let scratch = stage.app.tenant(&slug).await;
            let key =
                json!({ "name": "k", "namespaces": ["*"], "capabilities": { "memory.durable": ["read"] } });
            let token = json!({ "name": "t", "namespace": "default", "capabilities": { "memory.durable": ["read"] } });
            target.key = stage.app.api_key(scratch.id, key).await.0.to_string();
            target.token = stage.app.personal_token(scratch.id, token).await.0.to_string();
            (target.tenant, target.slug) = (scratch.id.to_string(), slug);
        }
        let caller = match route.needs {
            Needs::Nothing => stage.app.anyone(),
            Needs::ApiKey => stage.app.anyone().bearer(&stage.home.key),
            Needs::Operator => operator.clone(),
            _ => stage.holding(&stage.home, json!({ "namespace": "default", "control": true })).await,
        };
        if route.path.ends_with("/revoke") {
            target.capability = own_capability(&caller).await;
        }
        let (call, reply) = send(route, &target, &caller).await;
        assert_eq!(reply.status.as_u16(), status_in_memory(route), "{call:?} {}", reply.text);
    }
}

/// Erasing for good needs control beside the right to delete.
#[tokio::test]
async fn erasing_needs_control() {
    let stage = Stage::set().await;
    let target = stage.plant("alice", "normal").await;
    let delete = request(&only(Area::Durable, Action::Delete), false);
    let caller = stage.holding(&stage.home, delete).await;
    let before = stage.rows().await;
    let erase = json!({ "target": { "kind": "id", "memory_id": target.memory }, "erase": true });
    caller.post("/v1/memory/forget", erase.clone()).await.refused(403, "forbidden");
    assert_eq!(stage.rows().await, before);
    let delete = request(&only(Area::Durable, Action::Delete), true);
    let reply = stage.holding(&stage.home, delete).await.post("/v1/memory/forget", erase).await.expect(200);
    assert_eq!(reply["forgotten_memory_ids"], json!([target.memory]));
}

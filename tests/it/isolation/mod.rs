//! Every route × every wrong token (figure F-1): nothing foreign in any answer, nothing foreign changed.

mod authority;
mod foreign;
mod method;
mod order;
mod right;
mod routes;
mod stage;
mod tool;

use memtide::http;
use memtide::http::route::Route;

use crate::support::{Client, Reply};
use routes::{Call, ROUTES, Target};
use stage::{MARKER, Stage};

#[test]
fn the_table_of_routes_is_the_one_that_was_looked_at() {
    let routes: Vec<String> =
        http::routes().map(|route| format!("{} {} {:?}", route.method, route.path, route.needs)).collect();
    assert_eq!(routes, ROUTES, "look at the new or changed route, say how it is called, and update the list");
}

/// Refuses an answer that tells anything of the target which its sender did not know.
fn assert_tells_nothing(reply: &Reply, call: &Call, target: &Target) {
    let headers = format!("{:?}", reply.headers);
    for secret in target.ids().into_iter().chain([MARKER]).filter(|secret| !call.holds(secret)) {
        assert!(!reply.text.contains(secret), "{call:?} answers {secret}: {}", reply.text);
        assert!(!headers.contains(secret), "{call:?} answers {secret}: {headers}");
    }
}

/// Everything of an answer, with the target's ids made alike.
fn bytes(reply: &Reply, target: &Target) -> String {
    let all = format!("{} {:?} {}", reply.status, reply.headers, reply.text);
    target.ids().iter().fold(all, |all, id| all.replace(id, "(id)"))
}

/// The routes that a tenant's token is for.
fn tenant_routes() -> impl Iterator<Item = &'static Route> {
    use memtide::http::route::Needs;
    http::routes().filter(|route| !matches!(route.needs, Needs::Nothing | Needs::ApiKey | Needs::Operator))
}

/// The status of success. Without a socket to upgrade, a WebSocket gets no further than that.
fn status_in_memory(route: &Route) -> u16 {
    if route.status == 101 { 400 } else { route.status }
}

async fn send(route: &Route, target: &Target, caller: &Client) -> (Call, Reply) {
    let call = Call::to(route, target);
    let reply = call.send(caller).await;
    (call, reply)
}

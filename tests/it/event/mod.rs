//! The stream of changes.

mod crash;
mod erased;
mod order;
mod resume;
mod told;

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::support::{Made, TestApp};

/// A service on a port, with a tenant.
async fn served() -> (TestApp, Made, SocketAddr) {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("events").await;
    let address = app.serve().await;
    (app, made, address)
}

/// A notification without what differs each time.
fn short(told: &Value) -> (String, Value) {
    let params = &told["params"];
    let what = match told["method"].as_str().unwrap() {
        "memory/changed" => params["change_kind"].clone(),
        "memory/forgotten" => params["memory_ids"].clone(),
        "memory/candidate_created" => params["candidate"]["status"].clone(),
        other => panic!("{other} is no notification"),
    };
    (told["method"].as_str().unwrap().to_owned(), what)
}

/// A capability for these rights and scopes.
async fn holding(app: &TestApp, made: &Made, request: Value) -> String {
    let mut whole = json!({ "namespace": "default" });
    whole.as_object_mut().unwrap().extend(request.as_object().unwrap().clone());
    app.exchange(&made.key, whole).await
}

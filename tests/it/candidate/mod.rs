//! Candidates and the semantic write.

mod erase;
mod golden;
mod kept;
mod late;
mod list;
mod model;
mod race;
mod review;
mod sensitive;
mod suppress;
mod twin;
mod write;

use serde_json::{Value, json};

use crate::support::{Client, Made, TestApp, proposal, with};

/// Row (a): an explicit identity, said by the user.
fn identity(name: &str) -> Value {
    let said = json!({
        "value": name,
        "evidence": [{ "source_thread_id": "t1", "quote": format!("I am {name}"), "span": { "start": 0, "end": 8 } }],
    });
    let fields = json!({
        "intent": "explicit_store", "explicitness": "explicit", "category": "identity", "attribute": "name",
    });
    with(meaning(proposal(&format!("The user's name is {name}.")), fields), said)
}

/// The same with other semantic fields.
fn meaning(mut proposal: Value, fields: Value) -> Value {
    let semantic = proposal["semantic"].take();
    proposal["semantic"] = with(semantic, fields);
    proposal
}

/// A caller of this tenant whose writes are made by a sort of actor.
async fn acting(app: &TestApp, made: &Made, kind: &str) -> Client {
    let key = json!({
        "name": kind, "namespaces": ["*"], "capabilities": memtide::auth::Rights::all(), "actor": { "kind": kind },
    });
    let key = app.api_key(made.id, key).await.1;
    app.anyone().capability(&app.exchange(&key, json!({ "namespace": "default" })).await)
}

/// A tenant where somebody reviews.
async fn reviewed(app: &TestApp, slug: &str) -> Made {
    with_policy(app, slug, json!({ "review_enabled": true })).await
}

/// A tenant with a policy of its own.
async fn with_policy(app: &TestApp, slug: &str, policy: Value) -> Made {
    let made = app.tenant(slug).await;
    let settings = json!({ "settings": { "candidate_policy": policy } });
    app.operator().await.patch(&format!("/v1/admin/tenants/{}", made.id), settings).await.expect(200);
    made
}

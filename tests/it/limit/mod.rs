//! How much a tenant may do, XA-E3, C059, C071.

mod rate;
mod stream;
mod turn;

use serde_json::{Value, json};

use crate::support::{Client, Made, Reply, TestApp};

/// A tenant with these limits, known to every node that is asked after this.
async fn limited(app: &TestApp, slug: &str, limits: Value) -> Made {
    let made = app.tenant(slug).await;
    limit(app, &made, limits).await;
    made
}

/// Sets a tenant's limits.
async fn limit(app: &TestApp, made: &Made, limits: Value) {
    let path = format!("/v1/admin/tenants/{}", made.id);
    app.operator().await.patch(&path, json!({ "limits": limits })).await.expect(200);
}

/// That it was refused for being too much, because of this limit.
fn over(reply: &Reply, name: &str, limit: u64) {
    assert_eq!(reply.status, 429, "{reply:?}");
    let error = &reply.body["error"];
    assert_eq!(error["code"], "rate_limited");
    assert_eq!(error["details"], json!({ "field": name, "limit": limit }), "R-18");
    let after: u64 = reply.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=10).contains(&after), "{after}");
}

/// How many of so many requests were let in.
async fn granted(client: &Client, requests: usize) -> usize {
    let mut granted = 0;
    for _ in 0..requests {
        granted += usize::from(client.get("/v1/memory/items").await.status == 200);
    }
    granted
}

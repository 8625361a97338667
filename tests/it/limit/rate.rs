//! Requests in time.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{granted, limit, limited, over};
use crate::support::{Client, Socket, TestApp};

/// So slow that nothing is granted again while a test runs.
const SLOW: u32 = 1;

fn rate(burst: u32) -> Value {
    json!({ "requests_per_second": SLOW, "burst": burst })
}

#[tokio::test]
async fn a_flooding_tenant_is_told_to_wait_and_no_other_is() {
    let app = TestApp::start_lexical().await;
    let (loud, quiet) = (limited(&app, "loud", rate(5)).await, app.tenant("quiet").await);
    let first = loud.client.get("/v1/memory/items").await;
    let header = |name: &str| first.headers[name].to_str().unwrap().to_owned();
    assert_eq!(header("ratelimit"), r#""tenant";r=4;t=5"#);
    assert_eq!(header("ratelimit-policy"), r#""tenant";q=5;w=5"#);
    let start = Instant::now();
    let more = granted(&loud.client, 20).await;
    let again = usize::try_from(start.elapsed().as_secs()).unwrap() + 1;
    assert!((4..=4 + again).contains(&more), "{more}");
    over(&loud.client.get("/v1/memory/items").await, "requests_per_second", 1);
    assert_eq!(granted(&quiet.client, 20).await, 20);
    assert!(quiet.client.get("/v1/memory/items").await.headers.get("ratelimit").is_none());
    // A new token of the same tenant does not help, and asking for one counts.
    let key = app.anyone().bearer(&loud.key);
    over(&key.post("/v1/auth/token", json!({ "namespace": "default" })).await, "requests_per_second", 1);
    // It is let in again when it is told it would be.
    tokio::time::sleep(Duration::from_secs(1)).await;
    loud.client.get("/v1/memory/items").await.expect(200);
}

/// C059: whose request it is, is in the token and nowhere else.
#[tokio::test]
async fn headers_of_proxies_change_nothing_c059() {
    let app = TestApp::start_lexical().await;
    let loud = limited(&app, "loud", rate(2)).await;
    assert_eq!(granted(&loud.client, 2).await, 2);
    let long = "9".repeat(10_000);
    for (name, value) in [
        ("x-forwarded-for", "203.0.113.9"),
        ("x-forwarded-for", "garbage, 1.2.3"),
        ("x-real-ip", "203.0.113.10"),
        ("forwarded", "for=203.0.113.11;proto=https"),
        ("x-forwarded-for", &long),
    ] {
        let reply = loud.client.with(name, value).with(name, "198.51.100.7").get("/v1/memory/items").await;
        over(&reply, "requests_per_second", 1);
    }
}

/// R-31: who is not known, or asks for too much, learns nothing else.
#[tokio::test]
async fn authentication_comes_before_the_rate_and_the_body_after_it_r31() {
    let app = TestApp::start_lexical().await;
    let loud = limited(&app, "loud", rate(1)).await;
    loud.client.get("/v1/memory/items").await.expect(200);
    app.anyone().get("/v1/memory/items").await.refused(401, "unauthorized");
    let broken = loud.client.send_bytes(axum::http::Method::POST, "/v1/memory/items", Some(b"{".to_vec()));
    over(&broken.await, "requests_per_second", 1);
}

/// C071: the requests of a batch count one by one.
#[tokio::test]
async fn every_request_of_a_batch_counts_c071() {
    let app = TestApp::start_lexical().await;
    let loud = limited(&app, "loud", rate(4)).await;
    let batch = |size: u64| {
        let request = |id| json!({ "jsonrpc": "2.0", "id": id, "method": "memory/list", "params": {} });
        Value::Array((0..size).map(request).collect())
    };
    let answers = loud.client.post("/v1/rpc", batch(12)).await.expect(200);
    outcomes(&answers, 4);
    over(&loud.client.post("/v1/rpc", batch(1)).await, "requests_per_second", 1);
    let other = limited(&app, "other", rate(5)).await;
    let mut socket = Socket::open(app.serve().await, &other.capability, "").await.unwrap();
    socket.send(&batch(12).to_string()).await;
    outcomes(&socket.next_answer().await, 4);
    let answer = socket.answer("memory/list", json!({})).await;
    assert_eq!(
        (&answer["error"]["code"], &answer["error"]["data"]["code"]),
        (&json!(-32029), &json!("rate_limited"))
    );
}

/// The first ones are answered, the rest refused, all in order.
fn outcomes(answers: &Value, granted: usize) {
    for (place, answer) in answers.as_array().unwrap().iter().enumerate() {
        assert_eq!(answer["id"], place);
        if place < granted {
            assert!(answer["result"].is_object(), "{answer}");
        } else if place > granted {
            // One more may have been granted meanwhile.
            assert_eq!(answer["error"]["code"], -32029, "{answer}");
            assert_eq!(
                answer["error"]["data"]["details"],
                json!({ "field": "requests_per_second", "limit": 1 })
            );
        }
    }
}

#[tokio::test]
async fn limits_are_live_on_every_node_within_a_second_and_shared_by_them_r34() {
    let app = TestApp::start_lexical().await;
    let (node, router) = app.second_node().await;
    let made = app.tenant("loud").await;
    let there = Client::new(router).capability(&made.capability);
    assert_eq!(granted(&there, 10).await, 10, "no limit yet");
    limit(&app, &made, rate(8)).await;
    let start = Instant::now();
    while there.get("/v1/memory/items").await.headers.get("ratelimit").is_none() {
        assert!(start.elapsed() < Duration::from_secs(1));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // Each grants half, once they know of each other.
    let start = Instant::now();
    while !made.client.get("/v1/memory/items").await.headers["ratelimit-policy"]
        .to_str()
        .unwrap()
        .contains("q=4")
    {
        assert!(start.elapsed() < Duration::from_secs(5));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    limit(&app, &made, json!({})).await;
    assert_eq!(granted(&made.client, 20).await, 20, "no limit any more");
    node.stop();
}

#[tokio::test]
async fn new_tenants_get_what_the_deployment_gives_unless_told() {
    let usual = memtide::tenant::Limits { requests_per_second: Some(9), ..Default::default() };
    let app = TestApp::start_configured(std::sync::Arc::new(memtide::embed::Embedder::Off), |config| {
        config.tenant_limits = usual;
    })
    .await;
    let operator = app.operator().await;
    let made = operator.post("/v1/admin/tenants", json!({ "slug": "usual", "name": "U" })).await.expect(201);
    assert_eq!(made["tenant"]["limits"]["requests_per_second"], 9);
    let own = json!({ "slug": "own", "name": "O", "limits": { "burst": 3 } });
    let made = operator.post("/v1/admin/tenants", own).await.expect(201);
    let limits = &made["tenant"]["limits"];
    assert_eq!((&limits["requests_per_second"], &limits["burst"]), (&Value::Null, &json!(3)));
    for name in ["requests_per_second", "burst", "max_in_flight"] {
        let none = json!({ "slug": "none", "name": "N", "limits": { name: 0 } });
        operator.post("/v1/admin/tenants", none).await.names(400, &format!("limits.{name}"));
    }
}

//! Requests at once.

use std::time::Duration;

use serde_json::json;

use super::{limited, over};
use crate::support::stub::EmbeddingStub;
use crate::support::{TestApp, fact};

#[tokio::test]
async fn a_tenant_has_so_many_requests_under_way_and_gets_its_places_back() {
    let provider = EmbeddingStub::slow(2, Duration::from_millis(700)).await;
    let app = TestApp::start_with(provider.embedder("slow").await).await;
    let loud = limited(&app, "loud", json!({ "max_in_flight": 2 })).await;
    let quiet = app.tenant("quiet").await;
    let slow: Vec<_> = (0..2)
        .map(|number| {
            let client = loud.client.clone();
            tokio::spawn(
                async move { client.post("/v1/memory/items", fact(&format!("Fact {number}."))).await },
            )
        })
        .collect();
    while provider.requests().len() < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    over(&loud.client.get("/v1/memory/items").await, "max_in_flight", 2);
    quiet.client.get("/v1/memory/items").await.expect(200);
    for request in slow {
        request.await.unwrap().expect(201);
    }
    loud.client.get("/v1/memory/items").await.expect(200);
}

/// Who goes away in the middle gives the place back too.
#[tokio::test]
async fn a_request_that_is_given_up_gives_its_place_back() {
    let provider = EmbeddingStub::slow(2, Duration::from_secs(30)).await;
    let app = TestApp::start_with(provider.embedder("slow").await).await;
    let loud = limited(&app, "loud", json!({ "max_in_flight": 1 })).await;
    let client = loud.client.clone();
    let given_up = tokio::spawn(async move { client.post("/v1/memory/items", fact("A fact.")).await });
    while provider.requests().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    over(&loud.client.get("/v1/memory/items").await, "max_in_flight", 1);
    given_up.abort();
    assert!(given_up.await.is_err());
    loud.client.get("/v1/memory/items").await.expect(200);
}

//! Streams open at the same time.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{limited, over};
use crate::support::{Socket, Sse, TestApp};

#[tokio::test]
async fn a_tenant_has_so_many_streams_of_every_sort_and_gets_them_back() {
    let app = TestApp::start_lexical().await;
    let loud = limited(&app, "loud", json!({ "max_streams": 3 })).await;
    let address = app.serve().await;
    let events = Sse::open(address, &loud.capability, None).await.unwrap();
    let socket = Socket::open(address, &loud.capability, "").await.unwrap();
    let workspace = loud.client.events("/v1/working-memory/events").await;
    over(&loud.client.get("/v1/memory/events").await, "max_streams", 3);
    over(&loud.client.get("/v1/working-memory/events").await, "max_streams", 3);
    assert_eq!(Socket::open(address, &loud.capability, "").await.err(), Some(429));
    loud.client.get("/v1/memory/items").await.expect(200);
    drop((events, socket, workspace));
    let start = Instant::now();
    while Socket::open(address, &loud.capability, "").await.is_err() {
        assert!(start.elapsed() < Duration::from_secs(10));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

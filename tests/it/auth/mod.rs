//! Keys, capabilities, personal tokens: bought, cut, carried in headers, ended.

mod attenuate;
mod ending;
mod exchange;
mod headers;
mod log;
mod signing;
mod words;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::Client;

/// How soon what has ended is refused everywhere (C088, figure F-4).
const EVERYWHERE: Duration = Duration::from_secs(5);

/// Waits until a caller is refused with this, on whatever node it calls.
async fn until_refused(caller: &Client, status: u16, code: &str) {
    let start = Instant::now();
    loop {
        let reply = caller.get("/v1/auth/whoami").await;
        if reply.status.as_u16() == status {
            reply.refused(status, code);
            return;
        }
        assert!(start.elapsed() < EVERYWHERE, "still answered {}: {}", reply.status, reply.text);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn whoami(caller: &Client) -> Value {
    caller.get("/v1/auth/whoami").await.expect(200)
}

async fn attenuated(caller: &Client, request: Value) -> String {
    let reply = caller.post("/v1/auth/attenuate", request).await.expect(200);
    reply["capability"].as_str().unwrap().to_owned()
}

fn read_only() -> Value {
    json!({ "memory.durable": ["read"] })
}

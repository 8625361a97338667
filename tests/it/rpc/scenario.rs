//! One scenario through REST, JSON-RPC and WebSocket: the same records, events and errors (acceptance 2).

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::support::{Follower, Made, Socket, TestApp, fact, with};

/// One way to speak the protocol.
enum Wire {
    Rest,
    Rpc,
    Socket(Box<Socket>),
}

impl Wire {
    async fn open(name: &str, address: SocketAddr, made: &Made) -> Self {
        match name {
            "rest" => Self::Rest,
            "rpc" => Self::Rpc,
            _ => Self::Socket(Box::new(Socket::open(address, &made.capability, "").await.unwrap())),
        }
    }

    /// The result of a method, or the code of its error.
    async fn call(&mut self, made: &Made, method: &str, params: Value) -> Result<Value, Value> {
        let answer = match self {
            Self::Rest => return rest(made, method, params).await,
            Self::Rpc => made.client.answer(method, params).await,
            Self::Socket(socket) => socket.answer(method, params).await,
        };
        match answer.get("error") {
            Some(error) => Err(json!([error["data"]["code"], error["data"].get("details")])),
            None => Ok(answer["result"].clone()),
        }
    }
}

/// The same over REST: the route of a method.
async fn rest(made: &Made, method: &str, params: Value) -> Result<Value, Value> {
    let id = |name: &str| params[name].as_str().unwrap().to_owned();
    let reply = match method {
        "memory/remember" => made.client.post("/v1/memory/items", params).await,
        "memory/search" => made.client.post("/v1/memory/search", params).await,
        "memory/forget" => made.client.post("/v1/memory/forget", params).await,
        "memory/get" => made.client.get(&format!("/v1/memory/items/{}", id("memory_id"))).await,
        "memory/list" => made.client.get("/v1/memory/items").await,
        "memory/restore" => {
            made.client.post(&format!("/v1/memory/items/{}/restore", id("memory_id")), json!({})).await
        }
        "memory/semantic_write" => made.client.post("/v1/memory/semantic_write", params).await,
        "memory/candidates/approve" => made.client.review(&id("candidate_id"), "approve", json!({})).await,
        _ => panic!("{method} has no route here"),
    };
    if reply.status.is_success() {
        return Ok(reply.body);
    }
    let error = &reply.body["error"];
    Err(json!([error["code"], error.get("details")]))
}

/// Ids by the order in which they appear, and times and scores away, so that runs can be compared.
struct Names(Vec<String>);

impl Names {
    fn of(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) if text.starts_with("mem_") || text.starts_with("cnd_") => {
                let place = self.0.iter().position(|known| known == text);
                let place = place.unwrap_or_else(|| {
                    self.0.push(text.clone());
                    self.0.len() - 1
                });
                json!(format!("{}{place}", &text[..4]))
            }
            Value::Array(values) => values.iter().map(|value| self.of(value)).collect(),
            Value::Object(members) => {
                let is_time = |name: &str| name.ends_with("_at") || name == "at" || name.starts_with("score");
                let kept = members.iter().filter(|(name, _)| !is_time(name));
                kept.map(|(name, value)| (name.clone(), self.of(value))).collect()
            }
            other => other.clone(),
        }
    }
}

async fn play(name: &str) -> Vec<Value> {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("scenario").await;
    let address = app.serve().await;
    let mut wire = Wire::open(name, address, &made).await;
    let mut events = Follower::open(name == "socket", address, &made.capability, None).await;
    let mut names = Names(Vec::new());
    let mut played = Vec::new();
    // Each step with the number of events it makes, which are read before the next one: what is forgotten later would
    // not be shown any more.
    let mut step = async |method: &str, params: Value, count: usize| {
        let outcome = wire.call(&made, method, params).await;
        played.push(match &outcome {
            Ok(result) => json!({ "method": method, "result": names.of(result) }),
            Err(error) => json!({ "method": method, "error": error }),
        });
        for _ in 0..count {
            let told = events.told().await;
            played.push(json!({ "event": told["method"], "params": names.of(&told["params"]) }));
        }
        outcome.unwrap_or_default()
    };
    let keyed = |content: &str| with(fact(content), json!({ "key": "drink" }));
    let unknown = "00000000000000000000000000";
    let first = step("memory/remember", keyed("Drinks tea."), 1).await["record"]["id"].clone();
    step("memory/search", json!({ "query": "tea" }), 0).await;
    step("memory/remember", keyed("Drinks coffee."), 1).await;
    step("memory/search", json!({ "query": "tea" }), 0).await;
    let heir = with(fact("Drinks water."), json!({ "supersedes": first }));
    let second = step("memory/remember", heir.clone(), 2).await["record"]["id"].clone();
    step("memory/remember", heir, 0).await;
    step("memory/list", json!({}), 0).await;
    let target = json!({ "kind": "id", "memory_id": second });
    step("memory/forget", json!({ "target": target, "reason": "asked" }), 2).await;
    step("memory/search", json!({ "query": "water" }), 0).await;
    step("memory/restore", json!({ "memory_id": second }), 1).await;
    step("memory/get", json!({ "memory_id": second }), 0).await;
    step("memory/restore", json!({ "memory_id": format!("mem_{unknown}") }), 0).await;
    step("memory/restore", json!({ "memory_id": "nonsense" }), 0).await;
    step("memory/remember", fact(""), 0).await;
    step("memory/remember", fact(&"x".repeat(70_000)), 0).await;
    step("memory/remember", json!({ "content": "x" }), 0).await;
    step("memory/search", json!({ "query": "x", "limit": 0 }), 0).await;
    let proposed = step("memory/semantic_write", crate::support::pending("Likes the sea."), 1).await;
    let candidate = proposed["candidate"]["id"].clone();
    step("memory/candidates/approve", json!({ "candidate_id": candidate }), 1).await;
    step("memory/candidates/approve", json!({ "candidate_id": format!("cnd_{unknown}") }), 0).await;
    assert_eq!(events.told_within(std::time::Duration::from_millis(300)).await, None);
    played
}

#[tokio::test]
async fn rest_json_rpc_and_websocket_give_the_same_records_events_and_errors() {
    let rest = play("rest").await;
    for name in ["rpc", "socket"] {
        let played = play(name).await;
        assert_eq!(rest.len(), played.len());
        for (one, other) in rest.iter().zip(&played) {
            assert_eq!(one, other, "{name}");
        }
    }
    let failed: Vec<&Value> = rest.iter().filter_map(|step| step.get("error")).collect();
    assert_eq!(failed.len(), 8, "{failed:?}");
}

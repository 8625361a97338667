//! Every item of the memory protocol by its number, over HTTP and over WebSocket (acceptance 1).

mod candidate;
mod fate;
mod record;
mod write;

use serde_json::{Value, json};

use crate::support::{Client, Made, Socket, TestApp, proposal, with};

/// A caller on one of the transports, with a tenant of its own.
struct Caller {
    /// The tenant, for what is looked at from outside.
    made: Made,
    socket: Option<Socket>,
}

/// A service with a caller on each transport.
async fn both() -> (TestApp, [Caller; 2]) {
    let app = TestApp::start_lexical().await;
    let http = Caller { made: app.tenant("http").await, socket: None };
    let made = app.tenant("socket").await;
    let socket = Socket::open(app.serve().await, &made.capability, "").await.ok();
    assert!(socket.is_some());
    (app, [http, Caller { made, socket }])
}

impl Caller {
    fn rest(&self) -> &Client {
        &self.made.client
    }

    async fn answer(&mut self, method: &str, params: Value) -> Value {
        match &mut self.socket {
            Some(socket) => socket.answer(method, params).await,
            None => self.made.client.answer(method, params).await,
        }
    }

    /// The result of a method.
    async fn call(&mut self, method: &str, params: Value) -> Value {
        let answer = self.answer(method, params).await;
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// The number and the code of the error with which a method is refused.
    async fn refused(&mut self, method: &str, params: Value) -> (i64, String) {
        let answer = self.answer(method, params).await;
        let error = answer.get("error").unwrap_or_else(|| panic!("{method}: {answer}"));
        (error["code"].as_i64().unwrap(), error["data"]["code"].as_str().unwrap().to_owned())
    }

    /// Goes on with a token that is good now.
    async fn renew(&mut self, app: &TestApp) {
        self.made.capability = app.exchange(&self.made.key, json!({ "namespace": "default" })).await;
        self.made.client = app.anyone().capability(&self.made.capability);
        if self.socket.is_some() {
            self.socket = Socket::open(app.serve().await, &self.made.capability, "").await.ok();
        }
    }

    /// Remembers, and gives the record.
    async fn remember(&mut self, params: Value) -> Value {
        self.call("memory/remember", params).await["record"].clone()
    }

    /// The contents of the hits of a search.
    async fn found(&mut self, params: Value) -> Vec<String> {
        let reply = self.call("memory/search", params).await;
        let content = |hit: &Value| hit["record"]["content"].as_str().unwrap().to_owned();
        reply["hits"].as_array().unwrap().iter().map(content).collect()
    }
}

fn alice() -> Value {
    json!({ "kind": "user", "key": "alice" })
}

/// Row (a) of XC-37: an explicit identity, said by the user.
fn identity(name: &str) -> Value {
    let mut write = proposal(&format!("The user's name is {name}."));
    for (field, value) in [
        ("intent", "explicit_store"),
        ("explicitness", "explicit"),
        ("category", "identity"),
        ("attribute", "name"),
    ] {
        write["semantic"][field] = json!(value);
    }
    with(write, json!({ "value": name }))
}

fn invalid() -> (i64, String) {
    (-32602, "invalid_request".to_owned())
}

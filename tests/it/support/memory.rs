//! The routes of durable memory, as tests use them most.

use serde_json::{Value, json};

use super::client::{Client, Reply};

/// A fact about Alice.
pub fn fact(content: &str) -> Value {
    json!({ "scope": { "kind": "user", "key": "alice" }, "category": "custom", "content": content })
}

/// An object with the members of another in it.
pub fn with(mut body: Value, more: Value) -> Value {
    let Value::Object(more) = more else { panic!("{more} is no object") };
    body.as_object_mut().unwrap().extend(more);
    body
}

/// A fact with a vector of its own, for tests of many records: nothing is embedded.
pub fn placed(content: &str, axis: usize) -> Value {
    let vector: Vec<u8> = (0..384).map(|at| u8::from(at == axis % 384)).collect();
    with(fact(content), json!({ "embedding": vector, "embedding_model": "all-MiniLM-L6-v2" }))
}

/// The id of a record.
#[track_caller]
pub fn id(record: &Value) -> &str {
    record["id"].as_str().unwrap_or_else(|| panic!("{record} is no record"))
}

/// One member of each thing in a list.
#[track_caller]
pub fn each<'a>(list: &'a Value, member: &str) -> Vec<&'a Value> {
    list.as_array()
        .unwrap_or_else(|| panic!("{list} is no list"))
        .iter()
        .map(|thing| &thing[member])
        .collect()
}

impl Client {
    /// Remembers, and gives the record.
    pub async fn remember(&self, body: Value) -> Value {
        let reply = self.post("/v1/memory/items", body).await;
        assert!(reply.status.is_success(), "{}", reply.text);
        reply.body["record"].clone()
    }

    /// Searches, and gives the hits.
    pub async fn search(&self, body: Value) -> Vec<Value> {
        let reply = self.post("/v1/memory/search", body).await.expect(200);
        reply["hits"].as_array().unwrap().clone()
    }

    /// Searches, and gives the contents of the hits.
    pub async fn found(&self, query: &str) -> Vec<String> {
        let hits = self.search(json!({ "query": query })).await;
        hits.iter().map(|hit| hit["record"]["content"].as_str().unwrap().to_owned()).collect()
    }

    /// Lists, and gives the ids.
    pub async fn listed(&self, question: &str) -> Vec<String> {
        let reply = self.get(&format!("/v1/memory/items?{question}")).await.expect(200);
        each(&reply["records"], "id").into_iter().map(|id| id.as_str().unwrap().to_owned()).collect()
    }

    /// Sends again what was answered 503 or is still running, as a client should.
    pub async fn post_until_answered(&self, path: &str, body: Value) -> Reply {
        for _ in 0..1_000 {
            let reply = self.post(path, body.clone()).await;
            if !reply.headers.contains_key("retry-after") {
                return reply;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        panic!("{path} was never answered");
    }
}

impl Reply {
    /// Checks the status of a refusal and the field it names, and gives its details.
    #[track_caller]
    pub fn names(self, status: u16, field: &str) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        assert_eq!(self.body["ok"], false, "{}", self.text);
        let details = &self.body["error"]["details"];
        assert_eq!(details["field"], field, "{}", self.text);
        details.clone()
    }
}

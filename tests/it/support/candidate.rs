//! Candidates, as tests use them most.

use serde_json::{Value, json};

use super::client::Client;

/// A preference of Alice's that was only implied, said to an assistant.
pub fn proposal(content: &str) -> Value {
    json!({
        "scope": { "kind": "user", "key": "alice" },
        "semantic": {
            "intent": "implicit_candidate", "explicitness": "implicit", "category": "preference",
            "subject": "current_user", "attribute": "custom", "scope_hint": "user_global",
            "durability": "long_lived", "sensitivity": "none", "certainty": "high",
        },
        "content": content,
        "evidence": [{ "quote": content }],
    })
}

/// The same, to be decided by a reviewer.
pub fn pending(content: &str) -> Value {
    let mut proposal = proposal(content);
    proposal["disposition"] = json!("create_pending_candidate");
    proposal
}

impl Client {
    /// Proposes, and gives what became of it.
    pub async fn propose(&self, proposal: Value) -> Value {
        self.post("/v1/memory/semantic_write", proposal).await.expect(200)
    }

    /// Makes a candidate that can be decided, and gives its id.
    pub async fn candidate(&self, content: &str) -> String {
        let made = self.propose(pending(content)).await;
        assert_eq!(made["candidate"]["status"], "pending", "{made}");
        made["candidate"]["id"].as_str().unwrap().to_owned()
    }

    /// Decides about a candidate.
    pub async fn review(&self, id: &str, act: &str, body: Value) -> super::client::Reply {
        self.post(&format!("/v1/memory/candidates/{id}/{act}"), body).await
    }

    /// Makes a candidate and suppresses it and its like.
    pub async fn suppressed(&self, content: &str) {
        let id = self.candidate(content).await;
        self.review(&id, "suppress_similar", json!({})).await.expect(200);
    }
}

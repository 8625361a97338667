//! Cognitive sessions: B-040 to B-057, XB-60 to XB-72, R-50.

mod close;
mod concurrency;
mod consolidate;
mod context;
mod entry;
mod event;
mod list;
mod seed;
mod session;

use serde_json::{Value, json};

use crate::support::{Client, Made, TestApp};

pub const SESSION: &str = "/v1/memory/cognitive/session";
pub const SESSIONS: &str = "/v1/memory/cognitive/sessions";
pub const THOUGHT: &str = "/v1/memory/cognitive/thought";
pub const DECISION: &str = "/v1/memory/cognitive/decision";
pub const INTERACTION: &str = "/v1/memory/cognitive/interaction";

/// An id that is in order and of nothing.
pub const NO_SESSION: &str = "ses_00000000000000000000000000";

/// A service without an embedder, with a tenant.
async fn started() -> (TestApp, Made) {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("minds").await;
    (app, made)
}

/// A caller with just these rights, in a namespace.
async fn holding(app: &TestApp, made: &Made, namespace: &str, rights: Value) -> Client {
    let request = json!({ "namespace": namespace, "capabilities": rights });
    app.anyone().capability(&app.exchange(&made.key, request).await)
}

/// A thought, a decision and an interaction of a session, each with the path it is sent to.
fn one_of_each(session: &str) -> [(&'static str, Value); 3] {
    [
        (THOUGHT, json!({ "session_id": session, "content": "Resellers fell." })),
        (DECISION, json!({ "session_id": session, "decision": "Ask the resellers." })),
        (INTERACTION, json!({ "session_id": session, "role": "agent", "content": "What happened?" })),
    ]
}

impl Client {
    /// Starts a session, and gives it.
    pub async fn begin(&self, goal: &str) -> Value {
        let body = json!({ "agent_id": "revenue-assistant", "goal": goal });
        self.post(SESSION, body).await.expect(200)["session"].clone()
    }

    /// Starts a session, and gives its id.
    pub async fn session(&self, goal: &str) -> String {
        self.begin(goal).await["id"].as_str().unwrap().to_owned()
    }

    /// Writes a thought down.
    pub async fn think(&self, session: &str, content: &str) -> Value {
        let body = json!({ "session_id": session, "content": content });
        self.post(THOUGHT, body).await.expect(200)["thought"].clone()
    }

    /// Writes a decision down.
    pub async fn resolve(&self, session: &str, decision: &str) -> Value {
        let body = json!({ "session_id": session, "decision": decision });
        self.post(DECISION, body).await.expect(200)["decision"].clone()
    }

    /// The session as it is now.
    pub async fn look_at(&self, session: &str) -> Value {
        self.get(&format!("{SESSION}/{session}")).await.expect(200)["session"].clone()
    }

    /// All entries of a session, page by page.
    pub async fn whole_timeline(&self, session: &str) -> Vec<Value> {
        let (mut entries, mut after) = (Vec::new(), json!(0));
        loop {
            let path = format!("{SESSION}/{session}/timeline?after_seq={after}&limit=100");
            let page = self.get(&path).await.expect(200);
            entries.extend(page["entries"].as_array().unwrap().clone());
            match page.get("next_after_seq") {
                Some(next) => after = next.clone(),
                None => return entries,
            }
        }
    }
}

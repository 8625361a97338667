//! The states of a candidate against a model, over random sequences of decisions.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::support::{Client, TestApp};

#[derive(Debug, Clone, Copy)]
enum Act {
    Approve,
    Reject,
    Expire,
    Edit,
    MergeIntoRecord,
    Suppress,
}

const ACTS: [Act; 6] =
    [Act::Approve, Act::Reject, Act::Expire, Act::Edit, Act::MergeIntoRecord, Act::Suppress];

/// What a candidate is, as the contract has it (PC-39).
#[derive(Debug, Clone, Copy, PartialEq)]
struct Model {
    status: &'static str,
    suppressing: bool,
}

impl Model {
    /// What it is after an act; nothing when the act is refused.
    fn after(self, act: Act) -> Option<Self> {
        let decided = |status| Some(Self { status, ..self });
        match (act, self.status) {
            (Act::Approve | Act::Edit, "pending") => decided("approved"),
            (Act::Reject, "pending") => decided("rejected"),
            (Act::Expire, "pending") => decided("expired"),
            (Act::MergeIntoRecord, "pending") => decided("merged_duplicate"),
            (Act::Suppress, "pending") => Some(Self { status: "auto_rejected", suppressing: true }),
            (Act::Approve, "approved") | (Act::Reject | Act::Suppress, "rejected") => Some(self),
            (Act::Suppress, "auto_rejected") if self.suppressing => Some(self),
            _ => None,
        }
    }
}

async fn act(client: &Client, id: &str, act: Act, number: usize, target: &Value) -> Option<String> {
    let (name, body) = match act {
        Act::Approve => ("approve", json!({})),
        Act::Reject => ("reject", json!({})),
        Act::Expire => ("decide", json!({ "decision": "expire" })),
        Act::Edit => ("edit_and_approve", json!({ "edited_text": format!("Edited {number}.") })),
        Act::MergeIntoRecord => ("merge", json!({ "target_memory_id": target })),
        Act::Suppress => ("suppress_similar", json!({})),
    };
    let reply = client.review(id, name, body).await;
    if reply.status == 409 {
        reply.refused(409, "not_pending");
        return None;
    }
    Some(reply.expect(200)["candidate"]["status"].as_str().unwrap().to_owned())
}

#[test]
fn decisions_follow_the_model_over_random_sequences_pc39() {
    let runtime = Runtime::new().unwrap();
    let (app, client, target) = runtime.block_on(async {
        let app = TestApp::start_lexical().await;
        let client = app.tenant("model").await.client;
        let target = client.remember(crate::support::fact("A record to merge into.")).await["id"].clone();
        (app, client, target)
    });
    let numbers = std::cell::Cell::new(0);
    let acts = prop::collection::vec(prop::sample::select(ACTS.to_vec()), 1..7);
    let mut runner = TestRunner::new(Config { cases: 60, max_shrink_iters: 20, ..Config::default() });
    let result = runner.run(&acts, |acts| {
        let number = numbers.get() + 1;
        numbers.set(number);
        runtime.block_on(async {
            let id = client.candidate(&format!("Fact number {number}.")).await;
            let mut model = Model { status: "pending", suppressing: false };
            for one in &acts {
                let next = model.after(*one);
                let found = act(&client, &id, *one, number, &target).await;
                prop_assert_eq!(found.as_deref(), next.map(|model| model.status), "{:?} of {:?}", one, acts);
                model = next.unwrap_or(model);
                let path = format!("/v1/memory/candidates/{id}");
                let candidate = client.get(&path).await.expect(200)["candidate"].clone();
                prop_assert_eq!(candidate["status"].as_str(), Some(model.status));
                prop_assert_eq!(candidate.get("decided_at").is_some(), model.status != "pending");
            }
            Ok(())
        })
    });
    result.unwrap();
    runtime.block_on(async move { drop(app) });
}

//! Every tool × every wrong token (F-1).

use memtide::http::route::Needs;
use memtide::mcp::tools::{TOOLS, Tool};
use serde_json::{Value, json};

use super::foreign::Rows;
use super::right::enough_and_lacking;
use super::stage::nothing;
use super::{MARKER, Stage, Target};
use crate::support::Client;

/// Every tool and what a caller must hold.
const NEEDS: &[&str] = &[
    "save_memory Right(Durable, Write)",
    "search_memory Right(Durable, Read)",
    "manage_memory Right(Durable, Delete)",
    "capture_task Right(Durable, Write)",
];

#[test]
fn the_table_of_tools_is_the_one_that_was_looked_at() {
    let found: Vec<String> = TOOLS.iter().map(|tool| format!("{} {:?}", tool.name, tool.needs)).collect();
    assert_eq!(found, NEEDS, "look at the new or changed tool, say how it is called, and update the list");
}

/// How a tool is called for this target.
fn arguments(tool: &Tool, target: &Target) -> Value {
    match tool.name {
        "save_memory" => json!({ "text": "A note." }),
        "search_memory" => json!({ "query": target.words, "k": 20, "dedupe_recent": false }),
        "manage_memory" => json!({ "action": "delete", "id": target.memory }),
        "capture_task" => json!({ "task_content": "I prefer tea." }),
        name => panic!("{name} is new: say here how it is called"),
    }
}

async fn call(caller: &Client, tool: &Tool, target: &Target) -> Value {
    let caller = caller.with("x-request-id", "the-same");
    let result = caller.tool_result(tool.name, arguments(tool, target)).await;
    let (answer, sent) = (result.to_string(), arguments(tool, target).to_string());
    for secret in target.ids().into_iter().chain([MARKER]).filter(|secret| !sent.contains(secret)) {
        assert!(!answer.contains(secret), "{} answers {secret}: {answer}", tool.name);
    }
    result
}

/// The answer with the target's ids made alike.
fn alike(result: &Value, target: &Target) -> String {
    target.ids().iter().fold(result.to_string(), |all, id| all.replace(id, "(id)"))
}

async fn try_all(stage: &Stage, scope: &str, sensitivity: &str, caller: &Client, rows: Rows<'_>) {
    for tool in TOOLS {
        let (target, missing) = (stage.plant(scope, sensitivity).await, nothing());
        let before = rows.read(stage, &target).await;
        let result = call(caller, tool, &target).await;
        if arguments(tool, &target) != arguments(tool, &missing) {
            let other = call(caller, tool, &missing).await;
            assert_eq!(alike(&result, &target), alike(&other, &missing), "{}", tool.name);
        }
        assert_eq!(rows.read(stage, &target).await, before, "{} changed rows", tool.name);
    }
}

#[tokio::test]
async fn a_foreign_tenant_gets_what_a_missing_id_gets_from_every_tool() {
    let stage = Stage::set().await;
    try_all(&stage, "alice", "normal", &stage.foreign.client, Rows::All).await;
}

#[tokio::test]
async fn other_namespaces_scopes_and_sensitivities_get_what_a_missing_id_gets_from_every_tool() {
    let stage = Stage::set().await;
    let other = stage.holding(&stage.home, json!({ "namespace": "other" })).await;
    try_all(&stage, "alice", "normal", &other, Rows::Namespace("default")).await;
    let stage = Stage::set().await;
    let alice = json!({ "namespace": "default", "scopes": [{ "kind": "user", "key": "alice" }] });
    try_all(&stage, "bob", "normal", &stage.holding(&stage.home, alice).await, Rows::Records).await;
    let stage = Stage::set().await;
    let usual = json!({ "namespace": "default", "sensitivity": ["normal", "personal"] });
    try_all(&stage, "alice", "secret_like", &stage.holding(&stage.home, usual).await, Rows::Records).await;
}

#[tokio::test]
async fn each_right_of_a_tool_is_enough_and_everything_but_it_is_not_c090() {
    let stage = Stage::set().await;
    for tool in TOOLS {
        assert!(matches!(tool.needs, Needs::Right(..) | Needs::Rights(..)), "{}", tool.name);
        let (enough, lacking) = enough_and_lacking(tool.needs);
        let target = stage.plant("alice", "normal").await;
        let before = stage.rows().await;
        for request in lacking {
            let caller = stage.holding(&stage.home, request).await;
            let result = call(&caller, tool, &target).await;
            let answer = &result["structuredContent"];
            assert_eq!(
                (&result["isError"], &answer["error"]["code"]),
                (&json!(true), &json!("forbidden")),
                "{result}"
            );
        }
        assert_eq!(stage.rows().await, before, "{} was refused and had an effect", tool.name);
        let caller = stage.holding(&stage.home, enough).await;
        caller.tool(tool.name, arguments(tool, &target)).await;
    }
}

//! What models read is the seed's, word for word.

use serde_json::{Deserializer, Value, json};

use crate::support::{TestApp, each};

/// The document that the tools come from, as it was given.
const SEED: &str = include_str!("seed.txt");

/// Each tool of the seed: its description and the schema after it.
fn tools() -> Vec<(String, Value)> {
    let (_, mut rest) = SEED.split_once('\n').unwrap();
    let mut tools = Vec::new();
    while let Some((description, schema)) = rest.split_once("\n{") {
        let schema = &rest[rest.len() - schema.len() - 1..];
        let mut values = Deserializer::from_str(schema).into_iter::<Value>();
        tools.push((description.trim().to_owned(), values.next().unwrap().unwrap()));
        rest = &schema[values.byte_offset()..];
    }
    assert!(rest.trim().is_empty(), "{rest}");
    tools
}

/// D-050 to D-053, XD-01: the tools of the seed, in its words, and no other.
#[tokio::test]
async fn the_tools_are_those_of_the_seed_word_for_word_d017_d050_d051_d052_d053_xd01() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("acme").await.client;
    let listed = client.mcp("tools/list", json!({})).await.expect(200)["result"]["tools"].clone();
    let names = ["save_memory", "search_memory", "manage_memory", "capture_task"];
    assert_eq!(each(&listed, "name"), names.map(Value::from).iter().collect::<Vec<_>>());
    let seed = tools();
    assert_eq!(seed.len(), 4);
    for (tool, (description, schema)) in listed.as_array().unwrap().iter().zip(&seed) {
        assert_eq!(tool["description"], *description);
        assert_eq!(tool["inputSchema"], *schema);
    }
}

/// D-054.
#[tokio::test]
async fn the_server_has_the_title_of_the_seed_d054() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("acme").await.client;
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let result = client.mcp("initialize", hello).await.expect(200)["result"].clone();
    let title = SEED.lines().next().unwrap();
    assert_eq!(
        (&result["serverInfo"]["name"], &result["serverInfo"]["title"]),
        (&json!(title), &json!(title))
    );
    assert!(result["capabilities"]["tools"].is_object(), "{result}");
}

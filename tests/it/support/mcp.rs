//! A caller that speaks MCP over HTTP.

use serde_json::{Value, json};

use super::client::{Client, Reply};

/// Where MCP is spoken.
const PATH: &str = "/mcp";

impl Client {
    /// Sends a request of the protocol.
    pub async fn mcp(&self, method: &str, params: Value) -> Reply {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        self.mcp_message(&message).await
    }

    /// Sends a message of the protocol as it is.
    pub async fn mcp_message(&self, message: &Value) -> Reply {
        let caller = self.with("accept", "application/json, text/event-stream");
        caller.post(PATH, message.clone()).await
    }

    /// Calls a tool, and gives its result as the protocol has it. The text is the same JSON as the structure (XD-04).
    pub async fn tool_result(&self, name: &str, arguments: Value) -> Value {
        let reply = self.mcp("tools/call", json!({ "name": name, "arguments": arguments })).await.expect(200);
        let result = &reply["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{reply}"));
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), result["structuredContent"], "{reply}");
        assert_eq!(
            (result["content"].as_array().unwrap().len(), &result["content"][0]["type"]),
            (1, &json!("text"))
        );
        result.clone()
    }

    /// Calls a tool, and gives what it answers.
    pub async fn tool(&self, name: &str, arguments: Value) -> Value {
        let result = self.tool_result(name, arguments).await;
        assert_ne!(result["isError"], true, "{result}");
        assert_eq!(result["structuredContent"]["ok"], true, "{result}");
        result["structuredContent"].clone()
    }

    /// Calls a tool that fails, and gives the error.
    pub async fn tool_fails(&self, name: &str, arguments: Value, code: &str) -> Value {
        let result = self.tool_result(name, arguments).await;
        assert_eq!(result["isError"], true, "{result}");
        let answer = &result["structuredContent"];
        assert_eq!((&answer["ok"], &answer["error"]["code"]), (&json!(false), &json!(code)), "{result}");
        assert!(
            answer["error"]["message"].is_string() && answer["error"]["request_id"].is_string(),
            "{result}"
        );
        answer["error"].clone()
    }

    /// Saves a text, and gives its notes.
    pub async fn save(&self, text: &str) -> Vec<Value> {
        self.tool("save_memory", json!({ "text": text })).await["saved"].as_array().unwrap().clone()
    }

    /// Saves a text in a conversation, and gives its notes.
    pub async fn save_in(&self, conversation: &str, text: &str) -> Vec<Value> {
        let arguments = json!({ "text": text, "client": { "conversation_id": conversation } });
        self.tool("save_memory", arguments).await["saved"].as_array().unwrap().clone()
    }
}

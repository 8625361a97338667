//! A caller that speaks JSON-RPC over HTTP.

use serde_json::{Value, json};

use super::client::Client;

impl Client {
    /// Calls a method, and gives the whole answer.
    pub async fn answer(&self, method: &str, params: Value) -> Value {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let answer = self.post("/v1/rpc", request).await.expect(200);
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(1)), "{answer}");
        answer
    }

    /// Calls a method, and gives its result.
    #[track_caller]
    pub fn call(&self, method: &str, params: Value) -> impl Future<Output = Value> + use<> {
        let (client, method) = (self.clone(), method.to_owned());
        async move {
            let answer = client.answer(&method, params).await;
            assert!(answer.get("error").is_none(), "{method}: {answer}");
            answer["result"].clone()
        }
    }

    /// Calls a method that is refused, and gives the error.
    pub async fn refused(&self, method: &str, params: Value, number: i32, code: &str) -> Value {
        let answer = self.answer(method, params).await;
        assert!(answer.get("result").is_none(), "{method}: {answer}");
        let error = &answer["error"];
        assert_eq!(
            (&error["code"], &error["data"]["code"]),
            (&json!(number), &json!(code)),
            "{method}: {error}"
        );
        assert!(error["data"]["request_id"].is_string(), "{error}");
        error.clone()
    }
}

//! Keys and tokens of every sort.

use memtide::auth::{self, OperatorPermit};
use memtide::id::{KeyId, TenantId};
use serde_json::{Value, json};

use super::{Client, TestApp};

impl TestApp {
    /// An API key, as its id and its secret.
    pub async fn api_key(&self, tenant: TenantId, new: Value) -> (KeyId, String) {
        let new = serde_json::from_value(new).unwrap();
        let operator = OperatorPermit::command_line();
        let (key, bearer) = auth::create_key(&self.app, &operator, tenant, new).await.unwrap();
        (key.id, bearer.expose().to_owned())
    }

    /// A personal token, as its id and its secret.
    pub async fn personal_token(&self, tenant: TenantId, new: Value) -> (KeyId, String) {
        let new = serde_json::from_value(new).unwrap();
        let operator = OperatorPermit::command_line();
        let (token, bearer) = auth::create_token(&self.app, &operator, tenant, new).await.unwrap();
        (token.id, bearer.expose().to_owned())
    }

    /// An operator key, as its id and its secret.
    pub async fn operator_key(&self) -> (KeyId, String) {
        let new = serde_json::from_value(json!({ "name": "test" })).unwrap();
        let operator = OperatorPermit::command_line();
        let (key, bearer) = auth::create_operator_key(&self.app, &operator, new).await.unwrap();
        (key.id, bearer.expose().to_owned())
    }

    /// A caller that holds an operator key.
    pub async fn operator(&self) -> Client {
        self.anyone().bearer(&self.operator_key().await.1)
    }
}

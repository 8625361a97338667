//! `memtide admin operator-key`.

use serde_json::json;

use super::print;
use crate::app::App;
use crate::auth::key::NewOperatorKey;
use crate::auth::{self, OperatorPermit};
use crate::id::KeyId;

/// What is to be done with operator keys.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Make an operator key, and print its secret once
    Create {
        /// What it is called
        name: String,
    },
    /// List the operator keys
    List,
    /// Revoke an operator key
    Revoke {
        /// Id of the key
        key: KeyId,
    },
}

impl Command {
    pub(super) async fn run(self, app: &App, permit: &OperatorPermit) -> anyhow::Result<()> {
        match self {
            Self::Create { name } => {
                let (key, bearer) = auth::create_operator_key(app, permit, NewOperatorKey { name }).await?;
                print(&json!({ "key": key, "secret": bearer.expose() }))
            }
            Self::List => auth::list_operator_keys(app, permit).await?.iter().try_for_each(print),
            Self::Revoke { key } => print(&auth::revoke_operator_key(app, permit, key).await?),
        }
    }
}

//! The SQL of keys, tokens, revocations and signing keys.

pub mod key;
pub mod operator;
pub mod personal;
pub mod revocation;
pub mod signing;

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;

use crate::db::{self, OperatorTx};
use crate::error::{Error, Result};
use crate::memory::Sensitivity;

/// The channel on which nodes tell each other that tokens, tenants or signing keys changed.
pub const CHANNEL: &str = "memtide_auth";

/// Tells every node, at commit, that something here changed.
pub async fn notify(tx: &mut OperatorTx) -> Result<()> {
    db::notify(tx, CHANNEL).await
}

/// What a text column holds as the domain's type; a row that does not parse is a fault of ours.
fn parse<T: DeserializeOwned>(what: &'static str, texts: Vec<String>) -> Result<T> {
    serde_json::to_value(texts)
        .and_then(serde_json::from_value)
        .map_err(|error| Error::internal(format!("{what}: {error}")))
}

fn names(sensitivity: &BTreeSet<Sensitivity>) -> Vec<String> {
    sensitivity.iter().map(|level| level.as_str().to_owned()).collect()
}

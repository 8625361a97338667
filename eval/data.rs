//! The data set: memories and queries with the memories that answer them, one JSON object a line.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The category whose questions have a false premise; reported, but left out of the headline.
pub const ADVERSARIAL: &str = "adversarial";

/// One turn of a conversation.
#[derive(Deserialize)]
pub struct Memory {
    pub namespace: String,
    pub id: String,
    pub text: String,
    pub speaker: String,
    pub timestamp: String,
    pub session: i64,
    pub seq: i64,
}

/// One question and the ids of the turns that answer it.
#[derive(Deserialize)]
pub struct Query {
    pub namespace: String,
    #[serde(rename = "query")]
    pub text: String,
    pub relevant: Vec<String>,
    pub category: String,
}

/// Reads a file of JSON lines.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let parse = |(index, line)| {
        serde_json::from_str(line).with_context(|| format!("{}, line {}", path.display(), index + 1))
    };
    text.lines().enumerate().map(parse).collect()
}

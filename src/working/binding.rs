//! What an item binds: a variable, and with it another slot, a value, or both (B-033, XB-45).

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::item::Item;
use crate::error::{Error, Result};
use crate::memory::check_identifier;

/// How many bindings an item has, at most (XB-45).
pub const MAX_BINDINGS: usize = 32;

/// The longest variable, in bytes.
const MAX_VARIABLE_BYTES: usize = 128;

/// A variable and what it stands for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Binding {
    /// Its name, 1 to 128 bytes.
    pub variable: String,
    /// The slot it stands for; null when there is none, or when it has left.
    #[serde(default)]
    pub target: Option<String>,
    /// The value it stands for; it stays when the slot leaves.
    #[serde(default)]
    pub value: Value,
    /// How it came about.
    #[serde(default)]
    pub source: BindingSource,
}

/// How a binding came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum BindingSource {
    /// Somebody said so.
    #[default]
    #[serde(alias = "direct")]
    Direct,
    /// Two structures were made equal.
    #[serde(alias = "unification")]
    Unification,
    /// A pattern matched.
    #[serde(alias = "pattern_match", alias = "pattern-match")]
    PatternMatch,
    /// It follows from something.
    #[serde(alias = "inference")]
    Inference,
    /// A user said so.
    #[serde(alias = "user_input", alias = "user-input")]
    UserInput,
    /// It was perceived.
    #[serde(alias = "perception")]
    Perception,
}

/// Refuses too many bindings, variables that are no names, and more bytes of JSON than a value may have.
pub fn check(bindings: &[Binding], max_bytes: usize) -> Result<()> {
    if bindings.len() > MAX_BINDINGS {
        let rule = format!("must be {MAX_BINDINGS} at most");
        return Err(Error::over_limit("bindings", rule, MAX_BINDINGS as u64, bindings.len() as u64));
    }
    for (place, binding) in bindings.iter().enumerate() {
        check_identifier(&binding.variable, MAX_VARIABLE_BYTES)
            .map_err(|error| error.inside("variable").inside(&format!("bindings[{place}]")))?;
    }
    let size = serde_json::to_vec(bindings).map_err(Error::internal)?.len();
    if !bindings.is_empty() && size > max_bytes {
        return Err(Error::too_large("bindings", max_bytes as u64, size as u64));
    }
    Ok(())
}

/// Lets go of targets that are not there, or that are others than those meant: they came after the binding.
pub fn resolve(items: &mut [Item]) {
    let born: HashMap<String, i64> = items.iter().map(|item| (item.id.clone(), item.created_ms)).collect();
    for item in items {
        for binding in &mut item.bindings {
            let is_there = |target: &String| born.get(target).is_some_and(|&born| born <= item.set_ms);
            binding.target = binding.target.take().filter(is_there);
        }
    }
}

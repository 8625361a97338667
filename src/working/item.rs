//! An item of a workspace as it is stored.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::activation::{Presentations, Trace};
use super::binding::{Binding, resolve};
use super::decay::{Decay, Law};
use crate::error::{Error, Result};

/// An item of a workspace.
#[derive(Debug, Clone)]
pub struct Item {
    /// The slot's id.
    pub id: String,
    /// Its value, as compact JSON.
    pub value: Box<RawValue>,
    /// Whether it came by the slot API, which keeps it until its time is over (XB-57).
    pub is_injected: bool,
    /// Where its activation comes from.
    pub trace: Trace,
    /// The law it fades by: the one in force when it was set or rehearsed.
    pub decay: Decay,
    /// When the id entered the workspace, in milliseconds; setting it again changes nothing.
    pub created_ms: i64,
    /// When it was last set, rehearsed or focused, in milliseconds.
    pub accessed_ms: i64,
    /// When its time is over, in milliseconds.
    pub expires_ms: i64,
    /// When it leaves, its time over or faded, in milliseconds.
    pub ends_ms: i64,
    /// How much it matters, 0 to 1.
    pub importance: f64,
    /// How relevant it was when it came in, if anybody said or measured it.
    pub relevance: Option<f64>,
    /// What it costs of a capacity that counts costs.
    pub cost: f64,
    /// Its label, if it has one.
    pub chunk: Option<String>,
    /// What it binds.
    pub bindings: Vec<Binding>,
    /// When it was observed, in milliseconds.
    pub observed_ms: i64,
    /// When value and bindings were set, in milliseconds.
    pub set_ms: i64,
    /// The stored text, by which a step knows that nothing has changed.
    pub as_stored: String,
}

/// A list, whose places `lua/workspace.lua` names.
#[derive(Deserialize)]
struct Stored(
    u8,
    f64,
    i64,
    i64,
    i64,
    i64,
    i64,
    u8,
    f64,
    u32,
    f64,
    f64,
    f64,
    String,
    String,
    i64,
    i64,
    #[serde(default)] i64,
    #[serde(default)] u64,
    #[serde(default)] Vec<i64>,
);

/// The items in a workspace's hash, each member followed by its content; in the byte order of their ids (XA-C10).
pub fn parse(hash: Vec<String>) -> Result<Vec<Item>> {
    let (mut values, mut items) = (Vec::new(), Vec::new());
    let mut members = hash.into_iter();
    while let (Some(member), Some(content)) = (members.next(), members.next()) {
        match member.split_once(':') {
            Some(("v", id)) => values.push((id.to_owned(), content)),
            Some(("m", id)) => items.push((id.to_owned(), content)),
            _ => {}
        }
    }
    values.sort_unstable();
    items.sort_unstable();
    if !values.iter().map(|(id, _)| id).eq(items.iter().map(|(id, _)| id)) {
        return Err(Error::internal("a workspace holds half a slot"));
    }
    let pairs = values.into_iter().zip(items);
    let mut items: Vec<Item> =
        pairs.map(|((id, value), (_, stored))| read(id, value, stored)).collect::<Result<_>>()?;
    resolve(&mut items);
    Ok(items)
}

/// The items alone, each id followed by what is stored; their values are null.
pub fn without_values(stored: Vec<String>) -> Result<Vec<Item>> {
    let (mut items, mut members) = (Vec::with_capacity(stored.len() / 2), stored.into_iter());
    while let (Some(id), Some(stored)) = (members.next(), members.next()) {
        items.push(read(id, "null".to_owned(), stored)?);
    }
    resolve(&mut items);
    Ok(items)
}

/// The values alone, in the byte order of their ids.
pub fn values(hash: Vec<String>) -> Result<Vec<(String, Box<RawValue>)>> {
    let mut values = Vec::with_capacity(hash.len() / 4);
    let mut members = hash.into_iter();
    while let (Some(member), Some(content)) = (members.next(), members.next()) {
        if let Some(id) = member.strip_prefix("v:") {
            let value = RawValue::from_string(content).map_err(Error::internal)?;
            values.push((id.to_owned(), value));
        }
    }
    values.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    Ok(values)
}

fn read(id: String, value: String, as_stored: String) -> Result<Item> {
    let fault =
        |what: &str, error: &dyn std::fmt::Display| Error::internal(format!("the {what} of a slot: {error}"));
    let stored: Stored = serde_json::from_str(&as_stored).map_err(|error| fault("item", &error))?;
    let law = Law::from_number(stored.7).ok_or_else(|| fault("item", &"its law is unknown"))?;
    let bindings = match stored.14.as_str() {
        "" => Vec::new(),
        text => serde_json::from_str(text).map_err(|error| fault("bindings", &error))?,
    };
    Ok(Item {
        id,
        value: RawValue::from_string(value).map_err(|error| fault("value", &error))?,
        is_injected: stored.0 == 1,
        trace: Trace {
            level: stored.1,
            since_ms: stored.2,
            presentations: Presentations { first_ms: stored.17, count: stored.18, kept_ms: stored.19 },
        },
        decay: Decay { law, parameter: stored.8, tick_ms: stored.9 },
        created_ms: stored.3,
        accessed_ms: stored.4,
        expires_ms: stored.5,
        ends_ms: stored.6,
        importance: stored.10,
        relevance: (stored.11 >= 0.0).then_some(stored.11),
        cost: stored.12,
        chunk: Some(stored.13).filter(|chunk| !chunk.is_empty()),
        bindings,
        observed_ms: stored.15,
        set_ms: stored.16,
        as_stored,
    })
}

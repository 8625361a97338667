//! Notes: what a user saves through an assistant, finds again and deletes (seed 004).

mod conversation;
mod manage;
mod paste;
mod save;
mod search;
mod secret;

use serde_json::Value;

use crate::support::each;

/// A list of so many notes, told apart by a number.
fn list(words: &str, count: usize) -> String {
    let entries: Vec<String> = (0..count).map(|number| format!("- {words} {number}")).collect();
    entries.join("\n")
}

/// What notes say, in their order.
fn texts(notes: &[Value]) -> Vec<&str> {
    notes.iter().map(|note| note["text"].as_str().unwrap()).collect()
}

/// What found notes say, in their order.
fn found(list: &Value) -> Vec<&str> {
    each(list, "text").into_iter().map(|text| text.as_str().unwrap()).collect()
}

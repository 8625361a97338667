//! Notes: what a user saves through an assistant and asks for again (seed 004).
//!
//! - A note is a durable record like any other (XD-17): of the token's user, found by every search.
//! - The text is kept as it was sent before anything is made of it; its records point to it.
//! - Nothing of the text is lost in taking it apart (XD-05, [`split`]).

pub mod date;
mod item;
mod manage;
mod save;
mod search;
pub mod split;

use serde_json::Value;

pub use manage::{Manage, ManageAction, Managed, manage};
pub use save::{MAX_ITEMS, Refused, Save, Saved, SavedItem, save};
pub use search::{Found, FoundItem, K, SearchNotes, search};

use crate::extract::ItemKind;
use crate::memory::{Category, Record};

/// The member of a record's metadata that says what sort of note it is.
const KIND: &str = "type";

/// What sort of note a record is. One that was not saved as a note is what its category says.
fn kind_of(record: &Record) -> ItemKind {
    let saved = record.metadata.as_ref().and_then(|metadata| metadata.get(KIND));
    let saved = saved.and_then(|kind: &Value| serde_json::from_value(kind.clone()).ok());
    saved.unwrap_or(if record.category == Category::Todo { ItemKind::Todo } else { ItemKind::Fact })
}

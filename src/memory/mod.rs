//! Durable memory: what must last, found by meaning and by words.
//!
//! - A record belongs to one scope of one namespace. No two active records have the same [`key::Identity`].
//! - Nothing is merged or dropped because it is close to something else; only equal texts are one.
//! - Every change writes a version, an event and an audit row in the same transaction (`write::Changes`).
//! - When a write is answered, the next search finds it.

pub(crate) mod accept;
pub mod access;
pub mod bm25;
pub mod context;
pub(crate) mod draft;
pub mod filter;
pub mod forget;
pub mod history;
pub mod key;
pub mod patch;
pub mod rank;
pub mod read;
mod record;
pub mod reembed;
pub mod remember;
mod retire;
mod scope;
pub mod search;
mod store;
pub mod strength;
pub mod sweep;
pub mod terms;
pub mod text;
mod token;
pub mod turn;
mod word;
pub(crate) mod write;

pub use record::{
    Category, ChangeKind, Context, Provenance, Record, Sensitivity, SourceContextKind, SourceKind, Status,
};
pub use scope::{Scope, ScopeKind, check_identifier};

//! Durable memory: what must last, found by meaning and by words.

pub mod bm25;
pub mod rank;
mod record;
mod scope;
pub mod strength;
pub mod terms;
pub mod text;
mod token;
pub mod turn;
mod word;

pub use record::{
    Category, ChangeKind, Context, Provenance, Record, Sensitivity, SourceContextKind, SourceKind, Status,
};
pub use scope::{Scope, ScopeKind, check_identifier};

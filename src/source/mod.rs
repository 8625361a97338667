//! Texts that records are made from: kept first and whole, so that no fact is lost that nobody found.
//!
//! - A source is stored before, or together with, what is made from it; [`link`] says which records that are.
//! - A source is silent from the moment a record made from it is erased or purged: its text would still say it. That
//!   the records came from one conversation stays known.

mod client;
mod store;

use std::collections::HashMap;

use chrono::{DateTime, Utc};

pub use client::{Client, clean_conversation_id};

use crate::auth::{ActorKind, Permit};
use crate::db::{OperatorTx, TenantTx};
use crate::error::Result;
use crate::id::{MemoryId, SourceId, TenantId};
use crate::memory::{Scope, ScopeKind};

/// A text that records are made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its id, which records name as where they come from.
    pub id: SourceId,
    /// How it came.
    pub kind: SourceTextKind,
    /// The text; absent once it is silent.
    pub content: Option<String>,
    /// What it is, in a line of the client's.
    pub description: Option<String>,
    /// In which conversation it was sent.
    pub client: Client,
    /// When it was sent.
    pub created_at: DateTime<Utc>,
}

/// How a text came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum SourceTextKind {
    /// A user saved it.
    Note,
    /// It is the output of a task.
    Capture,
}

/// Stores a source.
pub async fn keep(tx: &mut TenantTx, source: &Source) -> Result<()> {
    store::insert(tx, source).await
}

/// The source of an id, if there is one.
pub async fn find(tx: &mut TenantTx, id: SourceId) -> Result<Option<Source>> {
    store::find(tx, id).await
}

/// Says that records were made from a source, or were found to say the same.
pub async fn link(tx: &mut TenantTx, id: SourceId, memories: &[MemoryId]) -> Result<()> {
    if memories.is_empty() { Ok(()) } else { store::link(tx, id, memories).await }
}

/// In which conversation each of these records was saved: the one asked for, or else the latest (D-056).
pub async fn conversations(
    tx: &mut TenantTx,
    memories: &[MemoryId],
    wanted: Option<&str>,
) -> Result<HashMap<MemoryId, Client>> {
    if memories.is_empty() { Ok(HashMap::new()) } else { store::conversations(tx, memories, wanted).await }
}

/// Silences the sources of records that are erased. Call it before the records go.
pub async fn silence(tx: &mut TenantTx, memories: &[MemoryId]) -> Result<()> {
    store::silence(tx, memories).await
}

/// Silences the sources of records of many tenants that are purged. Call it before the records go.
pub async fn silence_everywhere(tx: &mut OperatorTx, memories: &[(TenantId, i32, MemoryId)]) -> Result<()> {
    store::silence_everywhere(tx, memories).await
}

/// Drops those of these sources that nothing was made of.
pub async fn drop_unused(tx: &mut OperatorTx, sources: &[(TenantId, i32, SourceId)]) -> Result<()> {
    store::drop_unused(tx, sources).await
}

/// Whose memory it is what a user saves without saying whose (XD-17): the one user whom the token is limited to, or
/// the user in whose name it writes, or the user `default`.
pub fn owner(permit: &Permit) -> Scope {
    let users = permit.scopes().unwrap_or_default();
    let mut users = users.iter().filter(|scope| scope.kind == ScopeKind::User);
    if let (Some(only), None) = (users.next(), users.next()) {
        return only.clone();
    }
    let actor = permit.actor();
    let named = actor.id.clone().filter(|_| actor.kind == ActorKind::User);
    Scope { kind: ScopeKind::User, key: named.unwrap_or_else(|| "default".to_owned()) }
}

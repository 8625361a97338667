//! Facts that were found in a text that nobody attends to: written together, or none of them (XD-16).

use super::outcome::Fact;
use super::policy::Origin;
use super::semantic::{SemanticWrite, SemanticWritten};
use super::store;
use super::write::{Proposed, decide};
use crate::app::App;
use crate::auth::Permit;
use crate::db::TenantTx;
use crate::error::{Error, Result};
use crate::memory::write::Changes;

/// Facts on their way in, checked and embedded.
pub struct Found {
    facts: Vec<Proposed>,
    /// How many broke a rule of records, or lie beyond what the permit reaches.
    pub refused: usize,
}

impl Found {
    /// Checks facts one by one, and gives those that are in order their vectors in one call. No connection is held.
    pub async fn prepare(app: &App, permit: &Permit, writes: Vec<SemanticWrite>) -> Result<Self> {
        let (mut facts, mut refused) = (Vec::with_capacity(writes.len()), 0);
        for write in writes {
            match Proposed::check(app, permit, write, Origin::Capture) {
                Ok(fact) => facts.push(fact),
                Err(Error::Invalid(_) | Error::TooLarge(_) | Error::Forbidden(_)) => refused += 1,
                Err(error) => return Err(error),
            }
        }
        let mut parts: Vec<&mut Fact> = facts.iter_mut().map(|proposed| &mut proposed.fact).collect();
        Fact::embed_all(app, permit, &mut parts).await?;
        Ok(Self { facts, refused })
    }

    /// Writes them as semantic writes, in order.
    pub async fn write(
        &self,
        tx: &mut TenantTx,
        permit: &Permit,
        changes: &mut Changes,
    ) -> Result<Vec<SemanticWritten>> {
        // All at once and in their order, so that two who write the same facts do not wait for each other in a ring.
        for scope in self.facts.chunk_by(|one, next| one.fact.scope == next.fact.scope) {
            let keys: Vec<&str> = scope.iter().map(|proposed| proposed.fact.key.key.as_str()).collect();
            store::lock_keys(tx, &scope[0].fact.scope, &keys).await?;
        }
        let mut written = Vec::with_capacity(self.facts.len());
        for proposed in &self.facts {
            written.push(decide(tx, permit, changes, proposed).await?);
        }
        Ok(written)
    }
}

//! Facts that were found in a text that nobody attends to: written together, or none of them (XD-16).

use super::outcome::Fact;
use super::policy::Origin;
use super::proposal::Proposed;
use super::semantic::{SemanticWrite, SemanticWritten};
use super::write::decide_all;
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
        Fact::embed_all(app, permit, facts.iter_mut().map(|proposed: &mut Proposed| &mut proposed.fact))
            .await?;
        Ok(Self { facts, refused })
    }

    /// Writes them as semantic writes, in order.
    pub async fn write(
        &self,
        tx: &mut TenantTx,
        permit: &Permit,
        changes: &mut Changes,
    ) -> Result<Vec<SemanticWritten>> {
        decide_all(tx, permit, changes, &self.facts).await
    }
}

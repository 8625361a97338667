//! How much of the pool one tenant holds.

use std::sync::Arc;
use std::time::Duration;

use moka::sync::Cache;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::ACQUIRE_TIMEOUT;
use crate::error::{Error, Result};
use crate::id::TenantId;

/// How long the turns of a silent tenant are remembered.
const FORGET_AFTER: Duration = Duration::from_mins(10);

/// Turns of each tenant at the pool's connections. Three quarters are one tenant's at most, so that there is always one
/// for somebody else, whatever one tenant's transactions wait for.
#[derive(Debug, Clone)]
pub struct Shares {
    turns: Cache<TenantId, Arc<Semaphore>>,
    most: usize,
}

impl Shares {
    /// The shares of a pool of so many connections.
    pub fn new(pool: u32) -> Self {
        let turns = Cache::builder().max_capacity(100_000).time_to_idle(FORGET_AFTER).build();
        Self { turns, most: (pool - pool / 4).max(1) as usize }
    }

    /// Waits for a tenant's turn, without a connection; as long as for a connection, at most.
    pub async fn take(&self, tenant: TenantId) -> Result<OwnedSemaphorePermit> {
        let turns = self.turns.get_with(tenant, || Arc::new(Semaphore::new(self.most)));
        match tokio::time::timeout(ACQUIRE_TIMEOUT, turns.acquire_owned()).await {
            Ok(Ok(turn)) => Ok(turn),
            _ => Err(Error::unavailable("the database")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_tenant_never_holds_all_of_the_pool() {
        let shares = Shares::new(8);
        let (loud, quiet) = (TenantId::new(), TenantId::new());
        let mut held = Vec::new();
        for _ in 0..6 {
            held.push(shares.take(loud).await);
        }
        assert!(held.iter().all(Result::is_ok) && shares.take(loud).await.is_err());
        assert!(shares.take(quiet).await.is_ok());
        held.pop();
        assert!(shares.take(loud).await.is_ok());
        assert!(Shares::new(1).take(loud).await.is_ok(), "a pool of one serves");
    }
}

//! How much a tenant may do: requests in time, requests at once, open streams (R-34, F-11).
//!
//! - Each node counts for itself, and grants its share of what the tenant has: the whole, divided by the nodes that are
//!   up (`nodes`). No request waits for another machine, and without Redis the last known number of nodes stands.
//! - Limits are known in memory, told of changes as tokens are, and looked for every two seconds in any case.
//! - A tenant without limits costs a look into a map.

mod follow;
mod meter;
mod nodes;
mod store;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use chrono::{DateTime, Utc};
use moka::sync::Cache;

pub use follow::{follow, reload};
pub use meter::Remaining;
use meter::{Gauge, Held, Meter};

use crate::error::Result;
use crate::id::TenantId;
use crate::tenant::Limits;

/// How long what a silent tenant used is remembered: longer than any burst takes to be granted again.
const FORGET_AFTER: Duration = Duration::from_mins(10);

/// What a node knows of limits, and of what is used of them.
#[derive(Debug)]
pub struct Limiter {
    known: RwLock<HashMap<TenantId, Limits>>,
    meters: Cache<TenantId, Arc<Meter>>,
    /// How many nodes are up, this one included.
    nodes: AtomicU32,
    /// When the latest change was made that is known here.
    seen: Mutex<Option<DateTime<Utc>>>,
}

/// A request that was let in. It counts as under way until this is dropped.
#[derive(Debug, Default)]
pub struct Admission {
    /// What is left of the tenant's rate, if it has one.
    pub remaining: Option<Remaining>,
    _under_way: Option<Held>,
}

/// A stream that was let in. It counts as open until this is dropped.
#[derive(Debug, Default)]
pub struct OpenStream {
    _open: Option<Held>,
}

impl Default for Limiter {
    fn default() -> Self {
        let meters = Cache::builder().max_capacity(100_000).time_to_idle(FORGET_AFTER).build();
        Self { known: RwLock::default(), meters, nodes: AtomicU32::new(1), seen: Mutex::default() }
    }
}

impl Limiter {
    /// Lets a request of a tenant in, or refuses with `RateLimited`.
    pub fn admit(&self, tenant: TenantId) -> Result<Admission> {
        let Some((limits, meter)) = self.of(tenant) else { return Ok(Admission::default()) };
        let nodes = self.nodes();
        let remaining = meter.take(&limits, nodes)?;
        let under_way = meter.hold(Gauge::InFlight, limits.max_in_flight, nodes)?;
        Ok(Admission { remaining, _under_way: under_way })
    }

    /// Counts one more request of a message that was let in already, or refuses with `RateLimited`.
    pub fn count(&self, tenant: TenantId) -> Result<()> {
        let Some((limits, meter)) = self.of(tenant) else { return Ok(()) };
        meter.take(&limits, self.nodes()).map(drop)
    }

    /// Lets a stream of a tenant in, or refuses with `RateLimited`.
    pub fn open(&self, tenant: TenantId) -> Result<OpenStream> {
        let Some((limits, meter)) = self.of(tenant) else { return Ok(OpenStream::default()) };
        Ok(OpenStream { _open: meter.hold(Gauge::Streams, limits.max_streams, self.nodes())? })
    }

    /// What a tenant may use; absent when it has no limits.
    fn of(&self, tenant: TenantId) -> Option<(Limits, Arc<Meter>)> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let limits = *known.get(&tenant)?;
        drop(known);
        Some((limits, self.meters.get_with(tenant, Arc::default)))
    }

    fn nodes(&self) -> u32 {
        self.nodes.load(Ordering::Relaxed).max(1)
    }

    /// Takes in what changed.
    fn learn(&self, changed: Vec<store::Changed>) {
        let Some(latest) = changed.iter().map(|change| change.at).max() else { return };
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        for change in changed {
            if change.is_gone || change.limits == Limits::default() {
                known.remove(&change.tenant);
            } else {
                known.insert(change.tenant, change.limits);
            }
        }
        drop(known);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        *seen = (*seen).max(Some(latest));
    }
}

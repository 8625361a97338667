//! What one tenant uses on this node.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::middleware::StateInformationMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};

use crate::error::{Error, Result};
use crate::tenant::Limits;

type Bucket = RateLimiter<NotKeyed, InMemoryState, DefaultClock, StateInformationMiddleware>;

/// When a place is worth asking for again that others hold: about as long as a request takes.
const PLACE_RETRY: Duration = Duration::from_secs(1);

/// What is used of a tenant's limits.
#[derive(Debug, Default)]
pub struct Meter {
    rate: Mutex<Option<Rate>>,
    in_flight: Arc<AtomicU32>,
    streams: Arc<AtomicU32>,
}

/// A token bucket, and for which rate, burst and nodes it was made.
#[derive(Debug)]
struct Rate {
    made_for: (u32, u32, u32),
    bucket: Arc<Bucket>,
}

/// What is left of a tenant's rate (draft-ietf-httpapi-ratelimit-headers).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remaining {
    /// Requests that are granted at once from here on.
    pub requests: u32,
    /// Of how many at most.
    pub burst: u32,
    /// How long it takes until all of them are granted again, in seconds.
    pub window_seconds: u32,
}

/// What is counted while it lasts.
#[derive(Debug, Clone, Copy)]
pub enum Gauge {
    /// Requests under way.
    InFlight,
    /// Open streams.
    Streams,
}

/// A place among those that are counted, given back when it is dropped.
#[derive(Debug)]
pub struct Held(Arc<AtomicU32>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Meter {
    /// Takes one request out of the tenant's bucket on this node.
    pub fn take(&self, limits: &Limits, nodes: u32) -> Result<Option<Remaining>> {
        let Some(rate) = limits.requests_per_second.and_then(NonZeroU32::new) else { return Ok(None) };
        let burst = limits.burst.and_then(NonZeroU32::new).unwrap_or(rate);
        let bucket = self.bucket(rate, burst, nodes);
        let share = share(burst.get(), nodes);
        match bucket.check() {
            Ok(state) => Ok(Some(Remaining {
                requests: state.remaining_burst_capacity(),
                burst: share,
                window_seconds: burst.get().div_ceil(rate.get()),
            })),
            Err(not_yet) => Err(Error::RateLimited {
                what: "requests_per_second",
                limit: rate.get(),
                retry_after: not_yet.wait_time_from(DefaultClock::default().now()),
            }),
        }
    }

    fn bucket(&self, rate: NonZeroU32, burst: NonZeroU32, nodes: u32) -> Arc<Bucket> {
        let wanted = (rate.get(), burst.get(), nodes);
        let mut current = self.rate.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Rate { made_for, bucket }) = &*current
            && *made_for == wanted
        {
            return Arc::clone(bucket);
        }
        let bucket = Arc::new(RateLimiter::direct(quota(rate, burst, nodes)).with_middleware());
        *current = Some(Rate { made_for: wanted, bucket: Arc::clone(&bucket) });
        bucket
    }

    /// Takes a place among so many on all nodes together.
    pub fn hold(&self, gauge: Gauge, most: Option<u32>, nodes: u32) -> Result<Option<Held>> {
        let Some(most) = most else { return Ok(None) };
        let (counter, what) = match gauge {
            Gauge::InFlight => (&self.in_flight, "max_in_flight"),
            Gauge::Streams => (&self.streams, "max_streams"),
        };
        let before = counter.fetch_add(1, Ordering::Relaxed);
        let held = Held(Arc::clone(counter));
        if before >= share(most, nodes) {
            return Err(Error::RateLimited { what, limit: most, retry_after: PLACE_RETRY });
        }
        Ok(Some(held))
    }
}

/// This node's part: never nothing, so that a tenant with fewer than there are nodes is served at all.
fn share(whole: u32, nodes: u32) -> u32 {
    whole.div_ceil(nodes)
}

fn quota(rate: NonZeroU32, burst: NonZeroU32, nodes: u32) -> Quota {
    let nanos = 1_000_000_000_u64 * u64::from(nodes) / u64::from(rate.get());
    let burst = NonZeroU32::new(share(burst.get(), nodes)).unwrap_or(NonZeroU32::MIN);
    Quota::with_period(Duration::from_nanos(nanos.max(1)))
        .unwrap_or_else(|| Quota::per_second(rate))
        .allow_burst(burst)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(rate: u32, burst: u32) -> Limits {
        Limits { requests_per_second: Some(rate), burst: Some(burst), ..Limits::default() }
    }

    fn granted(meter: &Meter, limits: &Limits, nodes: u32) -> usize {
        (0..100).take_while(|_| meter.take(limits, nodes).is_ok()).count()
    }

    #[test]
    fn a_burst_is_granted_at_once_and_then_nothing() {
        let meter = Meter::default();
        let limits = limits(1, 10);
        assert_eq!(granted(&meter, &limits, 1), 10);
        let Err(Error::RateLimited { limit, retry_after, .. }) = meter.take(&limits, 1) else {
            panic!("the burst is used up");
        };
        assert!(limit == 1 && retry_after <= Duration::from_secs(1), "{retry_after:?}");
    }

    #[test]
    fn each_of_several_nodes_grants_its_share_and_never_nothing() {
        assert_eq!(granted(&Meter::default(), &limits(1, 10), 2), 5);
        assert_eq!(granted(&Meter::default(), &limits(1, 2), 5), 1);
        let meter = Meter::default();
        let places: Vec<_> = (0..2).map(|_| meter.hold(Gauge::Streams, Some(4), 2)).collect();
        assert!(places.iter().all(Result::is_ok) && meter.hold(Gauge::Streams, Some(4), 2).is_err());
        drop(places);
        assert!(meter.hold(Gauge::Streams, Some(4), 2).is_ok());
    }

    #[test]
    fn new_limits_count_at_once() {
        let meter = Meter::default();
        assert_eq!(granted(&meter, &limits(1, 3), 1), 3);
        assert_eq!(granted(&meter, &limits(1, 5), 1), 5);
        assert!(meter.take(&Limits::default(), 1).is_ok_and(|left| left.is_none()));
    }
}

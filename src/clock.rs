//! The only reader of the time. Everything else takes `now` as a value.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, TimeDelta, Utc};

/// The time of day, which tests can shift. Clones share one clock.
#[derive(Debug, Clone, Default)]
pub struct Clock {
    shift_micros: Arc<AtomicI64>,
}

impl Clock {
    /// The current time, in whole microseconds because that is what Postgres keeps.
    #[expect(clippy::disallowed_methods, reason = "this is the one reader of the time")]
    pub fn now(&self) -> DateTime<Utc> {
        let now = Utc::now().timestamp_micros() + self.shift_micros.load(Ordering::Relaxed);
        DateTime::from_timestamp_micros(now).unwrap_or(DateTime::<Utc>::MAX_UTC)
    }

    /// By how much the clock is off the time of day, for what is timed elsewhere, as in Redis.
    pub fn shifted_by(&self) -> TimeDelta {
        TimeDelta::microseconds(self.shift_micros.load(Ordering::Relaxed))
    }

    /// Moves the clock for everybody who shares it, by this much more.
    pub fn shift(&self, by: TimeDelta) {
        let micros = by.num_microseconds().unwrap_or(i64::MAX / 4);
        self.shift_micros.fetch_add(micros, Ordering::Relaxed);
    }
}

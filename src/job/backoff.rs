//! How long a job that failed has to wait. Pure.

use chrono::TimeDelta;

use crate::id::JobId;

/// The wait after the first failure. Each one after that is three times as long: 5 s, 15 s, 45 s, 2 and 7 minutes, so
/// that a provider may be away for ten minutes.
const FIRST: TimeDelta = TimeDelta::seconds(5);

/// Up to which part of a wait is added or taken off, so that jobs that failed together do not come back together.
const JITTER: f64 = 0.25;

/// How long to wait after this many attempts.
pub fn wait(attempts: i32, job: JobId) -> TimeDelta {
    let earlier = u32::try_from(attempts - 1).unwrap_or(0).min(8);
    let full = FIRST * 3_i32.pow(earlier);
    // The last bits of an id are random: no other source of chance is needed.
    let chance = f64::from((job.uuid().as_u128() % 1_000) as u16) / 1_000.0;
    let factor = 1.0 + JITTER * (2.0 * chance - 1.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "it is minutes")]
    TimeDelta::milliseconds((full.num_milliseconds() as f64 * factor) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use uuid::Uuid;

    proptest! {
        #[test]
        fn waits_grow_and_have_an_end_c158(bits: u128) {
            let job = JobId::from_uuid(Uuid::from_u128(bits));
            let waits: Vec<TimeDelta> = (1..=5).map(|attempts| wait(attempts, job)).collect();
            prop_assert!(waits.is_sorted_by(|one, next| *next > *one * 2));
            prop_assert!(waits[0] >= TimeDelta::milliseconds(3_750) && waits[4] <= TimeDelta::minutes(9));
            prop_assert!(wait(i32::MAX, job) < TimeDelta::days(1));
        }
    }

    #[test]
    fn jobs_that_failed_together_come_back_one_by_one() {
        let waits: std::collections::BTreeSet<TimeDelta> =
            (0..100).map(|bits| wait(1, JobId::from_uuid(Uuid::from_u128(bits)))).collect();
        assert!(waits.len() > 50, "{}", waits.len());
    }
}

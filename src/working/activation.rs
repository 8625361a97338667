//! How present an item is, from 0 to 1 (XB-20 to XB-25). Pure: closed forms, evaluated when somebody asks.
//!
//! `lua/activation.lua` holds the same laws for the steps that have to be one with a change; a test compares the two.

use super::decay::{Decay, Law};

/// Two activations that are closer than this are equal: f64 gives 0.0999…9 for the 0.1 of ActR at 81 s (XB-25).
pub const SLACK: f64 = 1e-9;

/// How many presentations of an item are kept exactly; older ones count by Petrov's approximation (XB-23).
pub const KEPT_PRESENTATIONS: usize = 64;

/// What an item's activation is computed from.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// The activation when it was last set or rehearsed. ActR has none: there it follows from the presentations.
    pub level: f64,
    /// When that was, in milliseconds.
    pub since_ms: i64,
    /// When the item was presented: there under ActR only.
    pub presentations: Presentations,
}

/// When an item was presented.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Presentations {
    /// The first time, in milliseconds.
    pub first_ms: i64,
    /// How often, the forgotten times included.
    pub count: u64,
    /// The latest times, oldest first; at most [`KEPT_PRESENTATIONS`].
    pub kept_ms: Vec<i64>,
}

impl Presentations {
    /// One presentation.
    pub fn once(at_ms: i64) -> Self {
        Self { first_ms: at_ms, count: 1, kept_ms: vec![at_ms] }
    }
}

impl Trace {
    /// An item that is set now.
    pub fn new(level: f64, now_ms: i64) -> Self {
        Self { level, since_ms: now_ms, presentations: Presentations::once(now_ms) }
    }

    /// The activation at a time. Before the item was set it is what it was set to.
    pub fn activation(&self, decay: &Decay, now_ms: i64) -> f64 {
        let elapsed = in_ticks(now_ms - self.since_ms, decay.tick_ms);
        match decay.law {
            Law::Linear => (self.level - decay.parameter * elapsed).max(0.0),
            Law::Exponential => self.level * (-decay.parameter * elapsed).exp(),
            Law::PowerLaw => self.level * (1.0 + elapsed).powf(-decay.parameter),
            Law::ActR => {
                let odds = need_odds(&self.presentations, decay, now_ms);
                odds / (1.0 + odds)
            }
        }
    }

    /// How long from `now_ms` until the activation is below a threshold, in milliseconds; absent when that is not
    /// within `horizon_ms`. Exact: the item is still there a millisecond before (XB-25).
    pub fn fades_after(&self, decay: &Decay, threshold: f64, now_ms: i64, horizon_ms: i64) -> Option<i64> {
        let is_below = |after: i64| self.activation(decay, now_ms + after) < threshold - SLACK;
        if !is_below(horizon_ms) {
            return None;
        }
        let (mut above, mut below) = (-1, horizon_ms);
        while below - above > 1 {
            let middle = above + (below - above) / 2;
            if is_below(middle) { below = middle } else { above = middle }
        }
        Some(below)
    }
}

/// Seconds in whole ticks, never negative.
#[expect(clippy::cast_precision_loss, reason = "milliseconds of a year fit an f64 exactly")]
fn in_ticks(elapsed_ms: i64, tick_ms: u32) -> f64 {
    let tick = i64::from(tick_ms);
    (elapsed_ms.max(0) / tick * tick) as f64 / 1e3
}

/// Σ t^-d over the presentations, each at least one tick old. Of those that are not kept, only the number and the time
/// of the first are known: they are taken as evenly spread (Petrov 2006).
#[expect(clippy::cast_precision_loss, reason = "counts of presentations are small")]
fn need_odds(presentations: &Presentations, decay: &Decay, now_ms: i64) -> f64 {
    let d = decay.parameter;
    let age = |at_ms: i64| in_ticks(now_ms - at_ms, decay.tick_ms).max(f64::from(decay.tick_ms) / 1e3);
    let kept: f64 = presentations.kept_ms.iter().map(|&at_ms| age(at_ms).powf(-d)).sum();
    let forgotten = presentations.count.saturating_sub(presentations.kept_ms.len() as u64) as f64;
    let Some(&oldest) = presentations.kept_ms.first() else { return 0.0 };
    if forgotten < 1.0 {
        return kept;
    }
    let (first, oldest) = (age(presentations.first_ms), age(oldest));
    kept + forgotten * mean_power(oldest, first, d)
}

/// The mean of t^-d over t from `a` to `b`.
fn mean_power(a: f64, b: f64, d: f64) -> f64 {
    if b - a < SLACK {
        a.powf(-d)
    } else if (d - 1.0).abs() < SLACK {
        (b / a).ln() / (b - a)
    } else {
        (b.powf(1.0 - d) - a.powf(1.0 - d)) / ((1.0 - d) * (b - a))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LAWS: [Law; 4] = [Law::Linear, Law::Exponential, Law::PowerLaw, Law::ActR];

    fn at(law: Law, elapsed_ms: i64) -> f64 {
        Trace::new(1.0, 0).activation(&Decay::of(law), elapsed_ms)
    }

    fn fades(law: Law) -> Option<i64> {
        Trace::new(1.0, 0).fades_after(&Decay::of(law), 0.1, 0, 3_600_000)
    }

    /// Acceptance: within 1e-9 of the closed form at 1,000 random times, for every law.
    #[test]
    fn a_thousand_random_times_agree_with_the_closed_form_xb20_xb21_xb22_xb23() {
        let mut random = 1_u64;
        for _ in 0..1_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let elapsed_ms = i64::try_from((random >> 33) % 100_000).expect("small");
            #[expect(clippy::cast_precision_loss, reason = "small")]
            let t = (elapsed_ms / 100) as f64 * 0.1;
            let odds = t.max(0.1).powf(-0.5);
            let expected =
                [(1.0 - 0.1 * t).max(0.0), (-0.1 * t).exp(), (1.0 + t).powf(-0.5), odds / (1.0 + odds)];
            for (law, expected) in LAWS.into_iter().zip(expected) {
                assert!((at(law, elapsed_ms) - expected).abs() < 1e-9, "{law:?} at {t} s");
            }
        }
    }

    #[test]
    fn the_default_item_is_there_at_tick_230_and_gone_at_tick_231_b026_b027_b029_xb21() {
        assert!(at(Law::Exponential, 23_000) > 0.1 && at(Law::Exponential, 23_099) > 0.1);
        assert!(at(Law::Exponential, 23_100) < 0.1);
        assert_eq!(fades(Law::Exponential), Some(23_100));
        let iterated = (0..230).fold(1.0_f64, |a, _| a * (-0.01_f64).exp());
        assert!((iterated - at(Law::Exponential, 23_000)).abs() < 1e-12);
    }

    #[test]
    fn act_r_is_a_half_at_1_s_and_gone_just_after_81_s_xb23_xb25_r44() {
        assert!((at(Law::ActR, 0) - 0.759_746_9).abs() < 1e-6, "the law's value at its first tick");
        assert!((at(Law::ActR, 1_000) - 0.5).abs() < 1e-9);
        assert_eq!(fades(Law::ActR), Some(81_100), "equal stays");
        assert_eq!(fades(Law::Linear), Some(9_100));
        assert_eq!(fades(Law::PowerLaw), Some(99_100));
    }

    #[test]
    fn what_never_falls_that_low_does_not_fade() {
        let trace = Trace::new(1.0, 0);
        assert_eq!(trace.fades_after(&Decay::default(), 0.1, 0, 23_000), None);
        assert_eq!(trace.fades_after(&Decay::default(), 0.0, 0, i64::from(u32::MAX)), None);
        assert_eq!(Trace::new(0.05, 0).fades_after(&Decay::default(), 0.1, 0, 1_000), Some(0));
    }

    #[test]
    fn petrov_counts_forgotten_presentations_nearly_as_the_sum_does_xb23() {
        for d in [0.3, 0.5, 1.0, 1.7] {
            let decay = Decay { parameter: d, ..Decay::of(Law::ActR) };
            let times: Vec<i64> = (0..500).map(|n| n * 1_000).collect();
            let all = Presentations { first_ms: 0, count: 500, kept_ms: times.clone() };
            let some = Presentations {
                first_ms: 0,
                count: 500,
                kept_ms: times[500 - KEPT_PRESENTATIONS..].to_vec(),
            };
            let (all, some) = (need_odds(&all, &decay, 510_000), need_odds(&some, &decay, 510_000));
            assert!((all / some - 1.0).abs() < 0.02, "d {d}: {all} and {some}");
        }
    }

    proptest! {
        #[test]
        fn activation_stays_in_its_range_and_never_rises_by_itself_c129(
            law in prop::sample::select(&LAWS[..]),
            parameter in 0.001_f64..5.0,
            tick_ms in 1_u32..60_000,
            level in 0.0_f64..=1.0,
            times in prop::collection::vec(-10_000_000_i64..10_000_000, 2..10),
        ) {
            let decay = Decay { law, parameter, tick_ms };
            let trace = Trace::new(level, 0);
            let mut times = times;
            times.sort_unstable();
            let values: Vec<f64> = times.iter().map(|&now| trace.activation(&decay, now)).collect();
            prop_assert!(values.iter().all(|value| (0.0..=1.0).contains(value)), "{:?}", values);
            prop_assert!(values.is_sorted_by(|earlier, later| earlier >= later), "{:?}", values);
        }

        #[test]
        fn an_item_fades_at_the_first_moment_below_the_threshold(
            law in prop::sample::select(&LAWS[..]),
            parameter in 0.01_f64..3.0,
            tick_ms in 1_u32..5_000,
            threshold in 0.0_f64..0.99,
            since in 0_i64..100_000,
        ) {
            let decay = Decay { law, parameter, tick_ms };
            let trace = Trace::new(1.0, -since);
            if let Some(life) = trace.fades_after(&decay, threshold, 0, 10_000_000) {
                prop_assert!(trace.activation(&decay, life) < threshold);
                prop_assert!(life == 0 || trace.activation(&decay, life - 1) >= threshold - SLACK);
            }
        }
    }
}

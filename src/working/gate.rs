//! Which of the items offered come in (XB-30 to XB-36). Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::activation::SLACK;
use super::settings::{Gate, PriorityWeights};

/// After this age an item's recency is a half, in seconds.
const RECENCY_HALF_LIFE_S: f64 = 3_600.0;

/// What a gate looks at.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The item's id, the last word between equals.
    pub id: String,
    /// What the gate weighs.
    pub priority: f64,
    /// How relevant the item is, 0 to 1; to the goal, when there is one.
    pub relevance: f64,
    /// When it was observed, in milliseconds.
    pub observed_ms: i64,
}

/// Why an item was let in or not (XB-35, R-52).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// It came in.
    Admitted,
    /// Its priority is below the threshold.
    BelowThreshold,
    /// Others of the request have a higher priority.
    Outranked,
    /// The draw went to others.
    LostCompetition,
    /// It has too little to do with the goal.
    OffGoal,
    /// Nothing could leave to make room for it.
    NoRoom,
}

/// How recent something is, from 1 down to 0. What lies in the future is as recent as now.
#[expect(clippy::cast_precision_loss, reason = "ages are far below 2^52 ms")]
pub fn recency(age_ms: i64) -> f64 {
    let age = age_ms.max(0) as f64 / 1e3;
    (-std::f64::consts::LN_2 * age / RECENCY_HALF_LIFE_S).exp()
}

/// The weighted sum of what speaks for an item (B-019, B-032).
pub fn priority(
    weights: &PriorityWeights,
    recency: f64,
    relevance: f64,
    activation: f64,
    importance: f64,
) -> f64 {
    weights.recency * recency
        + weights.relevance * relevance
        + weights.activation * activation
        + weights.importance * importance
}

/// A verdict for each candidate, in their order. `chance` decides draws whose gate has no seed of its own.
pub fn judge(gate: &Gate, candidates: &[Candidate], chance: u64) -> Vec<Reason> {
    let meets = |value: f64, threshold: f64| value >= threshold - SLACK;
    let each = |verdict: &dyn Fn(&Candidate) -> Reason| candidates.iter().map(verdict).collect();
    match *gate {
        Gate::ThresholdBased { threshold } => each(&|candidate| {
            if meets(candidate.priority, threshold) { Reason::Admitted } else { Reason::BelowThreshold }
        }),
        Gate::GoalDirected { threshold } => each(&|candidate| {
            if !meets(candidate.relevance, threshold) {
                Reason::OffGoal
            } else if meets(candidate.priority, threshold) {
                Reason::Admitted
            } else {
                Reason::BelowThreshold
            }
        }),
        Gate::TopK { k } => winners(candidates.len(), Reason::Outranked, best(candidates, k as usize)),
        Gate::SoftmaxCompetition { temperature, winners: places, seed } => {
            let drawn = draw(candidates, temperature, places as usize, seed.unwrap_or(chance));
            winners(candidates.len(), Reason::LostCompetition, drawn)
        }
        Gate::Open => each(&|_| Reason::Admitted),
    }
}

fn winners(count: usize, loser: Reason, places: impl IntoIterator<Item = usize>) -> Vec<Reason> {
    let mut verdicts = vec![loser; count];
    places.into_iter().for_each(|place| verdicts[place] = Reason::Admitted);
    verdicts
}

/// The places of the k best; between equals the older observation, then the smaller id (XB-31).
fn best(candidates: &[Candidate], k: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (0..candidates.len()).collect();
    places.sort_by(|&a, &b| {
        let (a, b) = (&candidates[a], &candidates[b]);
        b.priority.total_cmp(&a.priority).then(a.observed_ms.cmp(&b.observed_ms)).then(a.id.cmp(&b.id))
    });
    places.truncate(k);
    places
}

/// Draws without replacement; each draw goes to a candidate with the probability that softmax gives it among those
/// left (XB-32). Weights are relative to the highest priority, so that a tiny temperature is arg max.
fn draw(candidates: &[Candidate], temperature: f64, places: usize, seed: u64) -> Vec<usize> {
    let mut left: Vec<usize> = (0..candidates.len()).collect();
    let (mut random, mut drawn) = (Random(seed), Vec::new());
    while drawn.len() < places && !left.is_empty() {
        let highest = left.iter().map(|&place| candidates[place].priority).fold(f64::MIN, f64::max);
        let weight = |place: usize| ((candidates[place].priority - highest) / temperature).exp();
        let total: f64 = left.iter().map(|&place| weight(place)).sum();
        let mut mark = random.fraction() * total;
        let hit = left.iter().position(|&place| {
            mark -= weight(place);
            mark < 0.0
        });
        // Rounding may leave the mark at the very end.
        let hit = hit.unwrap_or(left.len() - 1);
        drawn.push(left.swap_remove(hit));
    }
    drawn
}

/// SplitMix64: enough chance for a draw, and the same on every machine.
struct Random(u64);

impl Random {
    /// From 0 up to, and without, 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit an f64 exactly")]
    fn fraction(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn candidates(priorities: &[f64]) -> Vec<Candidate> {
        let candidate = |(number, &priority): (usize, &f64)| Candidate {
            id: format!("{number:03}"),
            priority,
            relevance: 0.5,
            observed_ms: 0,
        };
        priorities.iter().enumerate().map(candidate).collect()
    }

    fn admitted(gate: &Gate, priorities: &[f64], chance: u64) -> Vec<bool> {
        let verdicts = judge(gate, &candidates(priorities), chance);
        verdicts.into_iter().map(|reason| reason == Reason::Admitted).collect()
    }

    #[test]
    fn meeting_the_threshold_is_enough_b020_b030_xb30() {
        let gate = Gate::default();
        let edge = priority(&PriorityWeights::default(), 1.0, 0.0, 0.0, 0.0);
        assert_eq!(admitted(&gate, &[edge, 0.299_999_9, 0.31], 0), [true, false, true]);
    }

    #[test]
    fn the_k_best_come_in_the_older_first_between_equals_b031_xb31() {
        let mut equal = candidates(&[0.5, 0.5, 0.9, 0.5]);
        (equal[0].observed_ms, equal[1].observed_ms, equal[3].observed_ms) = (5, 1, 1);
        let verdicts = judge(&Gate::TopK { k: 2 }, &equal, 0);
        assert_eq!(verdicts, [Reason::Outranked, Reason::Admitted, Reason::Admitted, Reason::Outranked]);
        assert_eq!(admitted(&Gate::TopK { k: 9 }, &[0.1, 0.2], 0), [true, true]);
    }

    #[test]
    fn the_goal_comes_before_the_priority_xb33() {
        let mut two = candidates(&[0.9, 0.9, 0.2]);
        two[0].relevance = 0.29;
        let verdicts = judge(&Gate::GoalDirected { threshold: 0.3 }, &two, 0);
        assert_eq!(verdicts, [Reason::OffGoal, Reason::Admitted, Reason::BelowThreshold]);
    }

    #[test]
    fn an_open_gate_admits_all_xb34() {
        assert_eq!(admitted(&Gate::Open, &[0.0, 1.0], 0), [true, true]);
    }

    #[test]
    fn draws_follow_softmax_and_a_seed_repeats_them_xb32() {
        for (temperature, expected) in [(0.1, [0.950, 0.047, 0.0024]), (1.0, [0.437, 0.324, 0.240])] {
            let mut wins = [0_u32; 3];
            for seed in 0..20_000 {
                let gate = Gate::SoftmaxCompetition { temperature, winners: 1, seed: Some(seed) };
                let verdicts = admitted(&gate, &[0.9, 0.6, 0.3], 7);
                let winner = verdicts.iter().position(|&wins| wins).expect("one wins");
                assert_eq!(verdicts.iter().filter(|&&wins| wins).count(), 1);
                wins[winner] += 1;
            }
            for (wins, expected) in wins.into_iter().zip(expected) {
                assert!((f64::from(wins) / 20_000.0 - expected).abs() < 0.012, "T {temperature}: {wins}");
            }
        }
        let cold = Gate::SoftmaxCompetition { temperature: 1e-6, winners: 1, seed: None };
        for chance in 0..100 {
            assert_eq!(admitted(&cold, &[0.3, 0.300_1, 0.2], chance), [false, true, false], "arg max");
        }
    }

    #[test]
    fn recency_halves_each_hour() {
        assert!((recency(3_600_000) - 0.5).abs() < 1e-12 && (recency(-5) - 1.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn as_many_win_as_there_are_places(
            priorities in prop::collection::vec(0.0_f64..=1.0, 1..64),
            temperature in 1e-9_f64..100.0,
            places in 1_u32..100,
            seed: u64,
        ) {
            for gate in [Gate::TopK { k: places }, Gate::SoftmaxCompetition { temperature, winners: places, seed: Some(seed) }] {
                let wins = admitted(&gate, &priorities, 0).into_iter().filter(|&wins| wins).count();
                prop_assert_eq!(wins, priorities.len().min(places as usize));
            }
        }

        #[test]
        fn a_priority_stays_between_0_and_1(parts in prop::array::uniform4(0.0_f64..=1.0)) {
            let [a, b, c, d] = parts;
            let priority = priority(&PriorityWeights::default(), a, b, c, d);
            prop_assert!((0.0..=1.0 + 1e-12).contains(&priority));
        }
    }
}

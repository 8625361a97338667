//! The order of what a search found, and the score that each hit is given.
//!
//! - *Score.* `S/max S` of [`super::strength`] tells how hits compare; the evidence, which is the best cosine or
//!   share of the ideal BM25 among them, tells how good the best of them is. Their product is the score. It is
//!   moved by recency and importance, by at most a hundredth, to break near-ties; and what the caller wants
//!   boosted is mixed in by its weight. Hits are in the order of their scores.
//! - *Exact matches* come first and score 1: a record with the query as its key, then one with it as its text.

use std::cmp::Ordering;

use super::strength::{Candidate, Exact, Mode, conversation, fusion, highest, share};

/// How many candidates each arm of a search gives; 100 find no more (recall@10 .794 against .793).
pub const CANDIDATES_PER_ARM: usize = 60;
/// What recency and importance may change unasked, as a share of the best strength.
const NEAR_TIE: f64 = 0.01;
/// The weight of recency for a caller who gives a half-life.
const RECENCY_WEIGHT: f64 = 0.4;
const HALF_LIFE_SECONDS: f64 = 30.0 * 86_400.0;

/// What the caller wants to count besides relevance, whose own weight is 1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Boosts {
    /// The weight of being of a wanted category.
    pub category_match: f64,
    /// The weight of being in the primary scope.
    pub primary_scope: f64,
    /// After how many seconds recency is one half; without it, recency only breaks near-ties.
    pub recency_half_life_seconds: Option<f64>,
    /// The weight of importance.
    pub importance: f64,
    /// The weight of confidence.
    pub confidence: f64,
}

/// A candidate in its place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Which candidate.
    pub index: usize,
    /// How good a hit it is, within [0, 1].
    pub score: f64,
    /// What the score comes from.
    pub components: Components,
    /// Its place by BM25, from 1, if the lexical arm found it.
    pub lexical_rank: Option<usize>,
    /// Its place by cosine, from 1, if the semantic arm found it.
    pub semantic_rank: Option<usize>,
}

/// What a score comes from, each within [0, 1].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Components {
    /// The cosine, or 0 if it is negative.
    pub semantic: f64,
    /// BM25 as a share of what a text with every term once would have.
    pub lexical: f64,
    /// 1 for a change just now, halved every half-life.
    pub recency: f64,
    /// The record's importance.
    pub importance: f64,
    /// 1 if the query is the record's key.
    pub key: f64,
}

/// The candidates as hits, best first. `ideal` is [`super::bm25::Corpus::ideal`] of the query, `per_arm` how many each
/// arm of the search was asked for.
pub fn rank(candidates: &[Candidate], mode: Mode, ideal: f64, boosts: &Boosts, per_arm: usize) -> Vec<Hit> {
    let half_life = boosts.recency_half_life_seconds.unwrap_or(HALF_LIFE_SECONDS);
    let components: Vec<Components> =
        candidates.iter().map(|candidate| components(candidate, ideal, half_life)).collect();
    let strengths = conversation(candidates, &fusion(candidates, mode, ideal));
    let strongest = highest(strengths.iter().copied());
    let evidence = highest(components.iter().map(|c| match mode {
        Mode::Hybrid => c.semantic.max(c.lexical),
        Mode::Lexical => c.lexical,
        Mode::Semantic => c.semantic,
    }));
    let lexical_ranks =
        arm(mode != Mode::Semantic, per_arm, candidates, |c| Some(c.lexical).filter(|&l| l > 0.0));
    let semantic_ranks = arm(mode != Mode::Lexical, per_arm, candidates, Candidate::finite_cosine);
    let mut hits: Vec<Hit> = (0..candidates.len())
        .map(|index| {
            let relevance = evidence * share(strengths[index], strongest);
            Hit {
                index,
                score: score(&candidates[index], &components[index], relevance, evidence, boosts),
                components: components[index],
                lexical_rank: lexical_ranks[index],
                semantic_rank: semantic_ranks[index],
            }
        })
        .collect();
    hits.sort_by(|a, b| order(a, b, candidates));
    hits
}

fn components(candidate: &Candidate, ideal: f64, half_life_seconds: f64) -> Components {
    Components {
        semantic: candidate.finite_cosine().unwrap_or(0.0).clamp(0.0, 1.0),
        lexical: share(candidate.lexical, ideal),
        recency: (-candidate.age_seconds.max(0.0) / half_life_seconds).exp2(),
        importance: candidate.importance.clamp(0.0, 1.0),
        key: if candidate.exact == Exact::Key { 1.0 } else { 0.0 },
    }
}

/// The relevance, moved a little by recency and importance and mixed with what the caller wants.
fn score(candidate: &Candidate, parts: &Components, relevance: f64, evidence: f64, boosts: &Boosts) -> f64 {
    if candidate.exact != Exact::No {
        return 1.0;
    }
    let tie = f64::midpoint(parts.recency, parts.importance);
    let relevance = (relevance + NEAR_TIE * evidence * tie) / (1.0 + NEAR_TIE);
    let recency_weight = boosts.recency_half_life_seconds.map_or(0.0, |_| RECENCY_WEIGHT);
    let weighted = [
        (1.0, relevance),
        (boosts.category_match, f64::from(u8::from(candidate.category_match))),
        (boosts.primary_scope, f64::from(u8::from(candidate.primary_scope))),
        (recency_weight, parts.recency),
        (boosts.importance, parts.importance),
        (boosts.confidence, candidate.confidence.clamp(0.0, 1.0)),
    ];
    let sum: f64 = weighted.iter().map(|(weight, value)| weight * value).sum();
    sum / weighted.iter().map(|(weight, _)| weight).sum::<f64>()
}

/// Best first; what is equal in every respect stays in the order given.
fn order(a: &Hit, b: &Hit, candidates: &[Candidate]) -> Ordering {
    let (one, other) = (&candidates[a.index], &candidates[b.index]);
    (other.exact.cmp(&one.exact))
        .then(b.score.total_cmp(&a.score))
        .then(other.importance.total_cmp(&one.importance))
        .then(other.confidence.total_cmp(&one.confidence))
        .then(one.age_seconds.total_cmp(&other.age_seconds))
}

/// The places that one arm of the search gave, for those it found.
fn arm(
    is_used: bool,
    places: usize,
    candidates: &[Candidate],
    value: impl Fn(&Candidate) -> Option<f64>,
) -> Vec<Option<usize>> {
    let mut found: Vec<(f64, usize)> =
        candidates.iter().enumerate().filter_map(|(i, c)| Some((value(c)?, i))).collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut ranks = vec![None; candidates.len()];
    if is_used {
        for (place, &(_, index)) in found.iter().take(places).enumerate() {
            ranks[index] = Some(place + 1);
        }
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::super::strength::Turn;
    use super::*;
    use proptest::prelude::*;

    const IDEAL: f64 = 10.0;

    fn found(lexical: f64, cosine: f64) -> Candidate {
        Candidate { lexical, cosine: Some(cosine), importance: 0.5, ..Candidate::default() }
    }

    fn order_of(candidates: &[Candidate], boosts: &Boosts) -> Vec<usize> {
        rank(candidates, Mode::Hybrid, IDEAL, boosts, CANDIDATES_PER_ARM)
            .iter()
            .map(|hit| hit.index)
            .collect()
    }

    fn any_candidate() -> impl Strategy<Value = Candidate> {
        let scores = (0.0..20.0, proptest::option::of(prop_oneof![-1.0..1.0, Just(f64::NAN)]));
        let turn = proptest::option::of((0_usize..3, 0_usize..8, 0_usize..8, any::<bool>()));
        let flags = (any::<bool>(), any::<bool>(), any::<bool>());
        let exact = prop_oneof![8 => Just(Exact::No), 1 => Just(Exact::Text), 1 => Just(Exact::Key)];
        (scores, turn, flags, exact, 0.0..1e9, 0.0..=1.0, 0.0..=1.0).prop_map(
            |(scores, turn, flags, exact, age_seconds, importance, confidence)| Candidate {
                lexical: scores.0,
                cosine: scores.1,
                turn: turn.map(|(thread, previous, next, asks)| Turn {
                    thread,
                    previous: Some(previous),
                    next: Some(next),
                    asks,
                }),
                speaker_named: flags.0,
                exact,
                age_seconds,
                importance,
                confidence,
                category_match: flags.1,
                primary_scope: flags.2,
            },
        )
    }

    fn any_boosts() -> impl Strategy<Value = Boosts> {
        let weights = (0.0..=10.0, 0.0..=10.0, 0.0..=10.0, 0.0..=10.0);
        (weights, proptest::option::of(60.0..3e8)).prop_map(|(weights, recency_half_life_seconds)| Boosts {
            category_match: weights.0,
            primary_scope: weights.1,
            recency_half_life_seconds,
            importance: weights.2,
            confidence: weights.3,
        })
    }

    proptest! {
        #[test]
        fn scores_fall_from_at_most_one_to_at_least_zero(
            candidates in proptest::collection::vec(any_candidate(), 8..40),
            mode in prop_oneof![Just(Mode::Hybrid), Just(Mode::Lexical), Just(Mode::Semantic)],
            ideal in 0.0..30.0,
            boosts in any_boosts(),
        ) {
            let hits = rank(&candidates, mode, ideal, &boosts, CANDIDATES_PER_ARM);
            prop_assert!(hits.is_sorted_by(|a, b| a.score >= b.score));
            for hit in &hits {
                let parts = hit.components;
                for value in
                    [hit.score, parts.semantic, parts.lexical, parts.recency, parts.importance, parts.key]
                {
                    prop_assert!((0.0..=1.0).contains(&value), "{:?}", hit);
                }
            }
            let mut indices: Vec<usize> = hits.iter().map(|hit| hit.index).collect();
            indices.sort_unstable();
            prop_assert!(indices.into_iter().eq(0..candidates.len()));
        }

        #[test]
        fn without_conversation_the_order_is_that_of_the_fusion(
            scores in proptest::collection::vec((0.0..20.0, -1.0..1.0), 1..40),
        ) {
            let candidates: Vec<Candidate> = scores.iter().map(|&(l, d)| found(l, d)).collect();
            let fused = fusion(&candidates, Mode::Hybrid, IDEAL);
            let order = order_of(&candidates, &Boosts::default());
            prop_assert!(order.is_sorted_by(|&a, &b| fused[a] >= fused[b] - 1e-9));
        }
    }

    #[test]
    fn a_good_single_hit_is_near_one_and_a_poor_one_is_low() {
        let score = |candidate| {
            rank(&[candidate], Mode::Hybrid, IDEAL, &Boosts::default(), CANDIDATES_PER_ARM)[0].score
        };
        assert!(score(found(10.5, 0.98)) > 0.95);
        assert!(score(found(0.0, 0.6)) > 0.55);
        assert!(score(found(0.0, 0.08)) < 0.1);
        assert!(score(found(0.0, -0.2)) < 0.01);
    }

    #[test]
    fn words_that_occur_nowhere_give_low_and_different_scores() {
        let candidates: Vec<Candidate> = (0..31).map(|i| found(0.0, 0.1 + f64::from(i) * 0.003)).collect();
        let hits = rank(&candidates, Mode::Hybrid, IDEAL, &Boosts::default(), CANDIDATES_PER_ARM);
        assert!(hits.is_sorted_by(|a, b| a.score > b.score) && hits[0].score < 0.25);
    }

    #[test]
    fn the_same_text_comes_first_and_the_same_key_before_it() {
        let text = Candidate { exact: Exact::Text, ..found(1.0, 0.3) };
        let key = Candidate { exact: Exact::Key, ..found(0.0, 0.0) };
        let candidates = [found(10.0, 0.9), text, key];
        let wish = Boosts { importance: 10.0, ..Boosts::default() };
        for boosts in [Boosts::default(), wish] {
            let hits = rank(&candidates, Mode::Hybrid, IDEAL, &boosts, CANDIDATES_PER_ARM);
            assert_eq!(hits.iter().map(|hit| hit.index).collect::<Vec<_>>(), [2, 1, 0]);
            assert_eq!(hits.iter().map(|hit| hit.components.key).collect::<Vec<_>>(), [1.0, 0.0, 0.0]);
        }
    }

    #[test]
    fn importance_and_recency_break_near_ties_only() {
        let day = 86_400.0;
        let better = Candidate { importance: 0.0, age_seconds: 900.0 * day, ..found(8.0, 0.5) };
        let close = Candidate { importance: 1.0, age_seconds: 0.0, ..found(7.9, 0.5) };
        let worse = Candidate { importance: 1.0, age_seconds: 0.0, ..found(7.5, 0.5) };
        assert_eq!(order_of(&[better, close, worse], &Boosts::default()), [1, 0, 2]);
        assert_eq!(order_of(&[better, worse], &Boosts::default()), [0, 1]);
        let importance = Boosts { importance: 0.8, ..Boosts::default() };
        assert_eq!(order_of(&[better, worse], &importance), [1, 0]);
        let recency = Boosts { recency_half_life_seconds: Some(day), ..Boosts::default() };
        assert_eq!(order_of(&[better, worse], &recency), [1, 0]);
    }

    #[test]
    fn a_category_or_scope_is_boosted_by_its_weight() {
        let plain = found(8.0, 0.5);
        let wanted = Candidate { category_match: true, primary_scope: true, ..found(4.0, 0.3) };
        assert_eq!(order_of(&[plain, wanted], &Boosts::default()), [0, 1]);
        let category = Boosts { category_match: 0.5, ..Boosts::default() };
        let scope = Boosts { primary_scope: 0.6, ..Boosts::default() };
        assert_eq!(order_of(&[plain, wanted], &category), [1, 0]);
        assert_eq!(order_of(&[plain, wanted], &scope), [1, 0]);
    }

    #[test]
    fn a_hit_tells_which_arm_found_it() {
        let far: Vec<Candidate> = (0..CANDIDATES_PER_ARM).map(|_| found(0.0, 0.4)).collect();
        let candidates = [&[found(8.0, 0.1), found(4.0, 0.9)], far.as_slice()].concat();
        let ranks = |mode| {
            let mut hits = rank(&candidates, mode, IDEAL, &Boosts::default(), CANDIDATES_PER_ARM);
            hits.sort_by_key(|hit| hit.index);
            [0, 1, 2].map(|i| (hits[i].lexical_rank, hits[i].semantic_rank))
        };
        assert_eq!(ranks(Mode::Hybrid), [(Some(1), None), (Some(2), Some(1)), (None, Some(2))]);
        assert_eq!(ranks(Mode::Lexical), [(Some(1), None), (Some(2), None), (None, None)]);
        assert_eq!(ranks(Mode::Semantic), [(None, None), (None, Some(1)), (None, Some(2))]);
    }
}

//! How strong a candidate is among the others of one search: fusion of its scores, and its conversation.
//!
//! 1. *Fusion.* `H = ½·L/max(max L, ½·ideal) + ½·(1 − (max D − D)/max(max D − min D, 0.3))`, L being BM25 and D
//!    the cosine; in the modes that have only one of them, that part alone.
//! 2. *Conversation.* `S1 = H + w·H(previous) + 0.1·H(next)`, w being 0.4 after a question and 0.1 otherwise;
//!    `S2 = S1 + 0.2` if the query names the speaker, unless it names all; `S = S2 + 0.3·mean of the three best
//!    S2 of the thread`. A record without a thread is a thread of its own, so that both kinds compare.
//!
//! The constants were measured together on questions about conversations, by recall@10.

use std::collections::HashMap;

/// How many of the strongest candidates bring the turns next to them along: an answer often shares no word with
/// the question before it. Worth .05 of recall@10 without vectors, .004 with; more than 20 are no better.
pub const CANDIDATES_WITH_NEIGHBOURS: usize = 20;

const AFTER_QUESTION: f64 = 0.4;
const AFTER_TURN: f64 = 0.1;
const BEFORE_TURN: f64 = 0.1;
const SPEAKER_NAMED: f64 = 0.2;
const THREAD: f64 = 0.3;
const THREAD_BEST: usize = 3;

/// The least difference of cosines that is spread over the whole range: between few candidates it says little.
const LEAST_SPREAD: f64 = 0.3;
/// The share of the ideal BM25 at which a match is as good as the best: one common word of five is not.
const LEAST_COVERAGE: f64 = 0.5;

/// Which arms of the search count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Words and meaning.
    #[default]
    Hybrid,
    /// Words only.
    Lexical,
    /// Meaning only.
    Semantic,
}

/// A record that may be a hit.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Candidate {
    /// Its BM25 for the query: 0 if it has none of the terms. To be known also if only the other arm found it.
    pub lexical: f64,
    /// Its cosine to the query, also if only the other arm found it; none if it or the query has no vector.
    pub cosine: Option<f64>,
    /// Its place in a conversation.
    pub turn: Option<Turn>,
    /// Whether the query names who said it.
    pub speaker_named: bool,
    /// Whether it is the very thing that was asked for.
    pub exact: Exact,
    /// How long ago it was last changed.
    pub age_seconds: f64,
    /// Its importance, within [0, 1].
    pub importance: f64,
    /// Its confidence, within [0, 1].
    pub confidence: f64,
    /// Whether it is of a category that the caller wants boosted.
    pub category_match: bool,
    /// Whether it is in the caller's primary scope.
    pub primary_scope: bool,
}

/// A place in a conversation. Neighbours are given by their index among the candidates, if they are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Turn {
    /// Any number that the turns of one thread, and only they, have in common.
    pub thread: usize,
    /// The turn before.
    pub previous: Option<usize>,
    /// The turn after.
    pub next: Option<usize>,
    /// Whether this turn ends in a question.
    pub asks: bool,
}

/// Whether the query is a record's text or key, both in their normal forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Exact {
    /// Neither.
    #[default]
    No,
    /// Its whole text.
    Text,
    /// Its key.
    Key,
}

/// The strongest candidates before conversations are looked at, best first: the ones whose neighbours should
/// be added to the candidates.
pub fn strongest(candidates: &[Candidate], mode: Mode, ideal: f64) -> Vec<usize> {
    let fused = fusion(candidates, mode, ideal);
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by(|&a, &b| fused[b].total_cmp(&fused[a]));
    order.truncate(CANDIDATES_WITH_NEIGHBOURS);
    order
}

impl Candidate {
    /// The cosine, unless a vector without direction made it none.
    pub(super) fn finite_cosine(&self) -> Option<f64> {
        self.cosine.filter(|cosine| cosine.is_finite())
    }
}

/// H of every candidate.
pub(super) fn fusion(candidates: &[Candidate], mode: Mode, ideal: f64) -> Vec<f64> {
    let best_match = highest(candidates.iter().map(|c| c.lexical)).max(LEAST_COVERAGE * ideal);
    let cosines = || candidates.iter().filter_map(Candidate::finite_cosine);
    let closest = cosines().fold(f64::NEG_INFINITY, f64::max);
    let farthest = cosines().fold(f64::INFINITY, f64::min);
    let spread = (closest - farthest).max(LEAST_SPREAD);
    candidates
        .iter()
        .map(|candidate| {
            let lexical = share(candidate.lexical, best_match);
            let semantic = candidate.finite_cosine().map_or(0.0, |cosine| 1.0 - (closest - cosine) / spread);
            match mode {
                Mode::Hybrid => f64::midpoint(lexical, semantic),
                Mode::Lexical => lexical,
                Mode::Semantic => semantic,
            }
        })
        .collect()
}

/// S of every candidate, from its H.
pub(super) fn conversation(candidates: &[Candidate], fused: &[f64]) -> Vec<f64> {
    let names_all = candidates.iter().all(|candidate| candidate.speaker_named);
    let with_neighbours = |(candidate, &own): (&Candidate, &f64)| {
        let (previous, next) = candidate.turn.map_or((None, None), |turn| (turn.previous, turn.next));
        let before = previous.map_or(0.0, |at| {
            let asks = candidates[at].turn.is_some_and(|turn| turn.asks);
            fused[at] * if asks { AFTER_QUESTION } else { AFTER_TURN }
        });
        let after = next.map_or(0.0, |at| fused[at] * BEFORE_TURN);
        let named = if candidate.speaker_named && !names_all { SPEAKER_NAMED } else { 0.0 };
        own + before + after + named
    };
    let turns: Vec<f64> = candidates.iter().zip(fused).map(with_neighbours).collect();
    let mut threads: HashMap<usize, Vec<f64>> = HashMap::new();
    for (candidate, &strength) in candidates.iter().zip(&turns) {
        if let Some(turn) = candidate.turn {
            threads.entry(turn.thread).or_default().push(strength);
        }
    }
    let threads: HashMap<usize, f64> =
        threads.into_iter().map(|(thread, strengths)| (thread, mean_of_best(strengths))).collect();
    let thread = |candidate: &Candidate, own| candidate.turn.map_or(own, |turn| threads[&turn.thread]);
    candidates.iter().zip(turns).map(|(candidate, own)| own + THREAD * thread(candidate, own)).collect()
}

fn mean_of_best(mut strengths: Vec<f64>) -> f64 {
    strengths.sort_by(|a, b| b.total_cmp(a));
    strengths.truncate(THREAD_BEST);
    let sum: f64 = strengths.iter().sum();
    sum / f64::from(u8::try_from(strengths.len()).expect("at most three are left"))
}

pub(super) fn highest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, f64::max)
}

/// A value as a share of the greatest, within [0, 1]; none of nothing.
pub(super) fn share(value: f64, of: f64) -> f64 {
    if of > 0.0 { (value / of).clamp(0.0, 1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDEAL: f64 = 10.0;

    fn found(lexical: f64, cosine: f64) -> Candidate {
        Candidate { lexical, cosine: Some(cosine), ..Candidate::default() }
    }

    fn said(lexical: f64, turn: Turn) -> Candidate {
        Candidate { lexical, turn: Some(turn), ..Candidate::default() }
    }

    fn strengths(candidates: &[Candidate], mode: Mode) -> Vec<f64> {
        conversation(candidates, &fusion(candidates, mode, IDEAL))
    }

    fn assert_close(values: &[f64], expected: &[f64]) {
        let differ = values.iter().zip(expected).any(|(a, b)| (a - b).abs() > 1e-9);
        assert!(values.len() == expected.len() && !differ, "{values:?}, not {expected:?}");
    }

    #[test]
    fn words_and_meaning_count_the_same() {
        let candidates = [found(8.0, 0.9), found(4.0, 0.4), found(0.0, 0.1)];
        assert_close(&fusion(&candidates, Mode::Hybrid, IDEAL), &[1.0, 0.4375, 0.0]);
        assert_close(&fusion(&candidates, Mode::Lexical, IDEAL), &[1.0, 0.5, 0.0]);
        assert_close(&fusion(&candidates, Mode::Semantic, IDEAL), &[1.0, 0.375, 0.0]);
    }

    #[test]
    fn small_differences_and_poor_matches_are_not_blown_up() {
        let candidates = [found(1.0, 0.50), found(0.0, 0.53)];
        assert_close(&fusion(&candidates, Mode::Semantic, IDEAL), &[0.9, 1.0]);
        assert_close(&fusion(&candidates, Mode::Lexical, IDEAL), &[0.2, 0.0]);
    }

    #[test]
    fn candidates_without_scores_are_weak_but_harmless() {
        let nothing = Candidate { cosine: Some(f64::NAN), ..Candidate::default() };
        assert_close(&strengths(&[nothing, found(0.0, 0.5)], Mode::Hybrid), &[0.0, 0.65]);
        assert_close(&strengths(&[nothing], Mode::Semantic), &[0.0]);
        assert_close(&strengths(&[], Mode::Hybrid), &[]);
    }

    #[test]
    fn an_answer_gains_most_from_the_question_before_it() {
        let question = said(8.0, Turn { next: Some(1), asks: true, ..Turn::default() });
        let answer = said(0.0, Turn { previous: Some(0), ..Turn::default() });
        let alone = |turn| said(0.0, Turn { thread: turn, ..Turn::default() });
        let asked = strengths(&[question, answer, alone(1)], Mode::Lexical);
        let told = said(8.0, Turn { next: Some(1), ..Turn::default() });
        let told = strengths(&[told, answer, alone(1)], Mode::Lexical);
        assert!(asked[1] > told[1] && told[1] > told[2]);
        assert_close(&asked, &[1.0 + 0.3 * 0.7, 0.4 + 0.3 * 0.7, 0.0]);
    }

    #[test]
    fn a_named_speaker_counts_unless_all_are_named() {
        let named = Candidate { speaker_named: true, ..found(4.0, 0.5) };
        let other = found(4.0, 0.5);
        let one = strengths(&[named, other], Mode::Lexical);
        assert!(one[0] > one[1]);
        let both = strengths(&[named, named], Mode::Lexical);
        assert_close(&both, &[one[1], one[1]]);
    }

    #[test]
    fn a_thread_with_more_hits_lifts_them() {
        let of = |thread| said(8.0, Turn { thread, ..Turn::default() });
        let weak = said(0.0, Turn { thread: 2, ..Turn::default() });
        let strengths = strengths(&[of(1), of(1), of(2), weak], Mode::Lexical);
        assert!(strengths[0] > strengths[2]);
        assert_close(&strengths[..1], &strengths[1..2]);
    }

    #[test]
    fn a_record_without_a_thread_compares_to_one_with() {
        let fact = Candidate { lexical: 8.0, ..Candidate::default() };
        let strengths = strengths(&[fact, said(8.0, Turn::default())], Mode::Lexical);
        assert_close(&strengths, &[1.3, 1.3]);
    }

    #[test]
    fn the_strongest_come_first_and_are_few() {
        let candidates: Vec<Candidate> = (0..50).map(|i| found(f64::from(i), 0.0)).collect();
        let strongest = strongest(&candidates, Mode::Lexical, IDEAL);
        assert_eq!(strongest[..3], [49, 48, 47]);
        assert_eq!(strongest.len(), CANDIDATES_WITH_NEIGHBOURS);
    }
}

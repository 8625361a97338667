//! How well a ranking answers a query. Pure.

use std::collections::HashSet;

/// The figures of one query, or their mean over several.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Score {
    /// The part of the relevant records that is among the first 5, 10 and 20.
    pub recall: [f64; 3],
    /// One over the rank of the first relevant record; 0 if it is not among the first 10.
    pub mrr_at_10: f64,
    /// Discounted gain of the relevant records among the first 10, of the greatest possible.
    pub ndcg_at_10: f64,
}

/// The cuts that recall is reported at.
pub const CUTS: [usize; 3] = [5, 10, 20];

impl Score {
    /// Scores the ids that a search returned, best first, against those that it should have.
    pub fn of(returned: &[&str], relevant: &HashSet<&str>) -> Self {
        let ranks: Vec<usize> =
            (1..).zip(returned).filter(|(_, id)| relevant.contains(**id)).map(|(rank, _)| rank).collect();
        let all = as_f64(relevant.len());
        let ideal: f64 = (1..=relevant.len().min(10)).map(gain).sum();
        let found_within = |cut| as_f64(ranks.iter().filter(|&&rank| rank <= cut).count());
        let early = || ranks.iter().copied().filter(|&rank| rank <= 10);
        Self {
            recall: CUTS.map(|cut| found_within(cut) / all),
            mrr_at_10: early().next().map_or(0.0, |rank| 1.0 / as_f64(rank)),
            ndcg_at_10: early().map(gain).sum::<f64>() / ideal,
        }
    }

    /// The mean; zero of none.
    pub fn mean(scores: &[Self]) -> Self {
        let count = as_f64(scores.len().max(1));
        let mean = |figure: &dyn Fn(&Self) -> f64| scores.iter().map(figure).sum::<f64>() / count;
        Self {
            recall: [0, 1, 2].map(|cut| mean(&|score| score.recall[cut])),
            mrr_at_10: mean(&|score| score.mrr_at_10),
            ndcg_at_10: mean(&|score| score.ndcg_at_10),
        }
    }
}

fn gain(rank: usize) -> f64 {
    1.0 / as_f64(rank + 1).log2()
}

#[expect(clippy::cast_precision_loss, reason = "counts of queries and records are small")]
fn as_f64(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(left: f64, right: f64) -> bool {
        (left - right).abs() < 1e-9
    }

    #[test]
    fn a_perfect_ranking_scores_one_everywhere() {
        let score = Score::of(&["a", "b", "c"], &HashSet::from(["a", "b"]));
        assert_eq!(score, Score { recall: [1.0; 3], mrr_at_10: 1.0, ndcg_at_10: 1.0 });
    }

    #[test]
    fn what_comes_later_counts_less_and_after_the_tenth_only_for_recall() {
        let returned = ["x", "a", "x", "x", "x", "b", "x", "x", "x", "x", "c"];
        let score = Score::of(&returned, &HashSet::from(["a", "b", "c", "d"]));
        for (recall, expected) in score.recall.into_iter().zip([0.25, 0.5, 0.75]) {
            assert!(near(recall, expected));
        }
        assert!(near(score.mrr_at_10, 0.5));
        let ideal = 1.0 + 1.0 / 3_f64.log2() + 0.5 + 1.0 / 5_f64.log2();
        assert!(near(score.ndcg_at_10, (1.0 / 3_f64.log2() + 1.0 / 7_f64.log2()) / ideal));
    }

    #[test]
    fn the_mean_is_taken_figure_by_figure() {
        let relevant = HashSet::from(["a"]);
        let mean = Score::mean(&[Score::of(&["a"], &relevant), Score::of(&["b"], &relevant)]);
        assert_eq!(mean, Score { recall: [0.5; 3], mrr_at_10: 0.5, ndcg_at_10: 0.5 });
        assert_eq!(Score::mean(&[]), Score::default());
    }
}

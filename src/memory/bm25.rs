//! Okapi BM25: how well a text matches the terms of a query.
//!
//! The sum over a query's terms is taken in SQL, over the postings, with the values of this file.

/// How soon a term's repetition stops counting.
pub const K1: f64 = 0.9;
/// How much longer texts are held back. Memories are short, so little; both values as measured on passages.
pub const B: f64 = 0.4;

/// What the weight of a term depends on besides its text: the namespace it is searched in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Corpus {
    /// How many texts there are.
    pub documents: f64,
    /// Their mean length in words.
    pub average_length: f64,
}

impl Corpus {
    /// How much a term tells that occurs in this many texts; above zero also when counts are a little stale.
    pub fn idf(&self, frequency: f64) -> f64 {
        let documents = self.documents.max(frequency);
        ((documents - frequency + 0.5) / (frequency + 0.5)).ln_1p()
    }

    /// What one term adds to the score of a text: `idf · tf·(k1 + 1) / (tf + floor + slope·length)`.
    pub fn weight(&self, idf: f64, count: f64, length: f64) -> f64 {
        idf * count * (K1 + 1.0) / (count + Self::floor() + self.slope() * length)
    }

    /// The part of the denominator that is the same for all texts.
    pub fn floor() -> f64 {
        K1 * (1.0 - B)
    }

    /// The part of the denominator that grows by word.
    pub fn slope(&self) -> f64 {
        K1 * B / self.average_length.max(1.0)
    }

    /// The score of a text of average length that has every term of the query once, given their frequencies.
    ///
    /// Words that occur nowhere count, so that a text is not called a good match for the rest alone.
    pub fn ideal(&self, frequencies: &[f64]) -> f64 {
        frequencies.iter().map(|&frequency| self.idf(frequency)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CORPUS: Corpus = Corpus { documents: 1000.0, average_length: 12.0 };

    proptest! {
        #[test]
        fn rare_repeated_and_short_weigh_more(df in 1.0..999.0, tf in 1.0..50.0, length in 1.0..500.0) {
            let weight = |df, tf, length| CORPUS.weight(CORPUS.idf(df), tf, length);
            prop_assert!(weight(df, tf, length) > 0.0);
            prop_assert!(weight(df, tf, length) > weight(df + 1.0, tf, length));
            prop_assert!(weight(df, tf + 1.0, length) > weight(df, tf, length));
            prop_assert!(weight(df, tf, length) > weight(df, tf, length + 1.0));
        }
    }

    #[test]
    fn one_term_in_a_text_of_average_length_weighs_its_idf() {
        assert!((CORPUS.weight(2.0, 1.0, 12.0) - 2.0).abs() < 1e-12);
        assert!((CORPUS.ideal(&[10.0, 0.0]) - CORPUS.idf(10.0) - CORPUS.idf(0.0)).abs() < 1e-12);
    }

    #[test]
    fn stale_counts_do_no_harm() {
        assert!(Corpus { documents: 3.0, average_length: 0.0 }.idf(5.0) > 0.0);
        assert!(Corpus { documents: 0.0, average_length: 0.0 }.weight(1.0, 1.0, 0.0).is_finite());
    }
}

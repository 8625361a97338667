//! The languages of the tables: which one a sentence is in, and what its cues say. Pure.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::cue::{Cues, Sort, Words};
use super::table::{TABLES, Table};

/// How much the language of the whole text counts beside that of a sentence.
const PRIOR: f64 = 0.5;

/// A language with a score this near to the best one's may be the sentence's, too.
const NEAR: f64 = 0.7;

/// A table, ready to be used.
pub(super) struct Language {
    table: &'static Table,
    common: HashSet<&'static str>,
    asks: Cues,
    doubts: Cues,
    passing: Cues,
    orders: Cues,
    sorts: Vec<(Sort, Cues)>,
}

static LANGUAGES: LazyLock<Vec<Language>> = LazyLock::new(|| {
    let read = |table: &'static Table| Language {
        table,
        common: table.common.split_whitespace().collect(),
        asks: Cues::read(table, table.asks),
        doubts: Cues::read(table, table.doubts),
        passing: Cues::read(table, table.passing),
        orders: Cues::read(table, table.orders),
        sorts: table.cues.iter().map(|(sort, list)| (*sort, Cues::read(table, list))).collect(),
    };
    TABLES.into_iter().map(read).collect()
});

impl Language {
    /// Whether what it says does not last.
    pub fn is_passing(&self, words: &Words) -> bool {
        self.passing.are_in(words)
    }

    /// Whether what it says is asked, guessed or made up.
    pub fn drops(&self, words: &Words) -> bool {
        self.asks.are_in(words) || self.doubts.are_in(words)
    }

    /// What its first cue says. A saved note is taken as it is, however vague.
    pub fn sort(&self, words: &Words, is_saved: bool) -> Option<Sort> {
        let words = words.without_lead(self.table.lead);
        let sort = self.sorts.iter().find(|(_, cues)| cues.are_in(&words))?.0;
        let is_vague = |word: Option<&str>| {
            word.is_some_and(|word| self.table.vague.split(' ').any(|vague| vague == word))
        };
        let count = words.iter().count();
        // `It is stored there` and `Never share it` say nothing without what was said before.
        let is_adrift = (sort == Sort::Thing && (is_vague(words.iter().next()) || count < 3))
            || (count <= 4 && self.table.is_spaced && is_vague(words.iter().last()));
        (is_saved || !is_adrift).then_some(sort)
    }
}

/// How well each language fits.
pub(super) struct Scores(Vec<f64>);

impl Scores {
    #[expect(clippy::cast_precision_loss, reason = "a text has fewer words than a float has digits")]
    pub fn of(words: &Words, text: &str) -> Self {
        // One word in a short sentence tells little.
        let all = (words.iter().count() + 3) as f64;
        let share = |language: &Language| {
            let found = words.iter().filter(|word| language.common.contains(word)).count();
            found as f64 / all
        };
        let (mut kana, mut han, mut cyrillic) = (0, 0, 0);
        for c in text.chars() {
            match c {
                '\u{3040}'..='\u{30ff}' => kana += 1,
                '\u{4e00}'..='\u{9fff}' => han += 1,
                '\u{400}'..='\u{4ff}' => cyrillic += 1,
                _ => {}
            }
        }
        let by_script = match (kana, han, cyrillic) {
            (1.., _, _) if kana * 8 > han => Some("ja"),
            (_, 1.., _) => Some("zh"),
            (_, _, 1..) => Some("ru"),
            _ => None,
        };
        let score = |language: &Language| match by_script {
            Some(code) => f64::from(u8::from(language.table.language == code)),
            None => share(language),
        };
        Self(LANGUAGES.iter().map(score).collect())
    }
}

/// The languages a sentence may be in, the likeliest first; English when nothing tells.
pub(super) fn near(words: &Words, text: &str, prior: &Scores) -> Vec<&'static Language> {
    let own = Scores::of(words, text);
    let scores: Vec<f64> = own.0.iter().zip(&prior.0).map(|(own, prior)| own + PRIOR * prior).collect();
    let best = scores.iter().copied().fold(0.0, f64::max);
    let mut near: Vec<usize> = (0..scores.len()).filter(|at| scores[*at] >= best * NEAR).collect();
    near.sort_by(|one, other| scores[*other].total_cmp(&scores[*one]));
    if best == 0.0 {
        near.truncate(1);
    }
    near.into_iter().map(|at| &LANGUAGES[at]).collect()
}

/// Whether a sentence speaks to the machine that reads it, in whatever language.
pub(super) fn is_order(text: &str) -> bool {
    let words = Words::of(text);
    LANGUAGES.iter().any(|language| language.orders.are_in(&words))
}

//! The tables of cues, one file a language.

mod de;
mod en;
mod es;
mod fr;
mod it;
mod ja;
mod nl;
mod pl;
mod pt;
mod ru;
mod zh;

use super::cue::Sort;

#[cfg(test)]
pub(super) use en::EN;
#[cfg(test)]
pub(super) use zh::ZH;

/// What the engine knows of a language. Cues are written as `cue.rs` explains, separated by `|`.
pub(super) struct Table {
    /// Its code.
    pub language: &'static str,
    /// Whether blanks stand between words.
    pub is_spaced: bool,
    /// Its most frequent words, by which it is recognised.
    pub common: &'static str,
    /// Words that may stand before what a sentence says.
    pub lead: &'static str,
    /// Subjects that say nothing outside of their text.
    pub vague: &'static str,
    /// Questions that bear no mark.
    pub asks: &'static str,
    /// What is not said to be so: conditions, guesses, examples, what others said.
    pub doubts: &'static str,
    /// What does not last, and what people say to be kind.
    pub passing: &'static str,
    /// Orders to the machine that reads the text.
    pub orders: &'static str,
    /// Sets that cues name.
    pub sets: &'static [(&'static str, &'static str)],
    /// The cues of what is worth keeping.
    pub cues: &'static [(Sort, &'static str)],
}

/// All languages.
pub(super) const TABLES: [&Table; 11] =
    [&en::EN, &de::DE, &fr::FR, &es::ES, &it::IT, &pt::PT, &nl::NL, &pl::PL, &ru::RU, &ja::JA, &zh::ZH];

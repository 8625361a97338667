//! Cues: turns of phrase that tell what sort of sentence it is, and the engine that looks for them. Pure.
//!
//! A cue is written as words. `^` before it: at the beginning of the sentence or after a colon. `…` in it: some words
//! between. `*` after it: the last word may go on. `<kin>` in it: any of that set of the table. Cues and sentences are
//! compared in one form: NFKC, case folded, without marks.

use super::table::Table;
use crate::memory::text::normal_form;

/// What a sentence does. Where several cues are found, the first sort of this order wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sort {
    /// Something all must do.
    Policy,
    /// Something somebody has to do.
    Todo,
    /// Something that was decided.
    Decision,
    /// Something learned.
    Insight,
    /// The speaker's birthday.
    Birthday,
    /// The speaker's name.
    Name,
    /// How to reach the speaker.
    Contact,
    /// How the speaker wants to be treated from now on.
    Instruction,
    /// Somebody in the speaker's life.
    Kin,
    /// What must not be, or not more than.
    Constraint,
    /// What the speaker likes and does not.
    Preference,
    /// What the speaker is and does.
    Biography,
    /// What the speaker's team or firm is, has and uses.
    Project,
    /// A third person or thing, with a predicate that lasts.
    Thing,
    /// An idea or opinion; kept where somebody saved it, not looked for.
    Idea,
}

/// A sentence in the form in which cues are looked for.
#[derive(Debug)]
pub(super) struct Words(String);

impl Words {
    pub fn of(text: &str) -> Self {
        let mut words = String::with_capacity(text.len());
        for c in normal_form(text).chars() {
            match c {
                '’' => words.push('\''),
                ':' => words.push_str(" : "),
                _ if c.is_alphanumeric() || c == '\'' || is_mark(c) => words.push(c),
                _ => words.push(' '),
            }
        }
        Self(format!(" {} ", words.split_whitespace().collect::<Vec<_>>().join(" ")))
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.split_whitespace()
    }

    /// Without these words at its beginning.
    pub fn without_lead(&self, lead: &str) -> Self {
        let is_lead = |word: &&str| lead.split(' ').any(|lead| lead == *word);
        let rest: Vec<&str> = self.iter().skip_while(is_lead).collect();
        Self(format!(" {} ", rest.join(" ")))
    }
}

/// Marks that are parts of letters, as in Hindi.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{900}'..='\u{903}' | '\u{93a}'..='\u{94f}' | '\u{3099}'..='\u{309a}' | 'ー')
}

/// A list of cues, ready to be looked for.
#[derive(Debug)]
pub(super) struct Cues(Vec<Cue>);

#[derive(Debug)]
struct Cue {
    is_first: bool,
    parts: Vec<String>,
}

impl Cues {
    /// Reads cues separated by `|`.
    pub fn read(table: &Table, list: &str) -> Self {
        let cues = list.split('|').map(str::trim).filter(|cue| !cue.is_empty());
        Self(cues.flat_map(|cue| expand(table, cue)).map(|cue| Cue::read(&cue, table.is_spaced)).collect())
    }

    pub fn are_in(&self, words: &Words) -> bool {
        self.0.iter().any(|cue| cue.is_in(&words.0))
    }
}

/// The cue for each word of the set it names.
fn expand(table: &Table, cue: &str) -> Vec<String> {
    let named = cue.split_once('<').and_then(|(before, rest)| Some((before, rest.split_once('>')?)));
    let Some((before, (name, after))) = named else { return vec![cue.to_owned()] };
    let set = table.sets.iter().find(|(set, _)| *set == name).map_or("", |(_, words)| words);
    set.split('|').flat_map(|word| expand(table, &format!("{before}{}{after}", word.trim()))).collect()
}

impl Cue {
    fn read(cue: &str, is_spaced: bool) -> Self {
        let (is_first, cue) = cue.strip_prefix('^').map_or((false, cue), |cue| (true, cue));
        let part = |part: &str| {
            let is_open = part.trim_end().ends_with('*');
            let words = Words::of(part).0;
            match (is_spaced, is_open) {
                (false, _) => words.trim().to_owned(),
                // `'s wife` goes on from the word before.
                _ if part.starts_with('\'') => words.trim_start().to_owned(),
                (true, true) => words.trim_end().to_owned(),
                (true, false) => words,
            }
        };
        Self { is_first, parts: cue.split('…').map(part).collect() }
    }

    fn is_in(&self, words: &str) -> bool {
        let Some((first, rest)) = self.parts.split_first() else { return false };
        let starts: Vec<usize> = words.match_indices(first.as_str()).map(|(at, _)| at).collect();
        starts.into_iter().any(|at| {
            let before = words[..at].trim_end();
            if self.is_first && !before.is_empty() && !before.ends_with(':') {
                return false;
            }
            // The blank after a part is the one before the next.
            let mut from = at + first.trim_end().len();
            rest.iter().all(|part| {
                let found = words[from..].find(part.as_str());
                from += found.map_or(0, |found| found + part.trim_end().len());
                found.is_some()
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::{EN, ZH};
    use super::*;

    fn is_in(table: &Table, cue: &str, text: &str) -> bool {
        Cues::read(table, cue).are_in(&Words::of(text))
    }

    #[test]
    fn a_cue_is_found_in_whole_words_of_any_case() {
        assert!(is_in(&EN, "i am | we are", "Well, WE  ARE many."));
        assert!(is_in(&EN, "i'm", "I’m here"));
        assert!(!is_in(&EN, "i am", "Naomi amused Ali ambled"));
        assert!(is_in(&EN, "prefer*", "She preferred tea") && !is_in(&EN, "prefer", "She preferred tea"));
        assert!(is_in(&EN, "need … by", "We need this by Friday") && !is_in(&EN, "need … by", "by need"));
        assert!(is_in(&EN, "^always", "Always ask.") && is_in(&EN, "^always", "Note: always ask."));
        assert!(!is_in(&EN, "^always", "I always ask."));
        assert!(is_in(&EN, "my <kin>", "That is my wife") && !is_in(&EN, "my <kin>", "my bike"));
        assert!(is_in(&ZH, "喜欢", "我更喜欢茶。"));
    }

    #[test]
    fn leading_words_can_be_left_out() {
        let words = Words::of("So please, always ask.").without_lead("so please");
        assert!(Cues::read(&EN, "^always").are_in(&words));
        assert!(Words::of("so so").without_lead("so").iter().next().is_none());
    }
}

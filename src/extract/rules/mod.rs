//! Finds sentences worth keeping by turns of phrase, in eleven languages, always with the same result. Pure.
//!
//! What is kept is the sentence as it stands: no digit, name or negation can get lost. What is asked, guessed, said of
//! today, quoted, or meant for the machine that reads the text is not kept; in doubt nothing is.

mod cue;
mod date;
mod sentence;
mod table;

use std::collections::HashSet;
use std::sync::LazyLock;

use self::cue::{Cues, Sort, Words};
use self::sentence::sentences;
use self::table::{TABLES, Table};
use super::{Fact, ItemKind, secret};
use crate::candidate::word::{Attribute, Certainty, Durability, Explicitness, SensitivityHint, Subject};
use crate::memory::Category;
use crate::memory::text::normal_form;

/// A longer sentence is none, but data or text without marks.
const MAX_SENTENCE_BYTES: usize = 800;

/// From one text; what says more is no conversation.
const MAX_FACTS: usize = 256;

/// How much the language of the whole text counts beside that of a sentence.
const PRIOR: f64 = 0.5;

/// A language with a score this near to the best one's may be the sentence's, too.
const NEAR: f64 = 0.7;

struct Language {
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

/// The facts of a text, in its order, each once.
pub fn facts(text: &str) -> Vec<Fact> {
    let sentences = sentences(text);
    let poisoned: HashSet<usize> = sentences
        .iter()
        .filter(|sentence| is_order(&text[sentence.span.clone()]))
        .map(|sentence| sentence.paragraph)
        .collect();
    let prior = Scores::of(&Words::of(text), text);
    let mut seen = HashSet::new();
    sentences
        .into_iter()
        .filter(|sentence| !poisoned.contains(&sentence.paragraph))
        .filter_map(|sentence| {
            let words = &text[sentence.span.clone()];
            let sort = if sentence.is_open_task { Sort::Todo } else { sort(words, &prior)? };
            (sort != Sort::Idea).then(|| fact(words, sentence.span, sort))
        })
        .filter(|fact| seen.insert(normal_form(&fact.content)))
        .take(MAX_FACTS)
        .collect()
}

/// What sort of item a note is that somebody saved; whatever it says, it is kept.
pub fn classify(text: &str) -> (ItemKind, Category) {
    let is_open_task = text.trim_start().trim_start_matches(['-', '*', ' ']).starts_with("[ ]");
    if is_open_task {
        return (ItemKind::Todo, Category::Todo);
    }
    let prior = Scores::of(&Words::of(text), text);
    let words = Words::of(text);
    let sort = near(&words, text, &prior).into_iter().find_map(|language| language.sort(&words, true));
    sort.map_or((ItemKind::Fact, Category::Custom), |sort| (kind(sort), category(sort)))
}

/// The sort of a sentence that is worth keeping.
fn sort(text: &str, prior: &Scores) -> Option<Sort> {
    let said = without_quotes(text);
    let is_question = text.trim_end_matches(['"', '”', '»', ')', ' ']).ends_with(['?', '？', ';']);
    if is_question || text.len() > MAX_SENTENCE_BYTES || text.chars().any(is_unseen) {
        return None;
    }
    let words = Words::of(&said);
    let languages = near(&words, &said, prior);
    let is_dropped = |language: &&Language| language.drops(&words);
    if languages.iter().any(is_dropped) {
        return None;
    }
    let sort = languages.iter().find_map(|language| language.sort(&words, false))?;
    // What was decided today is decided; who is tired today is not so tomorrow.
    let is_lasting = sort <= Sort::Instruction;
    (is_lasting || !languages.iter().any(|language| language.passing.are_in(&words))).then_some(sort)
}

impl Language {
    /// Whether what it says is asked, guessed or made up.
    fn drops(&self, words: &Words) -> bool {
        self.asks.are_in(words) || self.doubts.are_in(words)
    }

    fn sort(&self, words: &Words, is_saved: bool) -> Option<Sort> {
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
struct Scores(Vec<f64>);

impl Scores {
    #[expect(clippy::cast_precision_loss, reason = "a text has fewer words than a float has digits")]
    fn of(words: &Words, text: &str) -> Self {
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
fn near(words: &Words, text: &str, prior: &Scores) -> Vec<&'static Language> {
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
fn is_order(text: &str) -> bool {
    let words = Words::of(text);
    LANGUAGES.iter().any(|language| language.orders.are_in(&words))
}

/// The sentence without what somebody else said in it: quotes of three words or more.
fn without_quotes(text: &str) -> String {
    const QUOTES: &[(char, char)] =
        &[('"', '"'), ('“', '”'), ('„', '“'), ('«', '»'), ('「', '」'), ('『', '』'), ('`', '`')];
    let mut said = text.to_owned();
    for (open, close) in QUOTES {
        let mut from = 0;
        while let Some(start) = said[from..].find(*open).map(|at| from + at) {
            let inner = start + open.len_utf8();
            let Some(length) = said[inner..].find(*close) else { break };
            let quote = &said[inner..inner + length];
            let is_name = quote.split_whitespace().count() < 3 && quote.chars().count() < 20;
            let end = inner + length + close.len_utf8();
            if is_name {
                from = end;
            } else {
                said.replace_range(start..end, "…");
                from = start;
            }
        }
    }
    said
}

/// Characters by which text is hidden from people and not from machines.
fn is_unseen(c: char) -> bool {
    matches!(c, '\u{e0000}'..='\u{e0fff}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn fact(text: &str, span: std::ops::Range<usize>, sort: Sort) -> Fact {
    let is_secret = !secret::find(text).is_empty();
    Fact {
        content: text.split(['\n', '\r']).map(str::trim).collect::<Vec<_>>().join(" "),
        span,
        kind: kind(sort),
        category: category(sort),
        subject: subject(sort),
        attribute: attribute(sort),
        custom_attribute: None,
        durability: durability(sort),
        sensitivity: if is_secret { SensitivityHint::Secret } else { sensitivity(sort) },
        certainty: if sort == Sort::Thing { Certainty::Medium } else { Certainty::High },
        explicitness: if sort == Sort::Thing { Explicitness::Implicit } else { Explicitness::Explicit },
        importance: importance(sort),
        due: if sort == Sort::Todo { date::find(text) } else { None },
    }
}

fn kind(sort: Sort) -> ItemKind {
    match sort {
        Sort::Todo => ItemKind::Todo,
        Sort::Insight => ItemKind::Insight,
        Sort::Idea => ItemKind::Thought,
        _ => ItemKind::Fact,
    }
}

fn category(sort: Sort) -> Category {
    match sort {
        Sort::Policy => Category::ProjectPolicy,
        Sort::Todo => Category::Todo,
        Sort::Decision => Category::ProjectDecision,
        Sort::Birthday | Sort::Name | Sort::Contact => Category::Identity,
        Sort::Instruction => Category::RecurringInstruction,
        Sort::Kin => Category::Relationship,
        Sort::Constraint => Category::Constraint,
        Sort::Preference => Category::Preference,
        Sort::Biography => Category::Biography,
        Sort::Project | Sort::Thing => Category::ProjectFact,
        Sort::Insight | Sort::Idea => Category::Custom,
    }
}

fn subject(sort: Sort) -> Subject {
    match sort {
        Sort::Policy | Sort::Decision | Sort::Project => Subject::Project,
        Sort::Kin => Subject::Person,
        Sort::Thing | Sort::Insight | Sort::Todo | Sort::Idea => Subject::Custom,
        _ => Subject::CurrentUser,
    }
}

/// Only where the sentence cannot be about anything else: a named attribute has one value.
fn attribute(sort: Sort) -> Attribute {
    match sort {
        Sort::Birthday => Attribute::Birthday,
        Sort::Name => Attribute::Name,
        _ => Attribute::Custom,
    }
}

fn durability(sort: Sort) -> Durability {
    match sort {
        Sort::Policy | Sort::Todo | Sort::Decision | Sort::Insight | Sort::Project | Sort::Thing => {
            Durability::ProjectLifetime
        }
        _ => Durability::LongLived,
    }
}

fn sensitivity(sort: Sort) -> SensitivityHint {
    match sort {
        Sort::Birthday | Sort::Name | Sort::Contact | Sort::Kin | Sort::Biography => {
            SensitivityHint::Personal
        }
        _ => SensitivityHint::None,
    }
}

/// What changes every answer counts more than what changes one.
fn importance(sort: Sort) -> f64 {
    match sort {
        Sort::Name | Sort::Birthday | Sort::Constraint => 0.8,
        Sort::Policy | Sort::Decision | Sort::Instruction | Sort::Todo => 0.7,
        Sort::Preference | Sort::Kin | Sort::Contact => 0.6,
        _ => 0.5,
    }
}

#[cfg(test)]
mod tests;

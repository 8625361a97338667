//! Finds sentences worth keeping by turns of phrase, in eleven languages, always with the same result. Pure.
//!
//! What is kept is the sentence as it stands: no digit, name or negation can get lost. What is asked, guessed, said of
//! today, quoted, or meant for the machine that reads the text is not kept; in doubt nothing is.

mod cue;
mod date;
mod language;
mod sentence;
mod table;

use std::collections::HashSet;
use std::ops::Range;

use chrono::{DateTime, Utc};

use self::cue::{Sort, Words};
use self::language::{Scores, is_order, near};
use self::sentence::{Sentence, sentences};
use super::{Fact, ItemKind, secret};
use crate::candidate::word::{Attribute, Certainty, Durability, Explicitness, SensitivityHint, Subject};
use crate::memory::Category;
use crate::memory::text::normal_form;

/// A longer sentence is none, but data or text without marks.
const MAX_SENTENCE_BYTES: usize = 800;

/// From one text; what says more is no conversation.
const MAX_FACTS: usize = 256;

/// The facts of a text, in its order, each once.
pub fn facts(text: &str) -> Vec<Fact> {
    let prior = Scores::of(&Words::of(text), text);
    let mut seen = HashSet::new();
    harmless(text)
        .filter_map(|sentence| {
            let words = &text[sentence.span.clone()];
            let sort = if sentence.is_open_task { Sort::Todo } else { sort(words, &prior)? };
            (sort != Sort::Idea).then(|| fact(words, sentence.span, sort))
        })
        .filter(|fact| seen.insert(normal_form(&fact.content)))
        .take(MAX_FACTS)
        .collect()
}

/// The sentences of a text that say something, as bytes of it: no questions, code, quoted mail, other speakers or
/// orders to the machine.
pub(super) fn statements(text: &str) -> Vec<Range<usize>> {
    harmless(text).map(|sentence| sentence.span).filter(|span| is_statement(&text[span.clone()])).collect()
}

/// A sentence in one line.
pub(super) fn content(text: &str) -> String {
    text.split(['\n', '\r']).map(str::trim).collect::<Vec<_>>().join(" ")
}

/// The day that something is due, if the text names one with its year.
pub(super) fn due(text: &str) -> Option<DateTime<Utc>> {
    date::find(text)
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

/// The sentences of paragraphs in which nothing is ordered to the machine.
fn harmless(text: &str) -> impl Iterator<Item = Sentence> {
    let sentences = sentences(text);
    let poisoned: HashSet<usize> = sentences
        .iter()
        .filter(|sentence| is_order(&text[sentence.span.clone()]))
        .map(|sentence| sentence.paragraph)
        .collect();
    sentences.into_iter().filter(move |sentence| !poisoned.contains(&sentence.paragraph))
}

fn is_statement(text: &str) -> bool {
    let is_question = text.trim_end_matches(['"', '”', '»', ')', ' ']).ends_with(['?', '？', ';']);
    !is_question && text.len() <= MAX_SENTENCE_BYTES && !text.chars().any(is_unseen)
}

/// The sort of a sentence that is worth keeping.
fn sort(text: &str, prior: &Scores) -> Option<Sort> {
    if !is_statement(text) {
        return None;
    }
    let said = without_quotes(text);
    let words = Words::of(&said);
    let languages = near(&words, &said, prior);
    let is_dropped = languages.iter().any(|language| language.drops(&words));
    if is_dropped {
        return None;
    }
    let sort = languages.iter().find_map(|language| language.sort(&words, false))?;
    // What was decided today is decided; who is tired today is not so tomorrow.
    let is_lasting = sort <= Sort::Instruction;
    (is_lasting || !languages.iter().any(|language| language.is_passing(&words))).then_some(sort)
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

fn fact(text: &str, span: Range<usize>, sort: Sort) -> Fact {
    let is_secret = !secret::find(text).is_empty();
    Fact {
        content: content(text),
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

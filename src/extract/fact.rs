//! What extraction finds.

use std::ops::Range;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::candidate::word::{Attribute, Certainty, Durability, Explicitness, SensitivityHint, Subject};
use crate::memory::Category;

/// What sort of item it is (D-001).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    /// An idea or an opinion.
    Thought,
    /// Something learned.
    Insight,
    /// Something that is so, is wanted or was decided.
    Fact,
    /// Something to be done.
    Todo,
}

impl ItemKind {
    /// The name on the wire and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Thought => "thought",
            Self::Insight => "insight",
            Self::Fact => "fact",
            Self::Todo => "todo",
        }
    }
}

/// Who found the facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// The rules of this crate.
    Rules,
    /// A language model.
    Llm,
}

impl By {
    /// The name on the wire and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rules => "rules",
            Self::Llm => "llm",
        }
    }
}

/// What was found in a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Extraction {
    /// The facts, in the order of the text.
    pub facts: Vec<Fact>,
    /// Who found them.
    pub by: By,
    /// Why the rules stood in for the model, in words that hold neither text nor secret.
    pub fallback: Option<String>,
}

/// Something worth keeping, as it stands in the text.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    /// The sentence; only line breaks in it became blanks.
    pub content: String,
    /// The bytes of the text it was taken from.
    pub span: Range<usize>,
    /// What sort of item it is.
    pub kind: ItemKind,
    /// What sort of thing it says.
    pub category: Category,
    /// Whom or what it is about.
    pub subject: Subject,
    /// What it says about the subject.
    pub attribute: Attribute,
    /// The attribute's name when it is a custom one and known.
    pub custom_attribute: Option<String>,
    /// How long it is likely to hold.
    pub durability: Durability,
    /// How carefully it is to be treated.
    pub sensitivity: SensitivityHint,
    /// How sure it is that the text says so.
    pub certainty: Certainty,
    /// Whether it was said outright.
    pub explicitness: Explicitness,
    /// 0 to 1.
    pub importance: f64,
    /// When it is due, if the text names the day with its year.
    pub due: Option<DateTime<Utc>>,
}

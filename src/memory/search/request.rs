//! What a search asks, and its answer.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::Namespace;
use crate::error::{Error, Result};
use crate::id::MemoryId;
use crate::memory::filter::SensitivityPolicy;
use crate::memory::rank::Boosts;
use crate::memory::strength::Mode;
use crate::memory::text::is_blank;
use crate::memory::{Category, Record, Scope, Status};
use crate::page::Limit;

/// The longest query, in bytes (XC-14).
pub const MAX_QUERY_BYTES: usize = 4_096;

/// What to search for (C-043, PC-23, XC-12, R-27).
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemorySearchParams")]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// The question, in any language: 1 to 4,096 bytes.
    pub query: String,
    /// Only these scopes.
    #[serde(default)]
    pub scopes: Option<Vec<Scope>>,
    /// Only these categories.
    #[serde(default)]
    pub categories: Option<Vec<Category>>,
    /// Only `active` can be searched (XC-13).
    #[serde(default)]
    pub statuses: Option<Vec<Status>>,
    /// The token's namespace, or nothing.
    #[serde(default)]
    pub namespace: Option<Namespace>,
    /// How many hits a page holds.
    #[serde(default)]
    pub limit: Option<Limit>,
    /// Where the page before ended.
    #[serde(default)]
    pub cursor: Option<String>,
    /// Whether hits carry their provenance.
    #[serde(default)]
    pub include_provenance: bool,
    /// Whether hits name the others that are close to them in meaning.
    #[serde(default)]
    pub include_similar: bool,
    /// Which sensitivities to return, among those the token sees.
    #[serde(default)]
    pub sensitivity_policy: Option<SensitivityPolicy>,
    /// What counts besides relevance.
    #[serde(default)]
    pub ranking: Option<Ranking>,
    /// By words, by meaning, or both.
    #[serde(default)]
    pub mode: SearchMode,
    /// Whether hits tell what found them.
    #[serde(default)]
    pub explain: bool,
    /// The question's vector, made by the client with the active model; then nothing is embedded.
    #[serde(default)]
    pub query_embedding: Option<Vec<f32>>,
}

/// By words, by meaning, or both, as on the wire.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SearchMode {
    /// Both.
    #[default]
    Hybrid,
    /// By words.
    Lexical,
    /// By meaning.
    Semantic,
}

impl From<SearchMode> for Mode {
    fn from(mode: SearchMode) -> Self {
        match mode {
            SearchMode::Hybrid => Self::Hybrid,
            SearchMode::Lexical => Self::Lexical,
            SearchMode::Semantic => Self::Semantic,
        }
    }
}

/// What counts besides relevance, whose own weight is 1 (XC-12).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ranking {
    /// The weight of being of one of `categories`, 0 to 10. The categories then no longer filter.
    #[serde(default)]
    pub category_match_boost: Option<f64>,
    /// A scope whose records come first, by a weight of 0.6.
    #[serde(default)]
    pub primary_scope: Option<Scope>,
    /// After how many seconds recency is one half: 60 to 315,360,000.
    #[serde(default)]
    pub recency_half_life_seconds: Option<f64>,
    /// The weight of importance, 0 to 10.
    #[serde(default)]
    pub importance_weight: Option<f64>,
    /// The weight of confidence, 0 to 10.
    #[serde(default)]
    pub confidence_weight: Option<f64>,
}

/// The weight of being in the primary scope (PC-33).
const PRIMARY_SCOPE_WEIGHT: f64 = 0.6;

impl Ranking {
    /// The weights, if they are within their limits.
    pub fn boosts(&self) -> Result<Boosts> {
        let weight = |field: &'static str, weight: Option<f64>| match weight.unwrap_or(0.0) {
            weight if (0.0..=10.0).contains(&weight) => Ok(weight),
            _ => Err(Error::invalid(format!("ranking.{field}"), "must be from 0 to 10")),
        };
        if self.recency_half_life_seconds.is_some_and(|seconds| !(60.0..=315_360_000.0).contains(&seconds)) {
            return Err(Error::invalid("ranking.recency_half_life_seconds", "must be from 60 to 315360000"));
        }
        if let Some(scope) = &self.primary_scope {
            scope.check("ranking.primary_scope")?;
        }
        Ok(Boosts {
            category_match: weight("category_match_boost", self.category_match_boost)?,
            primary_scope: if self.primary_scope.is_some() { PRIMARY_SCOPE_WEIGHT } else { 0.0 },
            recency_half_life_seconds: self.recency_half_life_seconds,
            importance: weight("importance_weight", self.importance_weight)?,
            confidence: weight("confidence_weight", self.confidence_weight)?,
        })
    }
}

/// What a search found, best first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchReply {
    /// The hits.
    pub hits: Vec<Hit>,
    /// Where the next page starts, if there is one. Pages reach the best hundred or so hits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// What could not be used: `semantic` when there was no vector for the question.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub degraded: Vec<String>,
}

/// One record that a search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hit {
    /// The record.
    pub record: Record,
    /// How good a hit it is, 0 to 1.
    pub score: f64,
    /// What the score comes from.
    pub score_components: ScoreComponents,
    /// The part of a long content that answers best: at most 240 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snippet: Option<String>,
    /// The terms of the question that the record holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matched_terms: Vec<String>,
    /// What found it, if asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explain: Option<Explanation>,
    /// Other hits of this page that are close in meaning (cosine 0.92 or more), if asked for. Never merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub similar: Option<Vec<MemoryId>>,
}

/// What a score comes from, each part 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScoreComponents {
    /// Closeness in meaning.
    pub semantic: f64,
    /// Common words.
    pub lexical: f64,
    /// How lately it changed.
    pub recency: f64,
    /// How much it matters.
    pub importance: f64,
    /// 1 when the question is its key.
    pub key: f64,
}

/// What found a hit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// Its rank by words, from 1, if they found it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lexical_rank: Option<usize>,
    /// Its rank by meaning, from 1, if that found it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub semantic_rank: Option<usize>,
    /// In words.
    pub reason: String,
}

/// A question without U+0000 and within its limits.
pub fn check_query(query: &str) -> Result<Cow<'_, str>> {
    if query.len() > MAX_QUERY_BYTES {
        let rule = format!("is longer than {MAX_QUERY_BYTES} bytes");
        return Err(Error::over_limit("query", rule, MAX_QUERY_BYTES as u64, query.len() as u64));
    }
    if is_blank(&query.replace('\0', "")) {
        return Err(Error::invalid("query", "is empty or blank"));
    }
    Ok(if query.contains('\0') { query.replace('\0', "").into() } else { query.into() })
}

//! Memory as text for a prompt.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::filter::SensitivityPolicy;
use super::search::{Ranking, Search, SearchMode, search};
use super::{Category, Record, Scope};
use crate::app::App;
use crate::auth::{Action, Area, Caller, Namespace};
use crate::error::{Error, Result};
use crate::id::MemoryId;
use crate::page::Limit;

/// The most tokens that can be asked for.
pub const MAX_TOKENS: u32 = 32_768;

/// How many tokens the text may have unless somebody says.
pub const DEFAULT_TOKENS: u32 = 1_024;

/// What a prompt needs to know, and how much room there is.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextRequest {
    /// The question, as in a search.
    pub query: String,
    /// How many tokens the text may have: 1 to 32,768; 1,024 unless given.
    #[serde(default)]
    pub max_tokens: Option<u32>,
    /// How many lines the text has, at most.
    #[serde(default)]
    pub limit: Option<Limit>,
    /// Only these scopes.
    #[serde(default)]
    pub scopes: Option<Vec<Scope>>,
    /// Only these categories.
    #[serde(default)]
    pub categories: Option<Vec<Category>>,
    /// The token's namespace, or nothing.
    #[serde(default)]
    pub namespace: Option<Namespace>,
    /// Which sensitivities to use, among those the token sees.
    #[serde(default)]
    pub sensitivity_policy: Option<SensitivityPolicy>,
    /// What counts besides relevance.
    #[serde(default)]
    pub ranking: Option<Ranking>,
    /// By words, by meaning, or both.
    #[serde(default)]
    pub mode: SearchMode,
    /// The question's vector.
    #[serde(default)]
    pub query_embedding: Option<Vec<f32>>,
}

/// Text for a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContextReply {
    /// One line a record, best first, each with the record's id.
    pub text: String,
    /// About how many tokens the text has: a token for four letters, or for one character of a script without blanks.
    pub tokens: usize,
    /// The records in the text.
    pub items: Vec<ContextItem>,
    /// What could not be used, as in a search.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub degraded: Vec<String>,
}

/// A record in the text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContextItem {
    /// Its id.
    pub id: MemoryId,
    /// How good a hit it is, 0 to 1.
    pub score: f64,
}

/// Searches, and writes the best hits as text within the room there is.
pub async fn context(app: &App, caller: &Caller, request: ContextRequest) -> Result<ContextReply> {
    caller.permit(Action::Read, Area::Durable)?;
    let room = check_room(request.max_tokens)?;
    let found = search(app, caller, &request.into()).await?;
    let mut reply =
        ContextReply { text: String::new(), tokens: 0, items: Vec::new(), degraded: found.degraded };
    for hit in found.hits {
        let line = line(&hit.record);
        let cost = tokens(&line);
        // A long record leaves its place to shorter ones behind it.
        if reply.tokens + cost > room {
            continue;
        }
        reply.text.push_str(&line);
        reply.tokens += cost;
        reply.items.push(ContextItem { id: hit.record.id, score: hit.score });
    }
    Ok(reply)
}

impl From<ContextRequest> for Search {
    fn from(request: ContextRequest) -> Self {
        Self {
            query: request.query,
            limit: request.limit,
            scopes: request.scopes,
            categories: request.categories,
            namespace: request.namespace,
            sensitivity_policy: request.sensitivity_policy,
            ranking: request.ranking,
            mode: request.mode,
            query_embedding: request.query_embedding,
            ..Self::default()
        }
    }
}

/// How many tokens a text may have.
pub fn check_room(max_tokens: Option<u32>) -> Result<usize> {
    let room = max_tokens.unwrap_or(DEFAULT_TOKENS);
    if !(1..=MAX_TOKENS).contains(&room) {
        let rule = format!("must be from 1 to {MAX_TOKENS}");
        return Err(Error::over_limit("max_tokens", rule, MAX_TOKENS.into(), room.into()));
    }
    Ok(room as usize)
}

fn line(record: &Record) -> String {
    format!("- {} ({})\n", said(record), record.id)
}

/// What a record says, with its day and who said it.
pub fn said(record: &Record) -> String {
    let day = record.context.observed_at.unwrap_or(record.created_at).0.format("%Y-%m-%d");
    let speaker = record.context.speaker.as_deref();
    let speaker = speaker.map(|speaker| format!("{}: ", one_line(speaker))).unwrap_or_default();
    format!("[{day}] {speaker}{}", one_line(&record.content))
}

/// A text is one line whatever it holds, so that nothing of a client's can pass for a line of its own.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// About how many tokens a text has.
pub fn tokens(text: &str) -> usize {
    let (narrow, wide) = text.chars().fold((0_usize, 0_usize), |(narrow, wide), c| {
        if c < '\u{2E80}' { (narrow + 1, wide) } else { (narrow, wide + 1) }
    });
    narrow.div_ceil(4) + wide
}

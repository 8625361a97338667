//! A note on its way in: what sort it is, what it says, and as what record.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Map, Value, json};

use super::KIND;
use super::split::Piece;
use crate::extract::secret::{self, SecretKind};
use crate::extract::{ItemKind, rules};
use crate::memory::remember::Remember;
use crate::memory::{Category, Context, Provenance, Scope, Sensitivity, SourceContextKind, SourceKind};
use crate::source::Source;

/// How much of the headings above a note comes along with it, in characters.
const MAX_UNDER_CHARS: usize = 500;

/// How far a note's date may lie ahead to be when something was seen: clients are in other time zones.
const AHEAD: TimeDelta = TimeDelta::days(1);

/// A note on its way in.
pub(super) struct Note {
    piece: Piece,
    kind: ItemKind,
    category: Category,
    pub(super) secrets: Vec<&'static str>,
}

impl Note {
    pub(super) fn of(piece: Piece) -> Self {
        let (kind, category) = rules::classify(piece.undated());
        let (kind, category) = match piece.done {
            Some(_) => (ItemKind::Todo, Category::Todo),
            None => (kind, category),
        };
        let mut secrets = secret::find(&piece.text);
        for (name, value) in &piece.fields {
            secrets.extend(secret::find(&format!("{name}: {}", value.as_str().unwrap_or_default())));
        }
        let mut kinds: Vec<&'static str> =
            secrets.iter().map(|secret| SecretKind::as_str(secret.kind)).collect();
        kinds.sort_unstable();
        kinds.dedup();
        Self { piece, kind, category, secrets: kinds }
    }

    /// What it says, and what tells it from others with the same text: that it is done, and the other columns of its row.
    fn content(&self) -> String {
        let Piece { text, done, fields, .. } = &self.piece;
        let mark = if *done == Some(true) { "[x] " } else { "" };
        let columns: Vec<String> = fields
            .iter()
            .filter(|(name, _)| !is_number_of_row(name))
            .map(|(name, value)| say(name, value))
            .collect();
        match columns.as_slice() {
            [] => format!("{mark}{text}"),
            columns => format!("{mark}{text} ({})", columns.join("; ")),
        }
    }

    pub(super) fn remember(&self, scope: &Scope, source: &Source, now: DateTime<Utc>) -> Remember {
        let seen = self.piece.dated.filter(|at| *at <= now + AHEAD);
        Remember {
            scope: scope.clone(),
            category: self.category,
            namespace: None,
            key: None,
            content: self.content(),
            sensitivity: (!self.secrets.is_empty()).then_some(Sensitivity::SecretLike),
            confidence: None,
            importance: None,
            provenance: Some(Provenance {
                source_item_id: Some(source.id.to_string()),
                source_thread_id: source.client.conversation_id.clone(),
                source_kind: Some(SourceKind::ExplicitUserRequest),
                ..Provenance::default()
            }),
            source_context_kind: Some(SourceContextKind::DirectUserConversation),
            idempotency_key: None,
            supersedes: None,
            metadata: Some(self.metadata(source)),
            context: seen.map(|at| Context { observed_at: Some(at.into()), ..Context::default() }),
            expires_at: None,
            embedding: None,
            embedding_model: None,
        }
    }

    fn metadata(&self, source: &Source) -> Map<String, Value> {
        let mut metadata = Map::new();
        metadata.insert(KIND.to_owned(), json!(self.kind));
        if !source.client.is_empty() {
            metadata.insert("client".to_owned(), json!(source.client));
        }
        if let Some(under) = &self.piece.under {
            let under: String = under.chars().take(MAX_UNDER_CHARS).collect();
            metadata.insert("under".to_owned(), json!(under));
        }
        if let Some(done) = self.piece.done {
            metadata.insert("done".to_owned(), json!(done));
        }
        if !self.piece.fields.is_empty() {
            metadata.insert("fields".to_owned(), json!(self.piece.fields));
        }
        metadata
    }
}

/// Whether a column only numbers rows, which says nothing.
fn is_number_of_row(name: &str) -> bool {
    let name = name.to_lowercase();
    ["id", "uuid", "hash", "score", "confidence", "embedding"].contains(&name.as_str())
        || name.ends_with("_id")
}

fn say(name: &str, value: &Value) -> String {
    value.as_str().map_or_else(|| format!("{name}: {value}"), |text| format!("{name}: {text}"))
}

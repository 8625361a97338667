//! Saving what a user says or pastes.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::split::{Piece, split};
use super::{KIND, kind_of};
use crate::app::App;
use crate::auth::{Action, Area, Caller, Permit};
use crate::db::with_retry;
use crate::error::{Error, Result};
use crate::extract::secret::{self, SecretKind};
use crate::extract::{ItemKind, rules};
use crate::id::{MemoryId, SourceId};
use crate::memory::accept::IncomingBatch;
use crate::memory::draft::check_content;
use crate::memory::remember::{Remember, Remembered};
use crate::memory::write::Changes;
use crate::memory::{Context, Provenance, Scope, Sensitivity, SourceContextKind, SourceKind};
use crate::source::{self, Client, Source, SourceTextKind};

/// How many notes one text may hold (XD-05).
pub const MAX_ITEMS: usize = 200;

/// How much of the headings above a note comes along with it, in characters.
const MAX_UNDER_CHARS: usize = 500;

/// How far a note's date may lie ahead to be when something was seen: clients are in other time zones.
const AHEAD: TimeDelta = TimeDelta::days(1);

/// What to save (D-005 to D-009). Other members are ignored (XD-19).
#[derive(Debug, Clone, Deserialize)]
pub struct Save {
    /// A thought, or notes pasted from somewhere: 1 to 65,536 bytes.
    pub text: String,
    /// In which conversation.
    #[serde(default)]
    pub client: Option<Client>,
}

/// What was saved (XD-05).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Saved {
    /// Always true.
    pub ok: bool,
    /// The notes, in the order of the text.
    pub saved: Vec<SavedItem>,
    /// How many there are.
    pub count: usize,
    /// What was not saved.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Refused>,
}

/// One note.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SavedItem {
    /// Its id.
    pub id: MemoryId,
    /// What it says.
    pub text: String,
    /// What sort of note it is.
    #[serde(rename = "type")]
    pub kind: ItemKind,
    /// True if it was there already.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}

/// A note that the token may not write. What it says is not repeated.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Refused {
    /// Why.
    pub reason: String,
    /// Which sorts of secrets it holds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<&'static str>,
}

/// A note on its way in.
struct Note {
    piece: Piece,
    kind: ItemKind,
    category: crate::memory::Category,
    secrets: Vec<&'static str>,
}

/// Saves each note of a text, and the text itself before them.
///
/// A note that is there already comes back with its old id. A note with a secret is kept as it is, marked
/// `secret_like`; a token that does not reach such records saves the others.
pub async fn save(app: &App, caller: &Caller, save: Save) -> Result<Saved> {
    let permit = &caller.permit(Action::Write, Area::Durable)?;
    let text = check_content("text", &save.text)?;
    let client = save.client.unwrap_or_default().clean()?;
    let pieces = split(&text);
    if pieces.len() > MAX_ITEMS {
        let rule = format!("holds more than {MAX_ITEMS} notes: save it in parts");
        return Err(Error::over_limit("text", rule, MAX_ITEMS as u64, pieces.len() as u64));
    }
    let (notes, refused) = sift(permit, pieces.into_iter().map(Note::of).collect());
    if notes.is_empty() {
        return Err(Error::Forbidden(
            refused.into_iter().next().map_or_else(String::new, |one| one.reason).into(),
        ));
    }
    let now = app.clock.now();
    let source = Source {
        id: SourceId::new(),
        kind: SourceTextKind::Note,
        // What may not be written is not written here either.
        content: Some(if refused.is_empty() { text } else { secret::mask(&text).0 }),
        description: None,
        client,
        created_at: now,
    };
    let scope = source::owner(permit);
    let records = notes.iter().map(|note| note.remember(&scope, &source, now)).collect();
    let mut batch = IncomingBatch::check(app, permit, records)?;
    batch.embed(app, permit).await?;
    let results = with_retry(|| store(app, permit, &source, &batch, now)).await?;
    answer(results, refused)
}

/// Stores the text and its notes in one transaction.
async fn store(
    app: &App,
    permit: &Permit,
    source: &Source,
    batch: &IncomingBatch,
    now: DateTime<Utc>,
) -> Result<Vec<Result<Remembered>>> {
    let mut tx = app.db.begin(permit).await?;
    let mut changes = Changes::new(permit, now);
    source::keep(&mut tx, source).await?;
    let results = batch.accept(&mut tx, permit, &mut changes).await?;
    let ids: Vec<MemoryId> = results.iter().flatten().map(|remembered| remembered.record.id).collect();
    source::link(&mut tx, source.id, &ids).await?;
    changes.write(&mut tx).await?;
    tx.commit().await?;
    Ok(results)
}

fn answer(results: Vec<Result<Remembered>>, mut refused: Vec<Refused>) -> Result<Saved> {
    let mut saved = Vec::with_capacity(results.len());
    let mut first = None;
    for result in results {
        match result {
            Ok(Remembered { record, created, .. }) => saved.push(SavedItem {
                id: record.id,
                kind: kind_of(&record),
                text: record.content,
                duplicate: !created,
            }),
            Err(error) => {
                refused.push(Refused { reason: error.to_string(), kinds: Vec::new() });
                first.get_or_insert(error);
            }
        }
    }
    match first {
        Some(error) if saved.is_empty() => Err(error),
        _ => Ok(Saved { ok: true, count: saved.len(), saved, refused }),
    }
}

/// Takes out the notes with secrets, if the token may not write such.
fn sift(permit: &Permit, notes: Vec<Note>) -> (Vec<Note>, Vec<Refused>) {
    if permit.sensitivity().contains(&Sensitivity::SecretLike) {
        return (notes, Vec::new());
    }
    let (open, secret): (Vec<Note>, Vec<Note>) = notes.into_iter().partition(|note| note.secrets.is_empty());
    let refused = secret.into_iter().map(|note| Refused {
        reason: format!(
            "a note holds what looks like a secret ({}), and this token does not reach secret_like records",
            note.secrets.join(", ")
        ),
        kinds: note.secrets,
    });
    (open, refused.collect())
}

impl Note {
    fn of(piece: Piece) -> Self {
        let (kind, category) = rules::classify(piece.undated());
        let (kind, category) = match piece.done {
            Some(_) => (ItemKind::Todo, crate::memory::Category::Todo),
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

    fn remember(&self, scope: &Scope, source: &Source, now: DateTime<Utc>) -> Remember {
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

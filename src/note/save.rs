//! Saving what a user says or pastes.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::item::Note;
use super::kind_of;
use super::split::split;
use crate::app::App;
use crate::auth::{Action, Area, Caller, Permit};
use crate::db::with_retry;
use crate::error::{Error, Result};
use crate::extract::{ItemKind, secret};
use crate::id::{MemoryId, SourceId};
use crate::memory::Sensitivity;
use crate::memory::accept::IncomingBatch;
use crate::memory::draft::check_content;
use crate::memory::remember::Remembered;
use crate::memory::write::Changes;
use crate::source::{self, Client, Source, SourceTextKind};

/// How many notes one text may hold (XD-05).
pub const MAX_ITEMS: usize = 200;

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

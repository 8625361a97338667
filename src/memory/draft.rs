//! A record on its way in: checked, cleaned, and with the terms it will be found by.

use serde_json::{Map, Value};

use super::key::Identity;
use super::remember::Remember;
use super::terms::{Terms, terms};
use super::text::{holds_nul, is_blank};
use super::{Context, Provenance, Record, Status, check_identifier};
use crate::app::App;
use crate::auth::{Namespace, Permit};
use crate::embed::Embedding;
use crate::error::{Error, Result};
use crate::id::MemoryId;

/// The longest content, in bytes after trimming (XC-14).
pub const MAX_CONTENT_BYTES: usize = 65_536;
/// The longest key of a record, in bytes.
pub const MAX_KEY_BYTES: usize = 256;
/// The longest metadata, in bytes of compact JSON.
pub const MAX_METADATA_BYTES: usize = 16 * 1024;
/// The longest thread id, speaker or source id, in bytes.
const MAX_NAME_BYTES: usize = 256;

/// A record on its way in.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The record as it will be if it is new.
    pub record: Record,
    /// What the client sent, which tells what it left out.
    pub sent: Remember,
    /// The record whose place it takes.
    pub supersedes: Option<MemoryId>,
    /// What makes it the same record when it is sent again.
    pub identity: Identity,
    /// The words it will be found by.
    pub terms: Terms,
    /// Its vector: the client's, or the embedder's once it has been asked.
    pub embedding: Option<Embedding>,
    /// Whether the embedder read only the beginning.
    pub truncated: bool,
}

impl Draft {
    /// Checks what a client sent against every rule, and against what its token may write.
    pub fn check(app: &App, permit: &Permit, mut new: Remember) -> Result<Self> {
        let now = app.clock.now();
        require_namespace(permit, new.namespace.as_ref())?;
        new.scope.check("scope")?;
        new.content = check_content("content", &new.content)?;
        check_key(new.key.as_deref())?;
        check_fraction("confidence", new.confidence)?;
        check_fraction("importance", new.importance)?;
        check_metadata(new.metadata.as_ref())?;
        check_context(new.context.as_mut())?;
        check_provenance(new.provenance.as_ref())?;
        if new.expires_at.is_some_and(|at| at.0 <= now) {
            return Err(Error::invalid("expires_at", "must be in the future"));
        }
        let supersedes = new.supersedes.as_deref().map(|id| parse_reference("supersedes", id)).transpose()?;
        let embedding = check_embedding(app, &new)?;
        let record = new_record(permit, &new, now);
        permit.require(&record.scope, record.sensitivity)?;
        let identity = identity(&record);
        let terms = search_terms(&record);
        Ok(Self { record, sent: new, supersedes, identity, terms, embedding, truncated: false })
    }
}

fn new_record(permit: &Permit, new: &Remember, now: chrono::DateTime<chrono::Utc>) -> Record {
    let mut context = new.context.clone().unwrap_or_default();
    context.observed_at.get_or_insert(now.into());
    let created_by = Some(permit.actor().clone());
    Record {
        id: MemoryId::new(),
        scope: new.scope.clone(),
        namespace: permit.namespace().clone(),
        category: new.category,
        key: new.key.clone(),
        content: new.content.clone(),
        status: Status::Active,
        confidence: new.confidence.unwrap_or(1.0),
        importance: new.importance.unwrap_or(0.5),
        sensitivity: new.sensitivity.unwrap_or(super::Sensitivity::Normal),
        provenance: Some(Provenance { created_by, ..new.provenance.clone().unwrap_or_default() }),
        source_context_kind: new.source_context_kind,
        context,
        version: 1,
        created_at: now.into(),
        updated_at: now.into(),
        expires_at: new.expires_at,
        last_accessed_at: None,
        access_count: 0,
        superseded_by: None,
        deleted_at: None,
        delete_reason: None,
        metadata: new.metadata.clone(),
    }
}

/// What makes a record the same one when it is sent again.
pub fn identity(record: &Record) -> Identity {
    Identity::of(&record.scope, record.category, record.key.as_deref(), &record.context, &record.content)
}

/// The words by which a record is found. Its key's are among them; speaker and day are when it stands in a
/// conversation, or when the client said when it was seen.
pub fn search_terms(record: &Record) -> Terms {
    let Context { thread_id, speaker, observed_at, .. } = &record.context;
    let is_dated = thread_id.is_some() || speaker.is_some() || *observed_at != Some(record.created_at);
    let day = observed_at.filter(|_| is_dated).map(|at| at.0);
    match &record.key {
        Some(key) => terms(&format!("{key}\n{}", record.content), speaker.as_deref(), day),
        None => terms(&record.content, speaker.as_deref(), day),
    }
}

/// A namespace in a request is the token's, or there is none.
pub fn require_namespace(permit: &Permit, namespace: Option<&Namespace>) -> Result<()> {
    match namespace {
        Some(name) if name != permit.namespace() => {
            Err(Error::Forbidden("the capability does not reach this namespace".into()))
        }
        _ => Ok(()),
    }
}

/// The content as it is stored: without U+0000 and without white space around it (R-04, XC-14).
pub fn check_content(field: &'static str, content: &str) -> Result<String> {
    let content = content.replace('\0', "");
    let content = content.trim();
    if is_blank(content) {
        return Err(Error::invalid(field, "is empty or blank"));
    }
    if content.len() > MAX_CONTENT_BYTES {
        return Err(Error::too_large(field, MAX_CONTENT_BYTES as u64, content.len() as u64));
    }
    Ok(content.to_owned())
}

/// A key of 1 to 256 bytes without control characters.
pub fn check_key(key: Option<&str>) -> Result<()> {
    key.map_or(Ok(()), |key| check_identifier(key, MAX_KEY_BYTES)).map_err(|error| error.inside("key"))
}

/// A number from 0 to 1.
pub fn check_fraction(field: &'static str, number: Option<f64>) -> Result<()> {
    match number {
        Some(number) if !(0.0..=1.0).contains(&number) => Err(Error::invalid(field, "must be from 0 to 1")),
        _ => Ok(()),
    }
}

/// An object of at most 16 KiB, without U+0000, which Postgres cannot hold.
pub fn check_metadata(metadata: Option<&Map<String, Value>>) -> Result<()> {
    let Some(metadata) = metadata else { return Ok(()) };
    let json = serde_json::to_string(metadata).map_err(Error::internal)?;
    if json.len() > MAX_METADATA_BYTES {
        let rule = format!("is larger than {MAX_METADATA_BYTES} bytes");
        return Err(Error::over_limit("metadata", rule, MAX_METADATA_BYTES as u64, json.len() as u64));
    }
    if json.contains("\\u0000") && holds_nul(metadata) {
        return Err(Error::invalid("metadata", "holds U+0000"));
    }
    Ok(())
}

/// Names of at most 256 bytes; a speaker's is free text and cleaned.
pub fn check_context(context: Option<&mut Context>) -> Result<()> {
    let Some(context) = context else { return Ok(()) };
    check_name("thread_id", context.thread_id.as_deref(), MAX_NAME_BYTES)
        .map_err(|error| error.inside("context"))?;
    context.speaker = context.speaker.take().map(|speaker| speaker.replace('\0', "").trim().to_owned());
    let length = context.speaker.as_ref().map_or(0, String::len);
    if length > MAX_NAME_BYTES {
        let rule = format!("is longer than {MAX_NAME_BYTES} bytes");
        return Err(Error::over_limit("context.speaker", rule, MAX_NAME_BYTES as u64, length as u64));
    }
    context.speaker.take_if(|speaker| is_blank(speaker));
    Ok(())
}

fn check_provenance(provenance: Option<&Provenance>) -> Result<()> {
    let Some(provenance) = provenance else { return Ok(()) };
    let names = [
        ("source_thread_id", &provenance.source_thread_id),
        ("source_turn_id", &provenance.source_turn_id),
        ("source_item_id", &provenance.source_item_id),
    ];
    for (field, name) in names {
        check_name(field, name.as_deref(), MAX_NAME_BYTES).map_err(|error| error.inside("provenance"))?;
    }
    Ok(())
}

/// A name of at most so many bytes, without control characters.
pub fn check_name(field: &'static str, name: Option<&str>, max_bytes: usize) -> Result<()> {
    name.map_or(Ok(()), |name| check_identifier(name, max_bytes)).map_err(|error| error.inside(field))
}

/// A free text as it is stored: without U+0000, not blank, and of at most so many bytes.
pub fn clean(field: &'static str, text: &str, max_bytes: usize) -> Result<String> {
    let text = text.replace('\0', "");
    if is_blank(&text) {
        return Err(Error::invalid(field, "is empty or blank"));
    }
    if text.len() > max_bytes {
        let rule = format!("is longer than {max_bytes} bytes");
        return Err(Error::over_limit(field, rule, max_bytes as u64, text.len() as u64));
    }
    Ok(text)
}

/// A record that a request names; the id of something else names a record that does not exist.
pub fn parse_reference(field: &'static str, text: &str) -> Result<MemoryId> {
    match text.parse() {
        Ok(id) => Ok(id),
        Err(crate::id::ParseIdError::OtherKind) => Err(Error::NotFound("memory")),
        Err(error) => Err(Error::invalid(field, error.to_string())),
    }
}

fn check_embedding(app: &App, new: &Remember) -> Result<Option<Embedding>> {
    let Some(values) = &new.embedding else {
        if new.embedding_model.is_some() {
            return Err(Error::invalid("embedding_model", "is given without an embedding"));
        }
        return Ok(None);
    };
    let model =
        app.embedder.model().ok_or_else(|| Error::invalid("embedding", "there is no active model"))?;
    if new.embedding_model.as_deref() != Some(model.name.as_str()) {
        return Err(Error::invalid("embedding_model", format!("must be the active model, {}", model.name)));
    }
    check_vector("embedding", values, model.dimensions).map(Some)
}

/// A vector of the model's length, finite and not all zero.
pub fn check_vector(field: &'static str, values: &[f32], dimensions: usize) -> Result<Embedding> {
    if values.len() != dimensions {
        let rule = format!("must hold {dimensions} numbers");
        return Err(Error::over_limit(field, rule, dimensions as u64, values.len() as u64));
    }
    Embedding::new(values.to_vec()).ok_or_else(|| Error::invalid(field, "must be finite and not all zero"))
}

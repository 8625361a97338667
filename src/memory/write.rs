//! How records are made and changed: one way for all operations that do.
//!
//! An operation works in one transaction: it changes records here, then writes what it changed with
//! [`Changes::write`], which is history, outbox, audit and counters together.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use super::draft::{self, Draft, search_terms};
use super::key::Identity;
use super::remember::Remembered;
use super::retire::{self, End};
use super::terms::Terms;
use super::text::normal_form;
use super::turn::dense_text;
use super::{ChangeKind, Context, Record, Status, store};
use crate::app::App;
use crate::auth::{Action, Permit};
use crate::db::TenantTx;
use crate::embed::{Embedded, Embedding};
use crate::error::{Error, Result};
use crate::id::MemoryId;

/// How often an insert is tried again when the record it met is gone by the time it is looked at.
const INSERT_ATTEMPTS: usize = 3;

/// What was changed in a transaction, to be written before it commits.
#[derive(Debug)]
pub struct Changes {
    /// Who changes.
    pub actor: crate::auth::Actor,
    /// The key or token behind the request, for the audit log.
    pub principal: String,
    /// When.
    pub now: DateTime<Utc>,
    /// Each changed record, as it is now, and what was done to it.
    pub records: Vec<(Record, ChangeKind)>,
    /// How many more records are active.
    pub active_records: i64,
    /// How many more terms the active records have.
    pub active_terms: i64,
}

impl Changes {
    /// Nothing yet.
    pub fn new(permit: &Permit, now: DateTime<Utc>) -> Self {
        Self {
            actor: permit.actor().clone(),
            principal: permit.key().to_string(),
            now,
            records: Vec::new(),
            active_records: 0,
            active_terms: 0,
        }
    }

    /// Notes what was done to a record.
    pub fn note(&mut self, record: &Record, kind: ChangeKind) {
        self.records.push((record.clone(), kind));
    }

    /// Counts records with these terms that became active, or with -1 one that is no longer.
    pub fn count(&mut self, records: i64, terms: &Terms) {
        self.active_records += records;
        self.active_terms += records * i64::from(terms.length);
    }

    /// Writes history, outbox, audit and counters. Called once, right before the transaction commits.
    pub async fn write(self, tx: &mut TenantTx) -> Result<()> {
        if self.records.is_empty() { Ok(()) } else { store::write_changes(tx, &self).await }
    }
}

/// Gives each draft its vector, all in one call to the embedder. No connection is held meanwhile.
pub async fn embed<'a>(
    app: &App,
    permit: &Permit,
    drafts: impl IntoIterator<Item = &'a mut Draft>,
) -> Result<()> {
    let mut lacking: Vec<&mut Draft> = drafts.into_iter().filter(|draft| draft.embedding.is_none()).collect();
    if lacking.is_empty() || app.embedder.model().is_none() {
        return Ok(());
    }
    let texts: Vec<String> = lacking.iter().map(|draft| text(&draft.record)).collect();
    let embedded = app.embedder.embed_texts(permit.tenant(), &texts).await?;
    for (draft, embedded) in lacking.iter_mut().zip(embedded) {
        draft.embedding = embedded.embedding;
        draft.truncated = embedded.truncated;
    }
    Ok(())
}

/// The vector of a record that is about to change.
pub async fn embed_record(app: &App, permit: &Permit, record: &Record) -> Result<Embedded> {
    if app.embedder.model().is_none() {
        return Ok(Embedded { embedding: None, truncated: false });
    }
    let mut embedded = app.embedder.embed_texts(permit.tenant(), &[text(record)]).await?;
    embedded.pop().ok_or_else(|| Error::internal("the embedder gave nothing for a text"))
}

/// The text of a record as it is embedded.
pub fn text(record: &Record) -> String {
    dense_text(&record.content, record.context.speaker.as_deref()).into_owned()
}

/// Stores drafts in order; each gets its own result. An error of the whole is a fault of the database.
pub async fn remember(
    tx: &mut TenantTx,
    permit: &Permit,
    changes: &mut Changes,
    drafts: &[Draft],
) -> Result<Vec<Result<Remembered>>> {
    let mut results = Vec::with_capacity(drafts.len());
    let mut met = lock_all(tx, drafts).await?;
    // Neighbours that supersede nothing go into one statement; one that does waits for those before it.
    for run in drafts.chunk_by(|one, next| one.supersedes.is_none() && next.supersedes.is_none()) {
        if let [draft @ Draft { supersedes: Some(old), .. }] = run {
            results.push(settled(supersede(tx, permit, changes, draft, *old).await)?);
            continue;
        }
        let inserted = store::insert(tx, run).await?;
        for draft in run {
            let result = if inserted.contains(&draft.record.id) {
                Ok(created(changes, draft))
            } else {
                // Once only: what the first of two equal drafts does to it, the second looks up.
                match met.remove(&draft.identity).filter(|there| !is_expired(there, changes.now)) {
                    Some(there) => merge(tx, permit, changes, draft, there).await,
                    None => meet(tx, permit, changes, draft).await,
                }
            };
            results.push(settled(result)?);
        }
    }
    Ok(results)
}

/// Locks what the drafts of a batch will meet, and gives what can be met at once.
async fn lock_all(tx: &mut TenantTx, drafts: &[Draft]) -> Result<HashMap<Identity, Record>> {
    if drafts.len() < 2 {
        return Ok(HashMap::new());
    }
    // Batches that share records take them in one order, and so do not wait for each other in a circle.
    let identities: Vec<Identity> = drafts.iter().map(|draft| draft.identity).collect();
    let superseded: Vec<MemoryId> = drafts.iter().filter_map(|draft| draft.supersedes).collect();
    let locked = store::lock_in_order(tx, &identities, &superseded).await?;
    // One that supersedes takes records away that others would meet.
    let known = if superseded.is_empty() { locked } else { Vec::new() };
    Ok(known.into_iter().map(|record| (draft::identity(&record), record)).collect())
}

fn is_refusal(error: &Error) -> bool {
    !matches!(error, Error::Unavailable { .. } | Error::Internal(_))
}

/// Tells the fault of one item, which the others survive, from a fault of the database, which they do not.
fn settled<T>(result: Result<T>) -> Result<Result<T>> {
    match result {
        Err(error) if !is_refusal(&error) => Err(error),
        result => Ok(result),
    }
}

fn created(changes: &mut Changes, draft: &Draft) -> Remembered {
    changes.note(&draft.record, ChangeKind::Created);
    changes.count(1, &draft.terms);
    Remembered { created: true, ..found(draft, draft.record.clone()) }
}

fn found(draft: &Draft, record: Record) -> Remembered {
    Remembered { record, created: false, superseded_memory_id: None, embedding_truncated: draft.truncated }
}

/// An active record with the draft's identity is there already.
async fn meet(
    tx: &mut TenantTx,
    permit: &Permit,
    changes: &mut Changes,
    draft: &Draft,
) -> Result<Remembered> {
    for _ in 0..INSERT_ATTEMPTS {
        match store::lock_by_identity(tx, draft.identity).await? {
            Some(there) if is_expired(&there, changes.now) => retire::expire(tx, changes, there).await?,
            Some(there) => return merge(tx, permit, changes, draft, there).await,
            None => {}
        }
        if store::insert(tx, std::slice::from_ref(draft)).await?.contains(&draft.record.id) {
            return Ok(created(changes, draft));
        }
    }
    Err(Error::collision())
}

fn is_expired(record: &Record, now: DateTime<Utc>) -> bool {
    record.expires_at.is_some_and(|at| at.0 <= now)
}

async fn merge(
    tx: &mut TenantTx,
    permit: &Permit,
    changes: &mut Changes,
    draft: &Draft,
    there: Record,
) -> Result<Remembered> {
    permit.require(&there.scope, there.sensitivity)?;
    let is_keyed = there.key.is_some();
    if is_keyed {
        let updated = overlay(&there, draft);
        if updated == there {
            return Ok(found(draft, there));
        }
        let updated = change(tx, changes, there, updated, draft.embedding.as_ref()).await?;
        return Ok(found(draft, updated));
    }
    if normal_form(&there.content) == normal_form(&draft.record.content) {
        return Ok(found(draft, there));
    }
    Err(Error::Conflict(
        format!("another text stands at this place of the conversation: {}", there.id).into(),
    ))
}

/// The record that is there, with what the client sent in its place. What was left out stays.
fn overlay(there: &Record, draft: &Draft) -> Record {
    let (new, sent) = (&draft.record, &draft.sent);
    let mut updated = there.clone();
    updated.content.clone_from(&new.content);
    updated.category = new.category;
    updated.sensitivity = sent.sensitivity.unwrap_or(there.sensitivity);
    updated.confidence = sent.confidence.unwrap_or(there.confidence);
    updated.importance = sent.importance.unwrap_or(there.importance);
    updated.source_context_kind = sent.source_context_kind.or(there.source_context_kind);
    updated.expires_at = sent.expires_at.or(there.expires_at);
    if sent.metadata.is_some() {
        updated.metadata.clone_from(&sent.metadata);
    }
    if sent.context.is_some() {
        // When it was seen stays, unless the client says otherwise: the same record sent again is no change.
        let observed_at = sent.context.as_ref().and_then(|context| context.observed_at);
        updated.context =
            Context { observed_at: observed_at.or(there.context.observed_at), ..new.context.clone() };
    }
    if sent.provenance.is_some() {
        updated.provenance.clone_from(&new.provenance);
    }
    updated
}

/// Puts a changed record in the place of what it was: version, search entries and history follow.
///
/// A change of text without a vector leaves the record to be found by its words. Fails with `Conflict` when another
/// active record has the identity it would get.
pub async fn change(
    tx: &mut TenantTx,
    changes: &mut Changes,
    before: Record,
    mut after: Record,
    embedding: Option<&Embedding>,
) -> Result<Record> {
    after.version = before.version + 1;
    after.updated_at = changes.now.into();
    let identity = draft::identity(&after);
    if identity != draft::identity(&before) {
        make_room(tx, changes, identity).await?;
    }
    store::update(tx, &after, identity).await?;
    if needs_vector(&before, &after) {
        unindex(tx, changes, &before).await?;
        index(tx, changes, &after, embedding).await?;
    } else if needs_terms(&before, &after) {
        let terms = search_terms(&before);
        changes.count(-1, &terms);
        store::remove_terms(tx, &[(before.id, terms)]).await?;
        index(tx, changes, &after, None).await?;
    }
    changes.note(&after, ChangeKind::Updated);
    Ok(after)
}

/// Whether the vector of a record depends on what changed.
pub fn needs_vector(before: &Record, after: &Record) -> bool {
    text(before) != text(after)
}

/// Whether the terms of a record depend on what changed.
fn needs_terms(before: &Record, after: &Record) -> bool {
    before.content != after.content || before.context != after.context || before.key != after.key
}

async fn supersede(
    tx: &mut TenantTx,
    permit: &Permit,
    changes: &mut Changes,
    draft: &Draft,
    old: MemoryId,
) -> Result<Remembered> {
    let old = lock(tx, permit, old).await?;
    if old.status != Status::Active || is_expired(&old, changes.now) {
        return Err(Error::Conflict("only an active record can be superseded".into()));
    }
    let heir = store::lock_by_identity(tx, draft.identity).await?;
    let heir = heir.filter(|heir| heir.id != old.id && !is_expired(heir, changes.now));
    // Whatever can be refused is refused before anything changes.
    if let Some(heir) = &heir {
        permit.require(&heir.scope, heir.sensitivity)?;
        let same_text = normal_form(&heir.content) == normal_form(&draft.record.content);
        if heir.key.is_none() && !same_text {
            return Err(Error::Conflict(format!("another text stands at this place: {}", heir.id).into()));
        }
    }
    let heir_id = heir.map_or(draft.record.id, |heir| heir.id);
    let old_id = old.id;
    retire::retire(tx, changes, vec![old], End::Superseded(heir_id)).await?;
    let mut result = if store::insert(tx, std::slice::from_ref(draft)).await?.contains(&draft.record.id) {
        created(changes, draft)
    } else {
        // The old record has been retired by now, so that a refusal must undo it: somebody was quicker.
        let met = meet(tx, permit, changes, draft).await;
        met.map_err(|error| if is_refusal(&error) { Error::collision() } else { error })?
    };
    if result.record.id != heir_id {
        return Err(Error::collision());
    }
    result.superseded_memory_id = Some(old_id);
    Ok(result)
}

/// Makes a record active again that was forgotten.
pub async fn revive(
    tx: &mut TenantTx,
    changes: &mut Changes,
    before: Record,
    embedding: Option<&Embedding>,
) -> Result<Record> {
    let mut after = before.clone();
    after.status = Status::Active;
    after.deleted_at = None;
    after.delete_reason = None;
    after.version += 1;
    after.updated_at = changes.now.into();
    let identity = draft::identity(&after);
    make_room(tx, changes, identity).await?;
    store::update(tx, &after, identity).await?;
    index(tx, changes, &after, embedding).await?;
    changes.note(&after, ChangeKind::Restored);
    Ok(after)
}

/// A record whose time is over holds no identity, whether or not the sweeper has seen it (XC-20).
async fn make_room(tx: &mut TenantTx, changes: &mut Changes, identity: Identity) -> Result<()> {
    match store::lock_by_identity(tx, identity).await? {
        Some(there) if is_expired(&there, changes.now) => retire::expire(tx, changes, there).await,
        _ => Ok(()),
    }
}

async fn index(
    tx: &mut TenantTx,
    changes: &mut Changes,
    record: &Record,
    embedding: Option<&Embedding>,
) -> Result<()> {
    let terms = search_terms(record);
    changes.count(1, &terms);
    store::index(tx, record.id, &terms, embedding).await
}

async fn unindex(tx: &mut TenantTx, changes: &mut Changes, record: &Record) -> Result<()> {
    let terms = search_terms(record);
    changes.count(-1, &terms);
    store::unindex(tx, &[(record.id, terms)]).await
}

/// The record of this id, if it exists for the token, and nobody else changes it now.
pub async fn lock(tx: &mut TenantTx, permit: &Permit, id: MemoryId) -> Result<Record> {
    let record = store::lock(tx, id).await?;
    let seen = record.filter(|record| permit.sees(&record.scope, record.sensitivity));
    debug_assert!(permit.action() != Action::Read, "a read locks nothing");
    seen.ok_or(Error::NotFound("memory"))
}

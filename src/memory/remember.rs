//! Remembering: what a client sends, and what becomes of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::draft::Draft;
use super::write::{self, Changes};
use super::{Category, Context, Provenance, Record, Scope, Sensitivity, SourceContextKind};
use crate::app::App;
use crate::auth::{Action, Area, Caller, Namespace, Permit};
use crate::db::with_retry;
use crate::embed::Embedded;
use crate::error::{Error, ErrorReport, Result};
use crate::id::MemoryId;
use crate::idempotency::{self, Answer, Claim, Key};
use crate::time::UnixTime;

/// How many records one batch holds, at most.
pub const MAX_BATCH: usize = 256;

/// A record to be remembered (C-044, PC-26).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemoryRememberParams")]
#[serde(deny_unknown_fields)]
pub struct Remember {
    /// Whose memory it is.
    pub scope: Scope,
    /// What sort of thing it says.
    pub category: Category,
    /// The token's namespace, or nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Namespace>,
    /// The name under which its owner finds it again: 1 to 256 bytes. A record that has it already is updated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What it says: 1 to 65,536 bytes after trimming.
    pub content: String,
    /// How carefully it is to be shown; `normal` unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitivity: Option<Sensitivity>,
    /// How sure the writer is, 0 to 1; 1 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// How much it matters, 0 to 1; 0.5 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub importance: Option<f64>,
    /// Where it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// What sort of text it was taken from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_context_kind: Option<SourceContextKind>,
    /// The same as the `Idempotency-Key` header, for one record of a batch or for JSON-RPC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// The active record whose place it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<String>,
    /// The client's own data: at most 16 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<serde_json::Map<String, serde_json::Value>>,
    /// Where in a conversation it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
    /// When it stops being active; in the future.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<UnixTime>,
    /// Its vector, made by the client with the active model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedding: Option<Vec<f32>>,
    /// The model that made the vector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedding_model: Option<String>,
}

/// What became of it (PC-26).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Remembered {
    /// The record as it is now.
    pub record: Record,
    /// Whether it is new; else it was found, or updated by its key.
    pub created: bool,
    /// The record whose place it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_memory_id: Option<MemoryId>,
    /// True when the text is longer than the embedding model reads: the rest is found by its words only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub embedding_truncated: bool,
}

/// Records to be remembered together.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RememberBatch {
    /// 1 to 256 records; each stands alone.
    #[schemars(length(min = 1, max = 256))]
    pub items: Vec<Remember>,
}

/// What became of each, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BatchReply {
    /// One result for each item.
    pub results: Vec<BatchResult>,
}

/// What became of one item of a batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum BatchResult {
    /// It was remembered.
    Remembered(Box<Remembered>),
    /// It was refused, and nothing of it was stored.
    Refused {
        /// Why.
        error: ErrorReport,
    },
}

/// Stores a record under its scope and key, or finds the one that is there.
///
/// Answers 201 when it made a record, 200 when it updated or found one.
pub async fn remember(
    app: &App,
    caller: &Caller,
    new: Remember,
    key: Option<Key>,
) -> Result<Answer<Remembered>> {
    let permit = &caller.permit(Action::Write, Area::Durable)?;
    remember_embedded(app, permit, new, key, None).await
}

/// Remembers with the vector of an earlier check of the same, if it had one.
async fn remember_embedded(
    app: &App,
    permit: &Permit,
    new: Remember,
    key: Option<Key>,
    embedded: Option<Embedded>,
) -> Result<Answer<Remembered>> {
    idempotency::run(app, permit, key, |claim| async move {
        let answer = |body: Remembered| if body.created { Answer::created(body) } else { Answer::ok(body) };
        remember_claimed(app, permit, new, embedded, &claim, answer).await
    })
    .await
}

/// Remembers as part of an operation that has claimed its key: the answer it is going to give is settled together with
/// the record.
pub async fn remember_claimed<T: Serialize>(
    app: &App,
    permit: &Permit,
    new: Remember,
    embedded: Option<Embedded>,
    claim: &Claim,
    answer: impl Fn(Remembered) -> Answer<T>,
) -> Result<Answer<T>> {
    let mut drafts = [Draft::check(app, permit, new)?];
    if let (Some(embedded), [draft]) = (embedded, &mut drafts) {
        (draft.embedding, draft.truncated) = (embedded.embedding, embedded.truncated);
    }
    write::embed(app, permit, &mut drafts).await?;
    with_retry(|| async {
        let mut tx = app.db.begin(permit).await?;
        let mut changes = Changes::new(permit, app.clock.now());
        let mut results = write::remember(&mut tx, permit, &mut changes, &drafts).await?;
        let body = results.pop().ok_or_else(|| Error::internal("no result for a record"))??;
        let answer = answer(body);
        changes.write(&mut tx).await?;
        claim.settle(&mut tx, permit, &answer).await?;
        tx.commit().await?;
        Ok(answer)
    })
    .await
}

/// Like [`remember`], with a key that stands beside the request or in it, but not in both places.
pub async fn remember_once(
    app: &App,
    caller: &Caller,
    mut new: Remember,
    beside: Option<String>,
    route: &str,
) -> Result<Answer<Remembered>> {
    caller.permit(Action::Write, Area::Durable)?;
    if beside.is_some() {
        if new.idempotency_key.is_some() {
            return Err(Error::invalid("idempotency_key", "is given in the header too: give one of them"));
        }
        new.idempotency_key = beside;
    }
    let key = take_key(&mut new, route)?;
    Box::pin(remember(app, caller, new, key)).await
}

/// Stores up to 256 records, each as far as it could be read. A bad one does not undo the others.
pub async fn remember_batch(
    app: &App,
    caller: &Caller,
    items: Vec<Result<Remember>>,
    key: Option<Key>,
) -> Result<Answer<BatchReply>> {
    let permit = &caller.permit(Action::Write, Area::Durable)?;
    let count = items.len();
    if count == 0 || count > MAX_BATCH {
        let rule = format!("must hold 1 to {MAX_BATCH} records");
        return Err(Error::over_limit("items", rule, MAX_BATCH as u64, count as u64));
    }
    idempotency::run(app, permit, key, |claim| async move {
        let mut results: Vec<Option<BatchResult>> = vec![None; count];
        let (mut drafts, mut places) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut with_keys = Vec::new();
        for (place, item) in items.into_iter().enumerate() {
            if let Ok(new) = &item
                && new.idempotency_key.is_some()
            {
                with_keys.push((place, new.clone()));
            }
            match item.and_then(|new| Draft::check(app, permit, new)) {
                Ok(draft) => {
                    drafts.push(draft);
                    places.push(place);
                }
                Err(error) => results[place] = Some(batch_result(place, Err(error))?),
            }
        }
        write::embed(app, permit, &mut drafts).await?;
        for (place, new) in with_keys {
            // It has a claim of its own, and so a transaction of its own. Its answer may be an earlier one, whatever
            // was found wrong with it above.
            let embedded = places.iter().position(|other| *other == place).map(|at| {
                places.remove(at);
                let Draft { embedding, truncated, .. } = drafts.remove(at);
                Embedded { embedding, truncated }
            });
            let result = Box::pin(remember_item(app, permit, new, embedded)).await;
            results[place] = Some(batch_result(place, result)?);
        }
        with_retry(|| async {
            let mut results = results.clone();
            let mut tx = app.db.begin(permit).await?;
            let mut changes = Changes::new(permit, app.clock.now());
            let remembered = write::remember(&mut tx, permit, &mut changes, &drafts).await?;
            for (&place, result) in places.iter().zip(remembered) {
                results[place] = Some(batch_result(place, result)?);
            }
            changes.write(&mut tx).await?;
            let answer = Answer::ok(BatchReply { results: results.into_iter().flatten().collect() });
            claim.settle(&mut tx, permit, &answer).await?;
            tx.commit().await?;
            Ok(answer)
        })
        .await
    })
    .await
}

/// What the client is told of an item. A passing fault is the fault of the whole batch: it can be sent again.
fn batch_result(place: usize, result: Result<Remembered>) -> Result<BatchResult> {
    match result {
        Ok(remembered) => Ok(BatchResult::Remembered(Box::new(remembered))),
        Err(error @ (Error::Unavailable { .. } | Error::Internal(_))) => Err(error),
        Err(error) => {
            Ok(BatchResult::Refused { error: ErrorReport::new(&error.inside(&format!("items[{place}]"))) })
        }
    }
}

async fn remember_item(
    app: &App,
    permit: &Permit,
    mut new: Remember,
    embedded: Option<Embedded>,
) -> Result<Remembered> {
    let key = take_key(&mut new, "memory/remember")?;
    remember_embedded(app, permit, new, key, embedded).await.map(|answer| answer.body)
}

/// Takes the `idempotency_key` out of a request: it is not part of what the key stands for.
pub fn take_key(new: &mut Remember, route: &str) -> Result<Option<Key>> {
    let Some(key) = new.idempotency_key.take() else { return Ok(None) };
    let body = serde_json::to_value(&*new).map_err(Error::internal)?;
    Key::new(&key, route, &body).map(Some)
}

//! Correcting a record.

use std::ops::ControlFlow;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::draft::{
    check_content, check_context, check_fraction, check_key, check_metadata, parse_reference,
};
use super::read::{self, RecordReply};
use super::write::{self, Changes};
use super::{Category, Context, Record, Sensitivity, Status};
use crate::app::App;
use crate::auth::{Action, Area, Caller, Permit};
use crate::db::{TenantTx, with_retry};
use crate::embed::Embedding;
use crate::error::{Error, Result};
use crate::time::UnixTime;

/// How often the text is embedded anew because others changed it meanwhile.
const ATTEMPTS: usize = 3;

/// What to change in a record; absent members stay. `key`, `metadata` and `expires_at` are taken away by null.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Patch {
    /// What it says.
    #[serde(default, deserialize_with = "present")]
    pub content: Option<String>,
    /// What sort of thing it says.
    #[serde(default, deserialize_with = "present")]
    pub category: Option<Category>,
    /// The name under which its owner finds it.
    #[serde(default, deserialize_with = "present")]
    pub key: Option<Option<String>>,
    /// How sure the writer is, 0 to 1.
    #[serde(default, deserialize_with = "present")]
    pub confidence: Option<f64>,
    /// How much it matters, 0 to 1.
    #[serde(default, deserialize_with = "present")]
    pub importance: Option<f64>,
    /// How carefully it is to be shown.
    #[serde(default, deserialize_with = "present")]
    pub sensitivity: Option<Sensitivity>,
    /// The client's own data.
    #[serde(default, deserialize_with = "present")]
    pub metadata: Option<Option<serde_json::Map<String, serde_json::Value>>>,
    /// When it stops being active.
    #[serde(default, deserialize_with = "present")]
    pub expires_at: Option<Option<UnixTime>>,
    /// Where in a conversation it stands.
    #[serde(default, deserialize_with = "present")]
    pub context: Option<Context>,
}

/// Tells a member that is null from one that is absent. Where null means nothing, it does not fit.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Changes an active record; a changed text is embedded anew before this answers.
///
/// With `if_version`, fails with `Stale` when the record has another version by now.
pub async fn patch(
    app: &App,
    caller: &Caller,
    id: &str,
    mut patch: Patch,
    if_match: Option<&str>,
) -> Result<RecordReply> {
    let permit = &caller.permit(Action::Write, Area::Durable)?;
    let if_version = if_match.map(version).transpose()?.flatten();
    check(&mut patch, app.clock.now())?;
    let id = parse_reference("id", id)?;
    let mut known = read::find_seen(app, permit, id).await?;
    for _ in 0..ATTEMPTS {
        let wanted = apply(&known, &patch);
        let embedding = if write::needs_vector(&known, &wanted) {
            write::embed_record(app, permit, &wanted).await?.embedding
        } else {
            None
        };
        let tried = with_retry(|| async {
            let mut tx = app.db.begin(permit).await?;
            let current = write::lock(&mut tx, permit, id).await?;
            if if_version.is_some_and(|version| version != current.version) {
                return Err(Error::Stale { current: current.version });
            }
            if !is_embedded(&known, &current, &patch) {
                return Ok(ControlFlow::Continue(current));
            }
            let record = change(&mut tx, app, permit, current, &patch, embedding.as_ref()).await?;
            tx.commit().await?;
            Ok(ControlFlow::Break(record))
        })
        .await?;
        match tried {
            ControlFlow::Break(record) => return Ok(RecordReply { record }),
            ControlFlow::Continue(current) => known = current,
        }
    }
    Err(Error::collision())
}

/// The version that `If-Match` names, as `"3"` or `3`; `*` is any.
fn version(if_match: &str) -> Result<Option<i64>> {
    let tag = if_match.trim();
    if tag == "*" {
        return Ok(None);
    }
    let digits = tag.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(tag);
    let version = digits.parse().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()));
    let rule = "must be a record's version, as in \"3\"; weak tags match nothing";
    version.map(Some).ok_or_else(|| Error::invalid("if-match", rule))
}

/// Whether the vector that was made for the record as it was known fits the record as it is now.
fn is_embedded(known: &Record, current: &Record, patch: &Patch) -> bool {
    let (was_wanted, wanted) = (apply(known, patch), apply(current, patch));
    !write::needs_vector(current, &wanted)
        || (write::needs_vector(known, &was_wanted) && write::text(&was_wanted) == write::text(&wanted))
}

async fn change(
    tx: &mut TenantTx,
    app: &App,
    permit: &Permit,
    current: Record,
    patch: &Patch,
    embedding: Option<&Embedding>,
) -> Result<Record> {
    let now = app.clock.now();
    if read::shown(current.clone(), now).status != Status::Active {
        return Err(Error::Conflict("only an active record can be changed".into()));
    }
    let wanted = apply(&current, patch);
    permit.require(&wanted.scope, wanted.sensitivity)?;
    if wanted == current {
        return Ok(current);
    }
    let mut changes = Changes::new(permit, now);
    let record = write::change(tx, &mut changes, current, wanted, embedding).await?;
    changes.write(tx).await?;
    Ok(record)
}

fn check(patch: &mut Patch, now: chrono::DateTime<chrono::Utc>) -> Result<()> {
    if *patch == Patch::default() {
        return Err(Error::invalid("", "the patch changes nothing: give at least one member"));
    }
    if let Some(content) = &mut patch.content {
        *content = check_content("content", content)?;
    }
    check_key(patch.key.as_ref().and_then(|key| key.as_deref()))?;
    check_fraction("confidence", patch.confidence)?;
    check_fraction("importance", patch.importance)?;
    check_metadata(patch.metadata.as_ref().and_then(Option::as_ref))?;
    check_context(patch.context.as_mut())?;
    if patch.expires_at.flatten().is_some_and(|at| at.0 <= now) {
        return Err(Error::invalid("expires_at", "must be in the future"));
    }
    Ok(())
}

fn apply(record: &Record, patch: &Patch) -> Record {
    let mut wanted = record.clone();
    if let Some(content) = &patch.content {
        wanted.content.clone_from(content);
    }
    wanted.category = patch.category.unwrap_or(record.category);
    if let Some(key) = &patch.key {
        wanted.key.clone_from(key);
    }
    wanted.confidence = patch.confidence.unwrap_or(record.confidence);
    wanted.importance = patch.importance.unwrap_or(record.importance);
    wanted.sensitivity = patch.sensitivity.unwrap_or(record.sensitivity);
    if let Some(metadata) = &patch.metadata {
        wanted.metadata.clone_from(metadata);
    }
    wanted.expires_at = patch.expires_at.unwrap_or(record.expires_at);
    if let Some(context) = &patch.context {
        let observed_at = context.observed_at.or(record.context.observed_at);
        wanted.context = Context { observed_at, ..context.clone() };
    }
    wanted
}

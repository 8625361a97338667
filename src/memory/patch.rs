//! Correcting a record.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::draft::{
    check_content, check_context, check_fraction, check_key, check_metadata, parse_reference,
};
use super::read::RecordReply;
use super::write::{self, Changes};
use super::{Category, Context, Record, Sensitivity, Status, store};
use crate::app::App;
use crate::auth::{Action, Area, Caller, Permit};
use crate::error::{Error, Result};
use crate::time::UnixTime;

/// What to change in a record; absent members stay. `key`, `metadata` and `expires_at` are taken away by null.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Patch {
    /// What it says.
    #[serde(default)]
    pub content: Option<String>,
    /// What sort of thing it says.
    #[serde(default)]
    pub category: Option<Category>,
    /// The name under which its owner finds it.
    #[serde(default, deserialize_with = "present")]
    pub key: Option<Option<String>>,
    /// How sure the writer is, 0 to 1.
    #[serde(default)]
    pub confidence: Option<f64>,
    /// How much it matters, 0 to 1.
    #[serde(default)]
    pub importance: Option<f64>,
    /// How carefully it is to be shown.
    #[serde(default)]
    pub sensitivity: Option<Sensitivity>,
    /// The client's own data.
    #[serde(default, deserialize_with = "present")]
    pub metadata: Option<Option<serde_json::Map<String, serde_json::Value>>>,
    /// When it stops being active.
    #[serde(default, deserialize_with = "present")]
    pub expires_at: Option<Option<UnixTime>>,
    /// Where in a conversation it stands.
    #[serde(default)]
    pub context: Option<Context>,
}

/// Tells a member that is null from one that is absent.
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
    if_version: Option<i64>,
) -> Result<RecordReply> {
    let permit = caller.permit(Action::Write, Area::Durable)?;
    check(&mut patch, app.clock.now())?;
    let id = parse_reference(id)?;
    // The text may change while it is embedded; then the record is read again.
    let mut known = find(app, &permit, id).await?;
    for _ in 0..3 {
        let wanted = apply(&known, &patch)?;
        let embedded = match write::needs_reindex(&known, &wanted) {
            true => Some(write::embed_record(app, &permit, &wanted).await?),
            false => None,
        };
        let mut tx = app.db.begin(&permit).await?;
        let current = write::lock(&mut tx, &permit, id).await?;
        if let Some(version) = if_version.filter(|version| *version != current.version) {
            debug_assert_ne!(version, current.version);
            return Err(Error::Stale { current: current.version });
        }
        if current.version != known.version {
            known = current;
            continue;
        }
        if current.status != Status::Active {
            return Err(Error::Conflict("only an active record can be changed".into()));
        }
        permit.require(&wanted.scope, wanted.sensitivity)?;
        if wanted == current {
            return Ok(RecordReply { record: current });
        }
        let mut changes = Changes::new(&permit, app.clock.now());
        let vector = embedded.and_then(|embedded| embedded.embedding);
        let record = write::change(&mut tx, &mut changes, current, wanted, vector.as_ref()).await?;
        changes.write(&mut tx).await?;
        tx.commit().await?;
        return Ok(RecordReply { record });
    }
    Err(Error::unavailable("the record, which others are changing,"))
}

async fn find(app: &App, permit: &Permit, id: crate::id::MemoryId) -> Result<Record> {
    let mut tx = app.db.begin(permit).await?;
    let found = store::find_many(&mut tx, &[id]).await?.pop();
    found.filter(|record| permit.sees(&record.scope, record.sensitivity)).ok_or(Error::NotFound("memory"))
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

fn apply(record: &Record, patch: &Patch) -> Result<Record> {
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
    Ok(wanted)
}

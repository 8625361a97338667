//! Forgetting, and taking it back.

use std::borrow::Cow;

use chrono::{DateTime, TimeDelta, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::draft::{check_key, parse_reference, require_namespace};
use super::filter::Filter;
use super::key::Identity;
use super::read::{self, RecordReply};
use super::retire::{self, End};
use super::write::{self, Changes};
use super::{Record, Scope, Status, store};
use crate::app::App;
use crate::auth::{Action, Actor, Area, Caller, Namespace, Permit};
use crate::candidate;
use crate::db::{TenantTx, with_retry};
use crate::embed::Embedding;
use crate::error::{Error, Result};
use crate::event;
use crate::id::{MemoryId, ParseIdError};
use crate::idempotency::{self, Answer, Key};
use crate::source;

/// How long a forgotten record can be taken back (XC-18, D-032).
pub const RECOVERABLE_FOR: TimeDelta = TimeDelta::days(30);

/// How many records one request forgets, at most.
pub const MAX_FORGET: usize = 10_000;

/// How often a record is looked at anew because others changed it meanwhile.
const ATTEMPTS: usize = 3;

/// The longest reason, in bytes.
const MAX_REASON_BYTES: usize = 1_024;

/// What to forget (C-045).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemoryForgetParams")]
#[serde(deny_unknown_fields)]
pub struct Forget {
    /// One record by id or by scope and key, or all of a scope.
    pub target: ForgetTarget,
    /// Why, for the record's tombstone: at most 1,024 bytes.
    #[serde(default)]
    pub reason: Option<String>,
    /// Taken from the token; what a client sends is replaced (PC-06).
    #[serde(default)]
    pub actor: Option<Actor>,
    /// Whether only to tell what would be forgotten.
    #[serde(default)]
    pub dry_run: bool,
    /// Whether to remove the records, their history and their candidates at once and for good. Needs control.
    #[serde(default)]
    pub erase: bool,
}

/// Which records to forget.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ForgetTarget {
    /// The record of this id.
    Id {
        /// The id.
        memory_id: String,
    },
    /// The active record of this scope and key.
    ScopedKey {
        /// The scope.
        scope: Scope,
        /// The token's namespace, or nothing.
        #[serde(default)]
        namespace: Option<Namespace>,
        /// The key.
        key: String,
    },
    /// Every active record of this scope, up to 10,000.
    Scope {
        /// The scope.
        scope: Scope,
    },
}

/// The members of a target. Serde takes a tagged enum apart by itself, and takes lists and numbers for it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TargetFields {
    kind: TargetKind,
    #[serde(default)]
    memory_id: Option<String>,
    #[serde(default)]
    scope: Option<Scope>,
    #[serde(default)]
    namespace: Option<Namespace>,
    #[serde(default)]
    key: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum TargetKind {
    Id,
    ScopedKey,
    Scope,
}

impl TryFrom<TargetFields> for ForgetTarget {
    type Error = &'static str;

    fn try_from(fields: TargetFields) -> Result<Self, &'static str> {
        let TargetFields { kind, memory_id, scope, namespace, key } = fields;
        match (kind, memory_id, scope, namespace, key) {
            (TargetKind::Id, Some(memory_id), None, None, None) => Ok(Self::Id { memory_id }),
            (TargetKind::Id, ..) => Err("of kind `id` has `memory_id` and nothing else"),
            (TargetKind::ScopedKey, None, Some(scope), namespace, Some(key)) => {
                Ok(Self::ScopedKey { scope, namespace, key })
            }
            (TargetKind::ScopedKey, ..) => {
                Err("of kind `scoped_key` has `scope`, `key` and perhaps `namespace`")
            }
            (TargetKind::Scope, None, Some(scope), None, None) => Ok(Self::Scope { scope }),
            (TargetKind::Scope, ..) => Err("of kind `scope` has `scope` and nothing else"),
        }
    }
}

impl<'de> Deserialize<'de> for ForgetTarget {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        TargetFields::deserialize(deserializer)?.try_into().map_err(serde::de::Error::custom)
    }
}

/// What was forgotten, or would be (PC-27).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Forgotten {
    /// The records that this request changed; none when the target does not exist (XC-19).
    pub forgotten_memory_ids: Vec<MemoryId>,
    /// Whether nothing was changed.
    pub dry_run: bool,
}

/// The record that a DELETE took away.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Deleted {
    /// The record.
    pub forgotten_memory_ids: Vec<MemoryId>,
}

/// Forgets records: they leave search at once, and can be taken back for 30 days.
pub async fn forget(
    app: &App,
    caller: &Caller,
    forget: Forget,
    key: Option<Key>,
) -> Result<Answer<Forgotten>> {
    let permit = &caller.permit(Action::Delete, Area::Durable)?;
    if forget.erase {
        caller.require_control()?;
    }
    idempotency::run(app, permit, key, |claim| async move {
        let reason = check_reason(forget.reason.as_deref())?;
        with_retry(|| async {
            let mut tx = app.db.begin(permit).await?;
            let records = targets(&mut tx, app, permit, &forget).await?;
            let ids = records.iter().map(|record| record.id).collect();
            let answer = Answer::ok(Forgotten { forgotten_memory_ids: ids, dry_run: forget.dry_run });
            if !forget.dry_run {
                let grave = if forget.erase { Grave::None } else { Grave::Tombstone };
                bury(&mut tx, permit, records, reason.as_deref(), grave, app.clock.now()).await?;
            }
            if let (true, false, ForgetTarget::Scope { scope }) =
                (forget.erase, forget.dry_run, &forget.target)
                && permit.scopes().is_none_or(|scopes| scopes.contains(scope))
            {
                candidate::erase_scope(&mut tx, scope, permit.sensitivity()).await?;
            }
            if forget.erase && !forget.dry_run {
                event::erased(&mut tx, app.clock.now()).await?;
            }
            claim.settle(&mut tx, permit, &answer).await?;
            tx.commit().await?;
            Ok(answer)
        })
        .await
    })
    .await
}

/// Forgets one record. The same again is answered in the same way while it can be taken back.
pub async fn delete(app: &App, caller: &Caller, id: &str) -> Result<Deleted> {
    let (id, _) = take_away(app, caller, id).await?;
    Ok(Deleted { forgotten_memory_ids: vec![id] })
}

/// Forgets one record, and says until when it can be taken back.
pub async fn take_away(app: &App, caller: &Caller, id: &str) -> Result<(MemoryId, DateTime<Utc>)> {
    let permit = &caller.permit(Action::Delete, Area::Durable)?;
    let id = parse_reference("id", id)?;
    with_retry(|| async {
        let mut tx = app.db.begin(permit).await?;
        let record = write::lock(&mut tx, permit, id).await?;
        let now = app.clock.now();
        if is_gone(&record, now) {
            return Err(Error::NotFound("memory"));
        }
        let forgotten_at = record.deleted_at.map_or(now, |at| at.0);
        if record.status != Status::Deleted {
            bury(&mut tx, permit, vec![record], None, Grave::Tombstone, now).await?;
            tx.commit().await?;
        }
        Ok((id, forgotten_at + RECOVERABLE_FOR))
    })
    .await
}

/// Takes back what was forgotten.
///
/// Fails with `NotFound` after 30 days, and with `Conflict` when another record has its key or text by now.
pub async fn restore(app: &App, caller: &Caller, id: &str, key: Option<Key>) -> Result<Answer<RecordReply>> {
    let permit = &caller.permit(Action::Write, Area::Durable)?;
    idempotency::run(app, permit, key, |claim| async move {
        let id = parse_reference("id", id)?;
        for _ in 0..ATTEMPTS {
            let known = read::find_seen(app, permit, id).await?;
            let embedding = match known.status {
                Status::Deleted => write::embed_record(app, permit, &known).await?.embedding,
                _ => None,
            };
            let revived = with_retry(|| async {
                let mut tx = app.db.begin(permit).await?;
                let record = write::lock(&mut tx, permit, id).await?;
                if record.status == Status::Deleted && write::needs_vector(&known, &record)
                    || record.status != known.status
                {
                    return Ok(None);
                }
                let record = revive(&mut tx, app, permit, record, embedding.as_ref()).await?;
                let answer = Answer::ok(RecordReply { record });
                claim.settle(&mut tx, permit, &answer).await?;
                tx.commit().await?;
                Ok(Some(answer))
            })
            .await?;
            if let Some(answer) = revived {
                return Ok(answer);
            }
        }
        Err(Error::collision())
    })
    .await
}

async fn revive(
    tx: &mut TenantTx,
    app: &App,
    permit: &Permit,
    record: Record,
    embedding: Option<&Embedding>,
) -> Result<Record> {
    let now = app.clock.now();
    match record.status {
        _ if is_gone(&record, now) => Err(Error::NotFound("memory")),
        _ if record.expires_at.is_some_and(|at| at.0 <= now) => {
            Err(Error::Conflict("the record's time is over: it cannot be active again".into()))
        }
        Status::Active => Ok(record),
        Status::Deleted => {
            let mut changes = Changes::new(permit, now);
            let revived = write::revive(tx, &mut changes, record, embedding).await?;
            changes.write(tx).await?;
            Ok(revived)
        }
        _ => Err(Error::Conflict("only a forgotten record can be restored".into())),
    }
}

/// Whether it was forgotten so long ago that it is as if it had never been, whether or not it was purged.
pub(super) fn is_gone(record: &Record, now: DateTime<Utc>) -> bool {
    record.deleted_at.is_some_and(|at| now - at.0 > RECOVERABLE_FOR)
}

/// The records a request is about, kept from changing. What is erased goes whatever its status, and with it what had
/// its key before; otherwise those already forgotten are none.
async fn targets(tx: &mut TenantTx, app: &App, permit: &Permit, forget: &Forget) -> Result<Vec<Record>> {
    let now = app.clock.now();
    let found = match &forget.target {
        ForgetTarget::Id { memory_id } => match memory_id.parse() {
            Ok(id) => store::lock(tx, id).await?.into_iter().collect(),
            Err(ParseIdError::OtherKind) => Vec::new(),
            Err(error) => return Err(Error::invalid("target.memory_id", error.to_string())),
        },
        ForgetTarget::ScopedKey { scope, namespace, key } => {
            require_namespace(permit, namespace.as_ref())?;
            scope.check("target.scope")?;
            check_key(Some(key)).map_err(|error| error.inside("target"))?;
            let identity = Identity::of_key(scope, key);
            if forget.erase {
                let ids = store::ids_of_scope(tx, scope, Some(identity), MAX_FORGET + 1).await?;
                lock_all(tx, ids).await?
            } else {
                store::lock_by_identity(tx, identity).await?.into_iter().collect()
            }
        }
        ForgetTarget::Scope { scope } => {
            scope.check("target.scope")?;
            let is_reached = permit.scopes().is_none_or(|scopes| scopes.contains(scope));
            let ids = match forget.erase {
                _ if !is_reached => Vec::new(),
                true => store::ids_of_scope(tx, scope, None, MAX_FORGET + 1).await?,
                false => {
                    let scopes = Some(std::slice::from_ref(scope));
                    let filter = Filter::new(permit, scopes, None, &[Status::Active], None)?;
                    store::list_ids(tx, &filter, None, None, MAX_FORGET + 1, now).await?
                }
            };
            lock_all(tx, ids).await?
        }
    };
    let is_target = |record: &Record| {
        permit.sees(&record.scope, record.sensitivity) && (forget.erase || record.status != Status::Deleted)
    };
    Ok(found.into_iter().filter(is_target).collect())
}

async fn lock_all(tx: &mut TenantTx, ids: Vec<MemoryId>) -> Result<Vec<Record>> {
    if ids.len() > MAX_FORGET {
        let rule = format!("holds more than {MAX_FORGET} records: forget its keys one by one or in parts");
        return Err(Error::over_limit("target.scope", rule, MAX_FORGET as u64, ids.len() as u64));
    }
    let mut records = store::lock_many(tx, &ids).await?;
    records.sort_by_key(|record| record.id);
    Ok(records)
}

/// What is left of a forgotten record.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Grave {
    /// Enough to take it back.
    Tombstone,
    /// Nothing.
    None,
}

async fn bury(
    tx: &mut TenantTx,
    permit: &Permit,
    records: Vec<Record>,
    reason: Option<&str>,
    grave: Grave,
    now: DateTime<Utc>,
) -> Result<()> {
    let mut changes = Changes::new(permit, now);
    let gone: Vec<MemoryId> = records.iter().map(|record| record.id).collect();
    let buried = records.into_iter().filter(|record| record.status != Status::Deleted).collect();
    retire::retire(tx, &mut changes, buried, End::Forgotten(reason)).await?;
    changes.write(tx).await?;
    if grave == Grave::None {
        source::silence(tx, &gone).await?;
        store::erase(tx, &gone, &permit.key().to_string(), now).await?;
        candidate::erase_of(tx, &gone).await?;
        idempotency::erase(tx, gone.iter().map(ToString::to_string).collect()).await?;
    }
    Ok(())
}

/// A reason as it is stored: without U+0000, at most 1,024 bytes.
pub fn check_reason(reason: Option<&str>) -> Result<Option<String>> {
    let Some(reason) = reason.map(|reason| reason.replace('\0', "")) else { return Ok(None) };
    if reason.len() > MAX_REASON_BYTES {
        let rule: Cow<'static, str> = format!("is longer than {MAX_REASON_BYTES} bytes").into();
        return Err(Error::over_limit("reason", rule, MAX_REASON_BYTES as u64, reason.len() as u64));
    }
    Ok(Some(reason))
}

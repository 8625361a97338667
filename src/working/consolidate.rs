//! From the workspace into durable memory (B-013, XB-55).

use moka::sync::Cache;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::attention::check_version;
use super::item::{self, Item};
use super::store::{self, Store};
use super::workspace::picture;
use super::{check_slot_id, config_store, reach};
use crate::app::App;
use crate::auth::{Action, Area, Caller, Namespace, OperatorPermit, Permit};
use crate::error::{Error, Result};
use crate::extract::secret;
use crate::id::{MemoryId, TenantId};
use crate::idempotency::{self, Answer, Key};
use crate::memory::remember::{self, Remember, Remembered, remember_claimed};
use crate::memory::{Category, Context, Scope, ScopeKind, Sensitivity};
use crate::time::UnixTime;

/// What this node has promoted already. Whatever it forgets is found again in durable memory, and not doubled.
#[derive(Debug)]
pub struct Promoted(Cache<(TenantId, Namespace, String, i64), ()>);

impl Default for Promoted {
    fn default() -> Self {
        Self(Cache::new(100_000))
    }
}

/// A slot that is to last.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Consolidate {
    /// The slot's id.
    pub id: String,
    /// Whether the slot is taken out once it is remembered.
    #[serde(default = "yes")]
    pub clear: bool,
    /// Whose memory it becomes: an agent's or a thread's. The agent named like the namespace, unless given.
    #[serde(default)]
    pub scope: Option<Scope>,
    /// What sort of thing it says; `custom` unless given.
    #[serde(default)]
    pub category: Option<Category>,
    /// The version the workspace must have.
    #[serde(default)]
    pub if_version: Option<u64>,
}

fn yes() -> bool {
    true
}

/// Where it is now.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Consolidated {
    /// Always true.
    pub ok: bool,
    /// The durable record.
    pub memory_id: MemoryId,
}

/// Remembers a slot as a durable record, the same way as any other record, and takes it out unless told otherwise.
///
/// Sent again after a break it finds the record it made before; with the same key it gives the first answer, though the
/// slot is gone. The slot is left where it is when it was changed while it was being remembered.
pub async fn consolidate(
    app: &App,
    caller: &Caller,
    wanted: Consolidate,
    key: Option<Key>,
) -> Result<Answer<Consolidated>> {
    let permit = caller.permit(Action::Read, Area::Working)?;
    let durable = caller.permit(Action::Write, Area::Durable)?;
    if wanted.clear {
        caller.permit(Action::Delete, Area::Working)?;
    }
    let store = reach(app, &permit).await?;
    check_slot_id(&wanted.id, store.config.max_slot_id_bytes)?;
    check_version(&store.config, wanted.if_version)?;
    let scope = wanted.scope.clone().map_or_else(|| Ok(own_scope(&permit)), check_scope)?;
    let (store, durable) = (&store, &durable);
    let once = idempotency::run(app, durable, key, |claim| async move {
        let item = find(store, &wanted).await?;
        let new = describe(&item, scope, wanted.category)?;
        let answer = |made: Remembered| Answer::ok(Consolidated { ok: true, memory_id: made.record.id });
        let answer = remember_claimed(app, durable, new, None, &claim, answer).await?;
        if wanted.clear {
            store.step(&store::CLEAR, vec![wanted.id, item.as_stored]).await?;
        }
        Ok(answer)
    });
    Box::pin(once).await
}

async fn find(store: &Store, wanted: &Consolidate) -> Result<Item> {
    let picture = picture(store).await?;
    if wanted.if_version.is_some_and(|version| version != picture.version) {
        return Err(Error::Conflict(format!("the workspace is at version {}", picture.version).into()));
    }
    picture.items.into_iter().find(|item| item.id == wanted.id).ok_or(Error::NotFound("slot"))
}

/// Remembers, in the name of the system, what has been in a workspace for as long as its tenant said (XB-19). The slots
/// stay where they are. Gives how many records were made.
pub async fn promote(app: &App) -> Result<u64> {
    let service = OperatorPermit::service();
    let mut tx = app.db.begin_operator(&service).await?;
    let tenants = config_store::consolidating(&mut tx).await?;
    tx.commit().await?;
    let mut made = 0;
    for tenant in tenants {
        for namespace in store::namespaces(app, tenant).await? {
            match promote_in(app, &service.caller_within(tenant, namespace)).await {
                Ok(count) => made += count,
                Err(error) => {
                    tracing::warn!(%error, tenant.id = %tenant, "the old slots of a namespace have to wait");
                    // It may be this namespace alone. When everything is away, so are the others.
                    app.kv.ping().await?;
                }
            }
        }
    }
    Ok(made)
}

async fn promote_in(app: &App, caller: &Caller) -> Result<u64> {
    let permit = caller.permit(Action::Read, Area::Working)?;
    let store = reach(app, &permit).await?;
    let Some(after_s) = store.config.engine.consolidate_after_seconds else { return Ok(0) };
    let after_ms = i64::try_from(after_s.saturating_mul(1_000)).unwrap_or(i64::MAX);
    let mut reply = store.step(&store::ITEMS, Vec::new()).await?;
    let now_ms = reply.now_ms;
    let mut made = 0;
    for mut item in item::without_values(reply.get(0)?)? {
        let place = (permit.tenant(), permit.namespace().clone(), item.id.clone(), item.set_ms);
        let is_due = now_ms.saturating_sub(item.created_ms) >= after_ms;
        if !is_due || app.working.promoted.0.contains_key(&place) {
            continue;
        }
        let mut reply = store.step(&store::READ, vec![item.id.clone()]).await?;
        if reply.outcome == "absent" || reply.get::<String>(0)? != item.as_stored {
            // It was changed just now; the next look finds it as it is.
            continue;
        }
        item.value = RawValue::from_string(reply.get(1)?).map_err(Error::internal)?;
        let new = describe(&item, own_scope(&permit), None)?;
        match Box::pin(remember::remember(app, caller, new, None)).await {
            Ok(remembered) => made += u64::from(remembered.body.created),
            Err(error @ (Error::Unavailable { .. } | Error::Internal(_))) => return Err(error),
            Err(error) => tracing::info!(%error, tenant.id = %permit.tenant(), "a slot cannot be remembered"),
        }
        app.working.promoted.0.insert(place, ());
    }
    Ok(made)
}

fn own_scope(permit: &Permit) -> Scope {
    Scope { kind: ScopeKind::Agent, key: permit.namespace().to_string() }
}

fn check_scope(scope: Scope) -> Result<Scope> {
    match scope.kind {
        ScopeKind::Agent | ScopeKind::Thread => Ok(scope),
        _ => Err(Error::invalid("scope.kind", "must be agent or thread")),
    }
}

/// The record of an item: text as it is, anything else as JSON; what the engine knew goes along as metadata.
pub(super) fn describe(item: &Item, scope: Scope, category: Option<Category>) -> Result<Remember> {
    let value: Value = serde_json::from_str(item.value.get()).map_err(Error::internal)?;
    let content = match value {
        Value::String(text) => text,
        _ => item.value.get().to_owned(),
    };
    let observed_at = chrono::DateTime::from_timestamp_millis(item.observed_ms).map(UnixTime);
    let metadata = json!({
        "working_memory": {
            "slot_id": item.id,
            "bindings": item.bindings,
            "chunk": item.chunk,
            "relevance": item.relevance,
        }
    });
    Ok(Remember {
        scope,
        category: category.unwrap_or(Category::Custom),
        namespace: None,
        key: None,
        sensitivity: (!secret::find(&content).is_empty()).then_some(Sensitivity::SecretLike),
        content,
        confidence: None,
        importance: Some(item.importance),
        provenance: None,
        source_context_kind: None,
        idempotency_key: None,
        supersedes: None,
        metadata: metadata.as_object().cloned(),
        context: Some(Context { observed_at, ..Context::default() }),
        expires_at: None,
        embedding: None,
        embedding_model: None,
    })
}

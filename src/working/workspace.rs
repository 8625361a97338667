//! Looking at the workspace (XB-50), once or through a snapshot (XB-48).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::attention::{self, Meant};
use super::binding::Binding;
use super::gate;
use super::item::{self, Item};
use super::offer::DEFAULT_RELEVANCE;
use super::settings::{Isolation, WorkingMemoryConfig};
use super::store::{self, Store};
use super::{check_slot_id, open};
use crate::app::App;
use crate::auth::{Action, Caller};
use crate::error::{Error, Result};
use crate::id::EventId;
use crate::page::given;
use crate::time::UnixTime;

/// What asks for a new snapshot.
const NEW_SNAPSHOT: &str = "new";

/// The largest snapshot, in bytes: Redis holds up to 16 of each namespace.
const MAX_SNAPSHOT_BYTES: usize = 8 << 20;

/// How to look.
#[derive(Debug, Default, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Look {
    /// Only this item; 404 when it is not there.
    #[serde(default, deserialize_with = "given")]
    pub id: Option<String>,
    /// `true`: the item named is rehearsed first, which needs the right to write (XB-27).
    #[serde(default, deserialize_with = "given")]
    pub rehearse: Option<String>,
    /// The version the workspace must have for the rehearsal.
    #[serde(default, deserialize_with = "given")]
    pub if_version: Option<String>,
    /// `new`: keep what is seen for a minute, under the id that is answered. Such an id: see that again.
    #[serde(default, deserialize_with = "given")]
    pub snapshot: Option<String>,
}

/// The workspace.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Workspace {
    /// The items, the most active first.
    pub items: Vec<Seen>,
    /// How many they are.
    pub count: usize,
    /// How much it holds, in the capacity's metric.
    pub capacity: u32,
    /// The slot in focus.
    pub focus: Option<String>,
    /// Rises by one with every change.
    pub version: u64,
    /// The snapshot, when one was asked for and the isolation holds one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<String>,
}

/// An item as it is now.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Seen {
    /// The slot's id.
    pub id: String,
    /// Its value.
    #[schemars(with = "Value")]
    pub value: Box<RawValue>,
    /// How present it is, 0 to 1.
    pub activation: f64,
    /// How much it matters.
    pub importance: f64,
    /// How relevant it is.
    pub relevance: f64,
    /// The weighted sum of recency, relevance, activation and importance.
    pub priority: f64,
    /// Whether it is in focus.
    pub focused: bool,
    /// What it binds.
    pub bindings: Vec<Binding>,
    /// The chunk it belongs to.
    pub chunk: Option<String>,
    /// What it costs.
    pub cost: f64,
    /// When it came in.
    pub created_at: UnixTime,
    /// When it was last set, rehearsed or focused.
    pub last_accessed_at: UnixTime,
    /// When its time is over at the latest; it may fade before.
    pub expires_at: UnixTime,
}

/// A workspace as it was read in one step.
pub(super) struct Picture {
    pub items: Vec<Item>,
    pub focus: Option<String>,
    pub version: u64,
    pub now_ms: i64,
    /// When the next item ends, in milliseconds; 0 when there is none.
    pub next_ms: i64,
}

/// Everything in the workspace, of one version.
pub async fn look(app: &App, caller: &Caller, look: Look) -> Result<Workspace> {
    let store = open(app, caller, Action::Read).await?;
    let rehearses = parse_flag(look.rehearse.as_deref())?;
    let if_version = look.if_version.as_deref().map(parse_version).transpose()?;
    match (&look.id, look.snapshot.as_deref()) {
        (None, _) if rehearses => {
            return Err(Error::invalid("id", "is needed: which item is to be rehearsed"));
        }
        (Some(_), Some(_)) => return Err(Error::invalid("snapshot", "is of the whole workspace")),
        _ if if_version.is_some() && !rehearses => {
            return Err(Error::invalid("if_version", "is of what changes something: a rehearsal"));
        }
        _ => {}
    }
    if let Some(id) = &look.id {
        check_slot_id(id, store.config.max_slot_id_bytes)?;
        if rehearses {
            attention::rehearse(app, caller, Meant { id: id.clone(), if_version }).await?;
        }
    }
    let holds = store.config.engine.isolation != Isolation::ReadCommitted;
    match look.snapshot.as_deref().filter(|_| holds) {
        Some(NEW_SNAPSHOT) => keep(&store, show(picture(&store).await?, &store.config)).await,
        Some(id) => {
            let kept = store.find_snapshot(id).await?.ok_or(Error::NotFound("snapshot"))?;
            serde_json::from_str(&kept).map_err(Error::internal)
        }
        None => {
            let mut workspace = show(picture(&store).await?, &store.config);
            if let Some(id) = look.id {
                workspace.items.retain(|item| item.id == id);
                workspace.count = workspace.items.len();
                if workspace.items.is_empty() {
                    return Err(Error::NotFound("slot"));
                }
            }
            Ok(workspace)
        }
    }
}

fn parse_flag(text: Option<&str>) -> Result<bool> {
    match text {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(Error::invalid("rehearse", "must be true or false")),
    }
}

fn parse_version(text: &str) -> Result<u64> {
    text.parse().map_err(|_| Error::invalid("if_version", "must be a whole number from 0"))
}

async fn keep(store: &Store, mut workspace: Workspace) -> Result<Workspace> {
    let id = EventId::new().to_string().replacen("evt", "snp", 1);
    workspace.snapshot = Some(id.clone());
    let content = serde_json::to_string(&workspace).map_err(Error::internal)?;
    if content.len() > MAX_SNAPSHOT_BYTES {
        return Err(Error::too_large("snapshot", MAX_SNAPSHOT_BYTES as u64, content.len() as u64));
    }
    if store.keep_snapshot(&id, &content).await? {
        return Ok(workspace);
    }
    let rule =
        format!("{} snapshots of this namespace are kept already: wait a minute", store::MAX_SNAPSHOTS);
    Err(Error::Conflict(rule.into()))
}

/// Reads the workspace in one step.
pub(super) async fn picture(store: &Store) -> Result<Picture> {
    let mut reply = store.step(&store::LOOK, Vec::new()).await?;
    Ok(Picture {
        focus: Some(reply.get::<String>(1)?).filter(|id| !id.is_empty()),
        next_ms: reply.get(2)?,
        items: item::parse(reply.get(3)?)?,
        version: reply.version,
        now_ms: reply.now_ms,
    })
}

fn show(picture: Picture, config: &WorkingMemoryConfig) -> Workspace {
    let Picture { items, focus, version, now_ms, .. } = picture;
    let mut items: Vec<Seen> =
        items.into_iter().map(|item| see(item, focus.as_deref(), config, now_ms)).collect();
    items.sort_by(|a, b| b.activation.total_cmp(&a.activation).then_with(|| a.id.cmp(&b.id)));
    Workspace { count: items.len(), items, capacity: config.capacity(), focus, version, snapshot: None }
}

fn see(item: Item, focus: Option<&str>, config: &WorkingMemoryConfig, now_ms: i64) -> Seen {
    let activation = item.trace.activation(&item.decay, now_ms);
    let relevance = item.relevance.unwrap_or(DEFAULT_RELEVANCE);
    let recency = gate::recency(now_ms - item.observed_ms);
    let weights = &config.engine.priority_weights;
    Seen {
        focused: focus == Some(item.id.as_str()),
        activation,
        importance: item.importance,
        relevance,
        priority: gate::priority(weights, recency, relevance, activation, item.importance),
        bindings: item.bindings,
        chunk: item.chunk,
        cost: item.cost,
        created_at: time(item.created_ms),
        last_accessed_at: time(item.accessed_ms),
        expires_at: time(item.expires_ms),
        id: item.id,
        value: item.value,
    }
}

fn time(ms: i64) -> UnixTime {
    UnixTime(chrono::DateTime::from_timestamp_millis(ms).unwrap_or_default())
}

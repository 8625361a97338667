//! The methods of durable records.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::method::{Call, FoundRecord, Method, Running, reply};
use crate::auth::{Action, Area};
use crate::error::{Error, Result};
use crate::http::route::Needs;
use crate::idempotency::Key;
use crate::memory::forget::{self, Forget, Forgotten};
use crate::memory::read::{self, Get, List, RecordPage, RecordReply};
use crate::memory::remember::{self, Remember, Remembered};
use crate::memory::search::{self, Search, SearchReply};

const READ: Needs = Needs::Right(Area::Durable, Action::Read);
const WRITE: Needs = Needs::Right(Area::Durable, Action::Write);
const DELETE: Needs = Needs::Right(Area::Durable, Action::Delete);

/// The methods of this file.
pub const METHODS: &[Method] = &[
    Method::new::<Search, SearchReply>(
        "memory/search",
        READ,
        "Search active memory in allowed scopes",
        search,
    ),
    Method::new::<Get, FoundRecord>("memory/get", READ, "Get a record by id, or by scope and key", get),
    Method::new::<List, RecordPage>("memory/list", READ, "List records, newest first", list),
    Method::new::<Remember, Remembered>(
        "memory/remember",
        WRITE,
        "Remember a record, or update the one with its key",
        remember,
    ),
    Method::new::<Forget, Forgotten>(
        "memory/forget",
        DELETE,
        "Forget records by id, by key or by scope",
        forget,
    ),
    Method::new::<Restore, RecordReply>("memory/restore", WRITE, "Take back what was forgotten", restore),
];

/// What to take back: an extension of ours, the same as `POST /v1/memory/items/{id}/restore`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Restore {
    /// The forgotten record.
    pub memory_id: String,
    /// The same as the `Idempotency-Key` header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

fn search(call: Call) -> Running {
    Box::pin(async move {
        let search: Search = call.params()?;
        reply(&search::search(&call.app, &call.caller, &search).await?)
    })
}

fn get(call: Call) -> Running {
    Box::pin(async move {
        let wanted: Get = call.params()?;
        reply(&FoundRecord { record: read::find(&call.app, &call.caller, &wanted).await? })
    })
}

fn list(call: Call) -> Running {
    Box::pin(async move {
        let wanted: List = call.params()?;
        reply(&read::list(&call.app, &call.caller, &wanted).await?)
    })
}

fn remember(call: Call) -> Running {
    Box::pin(async move {
        let mut new: Remember = call.params()?;
        let own = remember::take_key(&mut new, "memory/remember")?;
        let key = call.key(own, "memory/remember", &new)?;
        reply(&remember::remember(&call.app, &call.caller, new, key).await?.body)
    })
}

fn forget(call: Call) -> Running {
    Box::pin(async move {
        let target: Forget = call.params()?;
        let key = call.key(None, "memory/forget", &target)?;
        reply(&forget::forget(&call.app, &call.caller, target, key).await?.body)
    })
}

fn restore(call: Call) -> Running {
    Box::pin(async move {
        let mut wanted: Restore = call.params()?;
        let own = wanted.idempotency_key.take();
        let own = own.map(|name| restore_key(&name, &wanted)).transpose()?;
        let key = call.key(own, "memory/restore", &wanted)?;
        reply(&forget::restore(&call.app, &call.caller, &wanted.memory_id, key).await?.body)
    })
}

fn restore_key(name: &str, wanted: &Restore) -> Result<Key> {
    Key::new(name, "memory/restore", &serde_json::to_value(wanted).map_err(Error::internal)?)
}

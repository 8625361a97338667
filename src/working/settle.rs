//! What becomes of slots when the task they were for is done (B-004): remembered and cleared, or cleared.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::consolidate::describe;
use super::item::Item;
use super::store::{self, Store};
use super::workspace::picture;
use super::{check_slot_id, reach};
use crate::app::App;
use crate::auth::{Action, Area, Caller, Permit};
use crate::error::{Error, ErrorReport, Result};
use crate::id::MemoryId;
use crate::memory::Scope;
use crate::memory::remember::{self, BatchResult};

/// How many slots can be named at once.
pub const MAX_SLOTS_NAMED: usize = 64;

/// Slots whose task is done.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DoneSlots {
    /// The ids of slots to be remembered as durable records and cleared.
    #[serde(default)]
    pub consolidate: Vec<String>,
    /// The ids of slots to be cleared.
    #[serde(default)]
    pub clear: Vec<String>,
}

/// What became of a slot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SettledSlot {
    /// Its id.
    pub id: String,
    /// The durable record it became.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_id: Option<MemoryId>,
    /// Whether it was there and is gone. One that changed while it was being remembered stays.
    pub cleared: bool,
    /// Why it could not be remembered; then it stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorReport>,
}

/// Slots that were found, before anything is done to them.
pub struct Found {
    store: Store,
    slots: DoneSlots,
    items: Vec<Item>,
}

impl DoneSlots {
    /// Finds the slots. Needs the right to clear, and to remember any, to read them and to write durable memory.
    pub async fn find(self, app: &App, caller: &Caller) -> Result<Found> {
        let permit = self.permit(caller)?;
        let store = reach(app, &permit).await?;
        let named = self.consolidate.len() + self.clear.len();
        if named > MAX_SLOTS_NAMED {
            let rule = format!("must not name more than {MAX_SLOTS_NAMED} slots");
            return Err(Error::over_limit("slots", rule, MAX_SLOTS_NAMED as u64, named as u64));
        }
        let mut seen = BTreeSet::new();
        for (list, ids) in [("consolidate", &self.consolidate), ("clear", &self.clear)] {
            for (place, id) in ids.iter().enumerate() {
                let field = format!("slots.{list}[{place}]");
                check_slot_id(id, store.config.max_slot_id_bytes).map_err(|error| error.inside(&field))?;
                if !seen.insert(id) {
                    return Err(Error::invalid(field, "is named twice"));
                }
            }
        }
        let is_wanted = |item: &Item| self.consolidate.contains(&item.id);
        let items = if self.consolidate.is_empty() {
            Vec::new()
        } else {
            picture(&store).await?.items.into_iter().filter(is_wanted).collect()
        };
        Ok(Found { store, slots: self, items })
    }

    /// The right to clear, if the caller has all that is needed.
    pub fn permit(&self, caller: &Caller) -> Result<Permit> {
        if !self.consolidate.is_empty() {
            caller.permit(Action::Read, Area::Working)?;
            caller.permit(Action::Write, Area::Durable)?;
        }
        caller.permit(Action::Delete, Area::Working)
    }
}

impl Found {
    /// Remembers and clears. Slots that are not there are told as not cleared.
    pub async fn settle(self, app: &App, caller: &Caller, scope: &Scope) -> Result<Vec<SettledSlot>> {
        let Self { store, slots, items } = self;
        let records: Vec<_> = items.iter().map(|item| describe(item, scope.clone(), None)).collect();
        let results = match records.as_slice() {
            [] => Vec::new(),
            _ => Box::pin(remember::remember_batch(app, caller, records, None)).await?.body.results,
        };
        let mut settled = Vec::with_capacity(slots.consolidate.len() + slots.clear.len());
        for id in slots.consolidate {
            let place = items.iter().position(|item| item.id == id);
            let mut slot = SettledSlot { id, memory_id: None, cleared: false, error: None };
            if let Some((item, result)) = place.and_then(|at| items.get(at).zip(results.get(at))) {
                match result {
                    BatchResult::Remembered(remembered) => {
                        slot.memory_id = Some(remembered.record.id);
                        let arguments = vec![slot.id.clone(), item.as_stored.clone()];
                        slot.cleared = store.step(&store::CLEAR, arguments).await?.outcome == "ok";
                    }
                    BatchResult::Refused { error } => slot.error = Some(error.clone()),
                }
            }
            settled.push(slot);
        }
        for id in slots.clear {
            let cleared = store.step(&store::CLEAR, vec![id.clone(), String::new()]).await?.outcome == "ok";
            settled.push(SettledSlot { id, memory_id: None, cleared, error: None });
        }
        Ok(settled)
    }
}

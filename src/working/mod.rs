//! Working memory: an agent's workspace, where what is not used fades and what is needed now stays.
//!
//! - A slot, what the engine knows of it and its end are one: every change is one script on one Redis hash.
//! - Slots and items are one population (XB-57). The slot API ([`slots`]) keeps what it is given until its time is over
//!   and refuses what is too much; the engine ([`offer`], [`attention`]) lets things fade and displaces the least
//!   active.
//! - An item fades by the law that was in force when it was set or rehearsed: a change of the settings re-dates nothing
//!   that is stored.
//! - Everything here is volatile. What must last is consolidated into durable memory ([`consolidate`]).

pub mod activation;
pub mod attention;
pub mod binding;
pub mod config;
mod config_store;
pub mod consolidate;
pub mod decay;
pub mod event;
pub mod gate;
mod item;
pub mod offer;
pub mod settings;
pub mod settle;
pub mod slots;
mod store;
pub mod watch;
pub mod workspace;

use self::store::Store;
use crate::app::App;
use crate::auth::{Action, Area, Caller, Permit};
use crate::error::{Error, Result};
use crate::id::TenantId;

/// What a node keeps in mind of working memories.
#[derive(Debug, Default)]
pub struct Node {
    configs: config::Configs,
    promoted: consolidate::Promoted,
}

/// Removes everything of a tenant that was erased. Gives how many namespaces it had.
pub async fn erase(app: &App, tenant: TenantId) -> Result<u64> {
    store::erase(app, tenant).await
}

/// The caller's workspace, if it may do this there, under the settings that hold for it.
async fn open(app: &App, caller: &Caller, action: Action) -> Result<Store> {
    reach(app, &caller.permit(action, Area::Working)?).await
}

/// The workspace that a permit reaches.
async fn reach(app: &App, permit: &Permit) -> Result<Store> {
    Ok(Store::new(app, permit, config::of(app, permit).await?))
}

/// Refuses an id that is empty, blank, too long, or holds characters that do not show (A-504, XA-C9).
fn check_slot_id(id: &str, max_bytes: usize) -> Result<()> {
    crate::memory::check_identifier(id, max_bytes).map_err(|error| match error {
        Error::Invalid(mut fault) => {
            fault.rule = format!("working memory slot id {}", fault.rule).into();
            Error::Invalid(fault)
        }
        other => other,
    })
}

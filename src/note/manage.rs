//! Managing a saved note: so far, deleting it.

use chrono::SecondsFormat;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::auth::Caller;
use crate::error::Result;
use crate::id::MemoryId;
use crate::memory::forget;

/// What to do with a note (D-030, D-031).
#[derive(Debug, Clone, Deserialize)]
pub struct Manage {
    /// The action.
    pub action: ManageAction,
    /// The note.
    pub id: String,
}

/// What can be done with a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ManageAction {
    /// To delete it; for 30 days it can be restored.
    Delete,
}

/// What was done (XD-12).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Managed {
    /// Always true.
    pub ok: bool,
    /// The note.
    pub id: MemoryId,
    /// What was done.
    pub action: ManageAction,
    /// Always true.
    pub deleted: bool,
    /// Until when it can be restored, RFC 3339 in UTC.
    pub recoverable_until: String,
}

/// Deletes a note. The same again is answered in the same way while it can be restored (XD-12).
pub async fn manage(app: &App, caller: &Caller, manage: &Manage) -> Result<Managed> {
    let ManageAction::Delete = manage.action;
    let (id, until) = forget::take_away(app, caller, manage.id.trim()).await?;
    let recoverable_until = until.to_rfc3339_opts(SecondsFormat::Secs, true);
    Ok(Managed { ok: true, id, action: manage.action, deleted: true, recoverable_until })
}

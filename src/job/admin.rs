//! Jobs as operators see them: across tenants, and without a word of what they are about.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{JobKind, JobStatus, admin_store as store};
use crate::app::App;
use crate::auth::OperatorPermit;
use crate::error::{Error, Result};
use crate::id::{JobId, TenantId};
use crate::page::{CursorScope, Limit, Page, PageRequest};
use crate::time::UnixTime;

/// A job of any tenant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AdminJob {
    /// Its id.
    pub id: JobId,
    /// Whose it is.
    pub tenant_id: TenantId,
    /// What is to be done.
    pub kind: JobKind,
    /// How far it is.
    pub status: JobStatus,
    /// How often it was tried.
    pub attempts: i32,
    /// Why it failed, the last time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// When it was asked for.
    pub created_at: UnixTime,
    /// When it last got on.
    pub updated_at: UnixTime,
}

/// A job of any tenant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AdminJobReply {
    /// The job.
    pub job: AdminJob,
}

/// Which jobs to list.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobQuery {
    /// Only those of this status.
    #[serde(default)]
    pub status: Option<JobStatus>,
    /// How many; 20 unless told, at most 100.
    #[serde(default)]
    pub limit: Option<Limit>,
    /// What the page before gave to continue with.
    #[serde(default)]
    pub cursor: Option<String>,
}

impl JobStatus {
    /// Every status.
    pub const ALL: [Self; 4] = [Self::Queued, Self::Running, Self::Done, Self::Failed];

    /// The name on the wire and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }
}

impl FromStr for JobStatus {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|status| status.as_str() == text);
        found.ok_or_else(|| format!("{text:?} is no status of a job"))
    }
}

/// The jobs of all tenants, newest first.
pub async fn list(app: &App, permit: &OperatorPermit, query: JobQuery) -> Result<Page<AdminJob>> {
    let JobQuery { status, limit, cursor } = query;
    let request = PageRequest { limit, cursor };
    let scope = CursorScope::new(TenantId::from_uuid(Uuid::nil()), "jobs", &status)?;
    let before = match &request.cursor {
        Some(cursor) => scope.place(&app.seal, app.clock.now(), cursor)?,
        None => Uuid::max(),
    };
    let statuses = status.map_or_else(|| JobStatus::ALL.to_vec(), |status| vec![status]);
    let mut tx = app.db.begin_operator(permit).await?;
    let rows = store::list(&mut tx, &statuses, before, request.rows()).await?;
    tx.commit().await?;
    request.page(rows, |last| scope.cursor(&app.seal, app.clock.now(), &last.id.uuid()))
}

/// Lets a job that was given up be tried again, as often as a new one.
pub async fn retry(app: &App, permit: &OperatorPermit, id: JobId) -> Result<AdminJob> {
    let now = app.clock.now();
    let mut tx = app.db.begin_operator(permit).await?;
    let job = store::lock(&mut tx, id).await?.ok_or(Error::NotFound("job"))?;
    if job.status != JobStatus::Failed {
        return Err(Error::Conflict(format!("the job is {}, not failed", job.status.as_str()).into()));
    }
    let job = store::retry(&mut tx, &job, now).await?;
    tx.audit(permit, Some(job.tenant_id), "job.retry", &id.to_string(), now).await?;
    tx.commit().await?;
    app.jobs.ring();
    Ok(job)
}

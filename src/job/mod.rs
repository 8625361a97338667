//! Work that is done after its request was answered: enqueued in the transaction that asks for it, done in the
//! background, tried again when it fails.
//!
//! - A job is in Postgres before it is answered for: it survives whatever ends the process (XD-15).
//! - A node holds a job for a lease, which it renews while it works. Who comes back too late settles nothing: each
//!   claim has a number of its own, the fence.
//! - What a job does is in the same transaction as its end, so that it is done once, however often it was tried.
//! - Tenants take turns, and none has more than a few jobs under way at once.
//! - A job says why it failed, and never what its text says.
//!
//! Housekeeping, which nobody asked for, is in `housekeeping`.

pub mod admin;
mod admin_store;
mod backfill;
mod backfill_store;
mod backoff;
mod claim_store;
mod housekeeping;
mod purge;
mod purge_store;
mod runner;
mod store;

use std::sync::Mutex;
use std::time::Duration;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

pub use housekeeping::tidy;
pub use runner::work;

use crate::app::App;
use crate::auth::{Action, Actor, ActorKind, Area, Caller, Namespace, OperatorPermit, Permit, Reach};
use crate::db::TenantTx;
use crate::error::{Error, Result};
use crate::id::{JobId, MemoryId, ParseIdError, SourceId, TenantId};
use crate::memory::Scope;
use crate::memory::accept;
use crate::time::UnixTime;

/// How often a job is tried again before it is given up (XD-15).
pub const RETRIES: i32 = 5;

/// When it is worth asking again for a place in the queue.
const FULL_RETRY: Duration = Duration::from_secs(5);

/// A job as its tenant sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Job {
    /// Its id.
    pub id: JobId,
    /// What is to be done.
    pub kind: JobKind,
    /// How far it is.
    pub status: JobStatus,
    /// The records in which what it found is now: new ones, and those that said it before.
    pub memory_ids: Vec<MemoryId>,
    /// Why it failed, the last time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What found the facts: `rules`, or `llm`, a language model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extracted_by: Option<String>,
    /// Which sorts of secrets were masked in the text before it was stored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub masked: Vec<String>,
    /// What else is to be said of how it was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// When it was asked for.
    pub created_at: UnixTime,
    /// When it last got on.
    pub updated_at: UnixTime,
}

/// A job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobReply {
    /// The job.
    pub job: Job,
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum JobKind {
    /// Find what is worth keeping in a text.
    Capture,
    /// Give records their vectors that were stored without an embedder.
    Backfill,
}

/// How far a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum JobStatus {
    /// It waits for its turn, or to be tried again.
    Queued,
    /// A node is at it.
    Running,
    /// It was done.
    Done,
    /// It was given up.
    Failed,
}

/// A job to find facts in a source.
#[derive(Debug, Clone)]
pub struct NewCapture {
    /// The text.
    pub source: SourceId,
    /// Whose memory it is to become.
    pub owner: Scope,
    /// Which sorts of secrets were masked in it.
    pub masked: Vec<String>,
}

/// A job that a node holds.
#[derive(Debug, Clone)]
pub struct Claimed {
    tenant: TenantId,
    namespace: Namespace,
    id: JobId,
    kind: JobKind,
    attempts: i32,
    fence: i32,
    source: Option<SourceId>,
    owner: Option<Scope>,
    reach: Option<Reach>,
}

/// How a job ended well.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// The records in which its facts are.
    pub memory_ids: Vec<MemoryId>,
    /// What found them.
    pub extracted_by: Option<String>,
    /// What else is to be said.
    pub note: Option<String>,
}

/// What a node keeps in mind of jobs.
#[derive(Debug, Default)]
pub struct Node {
    bell: Notify,
    looked: Mutex<backfill::Looked>,
}

impl Node {
    /// Says that there is a job to be done. Call it once the job is committed.
    pub fn ring(&self) {
        self.bell.notify_one();
    }

    async fn rung(&self) {
        self.bell.notified().await;
    }
}

impl Claimed {
    /// The text to be looked at.
    pub fn source(&self) -> Result<SourceId> {
        self.source.ok_or_else(|| Error::internal("a job without a source"))
    }

    /// Whose memory it writes.
    pub fn owner(&self) -> Result<Scope> {
        self.owner.clone().ok_or_else(|| Error::internal("a job without an owner"))
    }

    /// The right to write what was asked for, as far as the token reached that asked.
    pub fn permit(&self) -> Result<Permit> {
        let reach = self.reach.clone().ok_or_else(|| Error::internal("a job without a reach"))?;
        let actor = Actor { kind: ActorKind::Extractor, id: None };
        Ok(OperatorPermit::service().on_behalf(self.tenant, self.namespace.clone(), reach, actor))
    }
}

/// Does jobs and housekeeping until the process stops, and gives back what is not done.
pub async fn run(app: App) {
    tokio::join!(runner::run(&app), housekeeping::run(&app));
}

/// Asks for a text to be captured, in the transaction that stores it. Fails with `RateLimited` when as many jobs of the
/// tenant are waiting as may.
pub async fn enqueue(
    tx: &mut TenantTx,
    permit: &Permit,
    new: &NewCapture,
    now: DateTime<Utc>,
) -> Result<JobId> {
    if let Some(limit) = store::max_queued(tx).await?
        && store::queued(tx, limit).await? >= limit
    {
        return Err(Error::RateLimited { what: "max_queued_jobs", limit, retry_after: FULL_RETRY });
    }
    let id = JobId::new();
    store::insert_capture(tx, id, new, &permit.reach(), now).await?;
    Ok(id)
}

/// Ends a job well, in the transaction that has its effect. Fails when the job was taken over meanwhile.
pub async fn settle(tx: &mut TenantTx, job: &Claimed, outcome: &Outcome, now: DateTime<Utc>) -> Result<()> {
    if store::settle(tx, job, outcome, now).await? { Ok(()) } else { Err(taken_over()) }
}

fn taken_over() -> Error {
    Error::Conflict("the job was taken over by another node".into())
}

/// A job of the caller's namespace. One of a scope that the token does not reach is as if absent, and so is one that
/// made a record which the token does not see.
pub async fn get(app: &App, caller: &Caller, id: &str) -> Result<Job> {
    let permit = &caller.permit(Action::Read, Area::Durable)?;
    let id = parse(id)?;
    let mut tx = app.db.begin(permit).await?;
    let (job, owner) = store::find(&mut tx, id).await?.ok_or(Error::NotFound("job"))?;
    let is_reached = permit.scopes().is_none_or(|scopes| owner.is_some_and(|owner| scopes.contains(&owner)));
    if !is_reached || !accept::sees_all(&mut tx, permit, &job.memory_ids).await? {
        return Err(Error::NotFound("job"));
    }
    tx.commit().await?;
    Ok(job)
}

/// The id of something else names a job that does not exist.
fn parse(id: &str) -> Result<JobId> {
    id.parse().map_err(|error| match error {
        ParseIdError::OtherKind => Error::NotFound("job"),
        ParseIdError::Malformed => Error::invalid("id", error.to_string()),
    })
}

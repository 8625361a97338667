//! Who does the jobs: takes what is due, holds it while it works, and lets go of it when the process ends.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use chrono::TimeDelta;
use futures_util::FutureExt;
use tokio::task::{AbortHandle, Id, JoinSet};
use tokio::time::{Instant, MissedTickBehavior};

use super::backoff::wait;
use super::{Claimed, JobKind, RETRIES, backfill, claim_store as store};
use crate::app::App;
use crate::auth::OperatorPermit;
use crate::capture;
use crate::error::{Error, Result};

/// How many jobs a node does at once: most of them wait for a provider.
const AT_ONCE: usize = 16;

/// How many jobs of one tenant are under way at once, on all nodes together, so that the others find a place at once.
const AT_ONCE_OF_TENANT: i64 = 8;

/// How long a node holds a job without a sign of life.
const LEASE: TimeDelta = TimeDelta::seconds(60);

/// How often it gives one; twice may go wrong.
const SIGN_OF_LIFE: Duration = Duration::from_secs(20);

/// How often a node looks by itself: for jobs of other nodes, and for those that have waited long enough.
const POLL: Duration = Duration::from_secs(1);

/// How long an attempt may take.
const TIMEOUT: Duration = Duration::from_mins(5);

/// How long giving back may take before the leases are left to run out.
const GOODBYE: Duration = Duration::from_secs(1);

/// The longest reason that is kept, in characters.
const MAX_REASON_CHARS: usize = 300;

/// How an attempt ended that did not fail.
pub enum Ended {
    /// The job was settled with its effect.
    Settled,
    /// There is more to do, in another turn.
    More,
}

/// The jobs that a node is at.
#[derive(Default)]
struct Crew {
    tasks: JoinSet<()>,
    held: HashMap<Id, (Claimed, AbortHandle)>,
}

/// Does jobs until the process stops.
pub async fn run(app: &App) {
    let mut crew = Crew::default();
    let mut signs = tokio::time::interval_at(Instant::now() + SIGN_OF_LIFE, SIGN_OF_LIFE);
    signs.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while !app.is_stopping() {
        crew.take(app).await;
        tokio::select! {
            () = app.stopped() => break,
            Some(ended) = crew.tasks.join_next_with_id() => {
                let id = ended.map_or_else(|error| error.id(), |(id, ())| id);
                crew.held.remove(&id);
            }
            _ = signs.tick() => crew.give_sign(app).await,
            () = app.jobs.rung() => {}
            () = tokio::time::sleep(POLL) => {}
        }
    }
    crew.let_go(app).await;
}

/// Does what is due now, and what becomes due by it. Gives how many attempts were made.
pub async fn work(app: &App) -> usize {
    let mut attempts = 0;
    loop {
        let jobs = match claim(app, AT_ONCE).await {
            Ok(jobs) if jobs.is_empty() => return attempts,
            Ok(jobs) => jobs,
            Err(error) => {
                tracing::warn!(%error, "jobs have to wait");
                return attempts;
            }
        };
        attempts += jobs.len();
        let mut tasks: JoinSet<()> = jobs.into_iter().map(|job| attempt(app.clone(), job)).collect();
        while tasks.join_next().await.is_some() {}
    }
}

impl Crew {
    /// Takes as many jobs as there are free hands.
    async fn take(&mut self, app: &App) {
        let free = AT_ONCE.saturating_sub(self.held.len());
        if free == 0 {
            return;
        }
        match claim(app, free).await {
            Ok(jobs) => {
                for job in jobs {
                    let task = self.tasks.spawn(attempt(app.clone(), job.clone()));
                    self.held.insert(task.id(), (job, task));
                }
            }
            Err(error) => tracing::warn!(%error, "jobs have to wait"),
        }
    }

    /// Holds what is under way for longer; ends what was taken over.
    async fn give_sign(&mut self, app: &App) {
        if self.held.is_empty() {
            return;
        }
        let jobs: Vec<Claimed> = self.held.values().map(|(job, _)| job.clone()).collect();
        let renew = async {
            let mut tx = app.db.begin_operator(&OperatorPermit::service()).await?;
            let held = store::renew(&mut tx, &jobs, app.clock.now() + LEASE).await?;
            tx.commit().await?;
            Ok::<_, Error>(held)
        };
        match renew.await {
            // To end what has ended by itself meanwhile does nothing.
            Ok(held) => self
                .held
                .values()
                .filter(|(job, _)| !held.contains(&job.id))
                .for_each(|(_, task)| task.abort()),
            Err(error) => tracing::warn!(%error, "jobs could not be held for longer"),
        }
    }

    /// Ends what is under way and puts it back, for another node or the next start.
    async fn let_go(mut self, app: &App) {
        self.tasks.shutdown().await;
        let jobs: Vec<Claimed> = self.held.into_values().map(|(job, _)| job).collect();
        if jobs.is_empty() {
            return;
        }
        match tokio::time::timeout(GOODBYE, give_back(app, &jobs)).await {
            Ok(Ok(jobs)) => tracing::info!(jobs, "gave back jobs"),
            Ok(Err(error)) => tracing::warn!(%error, "jobs wait until their leases end"),
            Err(_) => tracing::warn!("jobs wait until their leases end"),
        }
    }
}

async fn claim(app: &App, limit: usize) -> Result<Vec<Claimed>> {
    let now = app.clock.now();
    let mut tx = app.db.begin_operator(&OperatorPermit::service()).await?;
    let buried = store::bury(&mut tx, "the service ended while it was under way", now).await?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let jobs = store::claim(&mut tx, limit, AT_ONCE_OF_TENANT, now, now + LEASE).await?;
    tx.commit().await?;
    count("failed", buried);
    Ok(jobs)
}

/// Tries a job once, whatever it does.
async fn attempt(app: App, job: Claimed) {
    let work = AssertUnwindSafe(do_job(&app, &job)).catch_unwind();
    let fault = match tokio::time::timeout(TIMEOUT, work).await {
        Ok(Ok(Ok(Ended::Settled))) => return count("done", 1),
        Ok(Ok(Ok(Ended::More))) => return put_back(&app, &job).await,
        Ok(Ok(Err(error))) => error,
        Ok(Err(_)) => Error::internal("a job panicked"),
        Err(_) => Error::unavailable("what the job waited for"),
    };
    tracing::warn!(job.id = %job.id, attempt = job.attempts, error = %tell(&fault), "a job failed");
    if let Err(error) = fail(&app, &job, &fault).await {
        tracing::warn!(job.id = %job.id, %error, "a failed job is tried again when its lease ends");
    }
}

async fn do_job(app: &App, job: &Claimed) -> Result<Ended> {
    match job.kind {
        JobKind::Capture => capture::extract(app, job).await.map(|()| Ended::Settled),
        JobKind::Backfill => backfill::fill(app, job).await,
    }
}

/// Lets others have their turn before the rest is done.
async fn put_back(app: &App, job: &Claimed) {
    if let Err(error) = give_back(app, std::slice::from_ref(job)).await {
        tracing::warn!(job.id = %job.id, %error, "the rest of a job waits until its lease ends");
    }
}

async fn give_back(app: &App, jobs: &[Claimed]) -> Result<u64> {
    let mut tx = app.db.begin_operator(&OperatorPermit::service()).await?;
    let given = store::give_back(&mut tx, jobs, app.clock.now()).await?;
    tx.commit().await?;
    Ok(given)
}

async fn fail(app: &App, job: &Claimed, fault: &Error) -> Result<()> {
    let now = app.clock.now();
    let next = (job.attempts <= RETRIES).then(|| now + wait(job.attempts, job.id));
    let mut tx = app.db.begin_operator(&OperatorPermit::service()).await?;
    store::fail(&mut tx, job, &tell(fault), next, now).await?;
    tx.commit().await?;
    count(if next.is_some() { "retried" } else { "failed" }, 1);
    Ok(())
}

/// Why a job failed, for its tenant. What a fault of ours is about is for the log alone.
fn tell(fault: &Error) -> String {
    let reason = match fault {
        Error::Internal(source) => {
            tracing::error!(error = %source, "a job met a fault");
            return fault.to_string();
        }
        // It may repeat what it refuses.
        Error::Invalid(fault) | Error::Unprocessable(fault) | Error::TooLarge(fault) => {
            fault.field.to_string() + " is not in order"
        }
        other => other.to_string(),
    };
    reason.chars().take(MAX_REASON_CHARS).collect()
}

fn count(outcome: &'static str, jobs: u64) {
    metrics::counter!("memtide_jobs_total", "outcome" => outcome).increment(jobs);
}

//! Records that were stored while there was no embedder get their vectors once there is one.

use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use std::sync::PoisonError;

use super::backfill_store::{self as store, Place};
use super::runner::Ended;
use super::{Claimed, Outcome, settle};
use crate::app::App;
use crate::auth::OperatorPermit;
use crate::error::Result;
use crate::memory::reembed::fill_until;

/// How long a node rests between two looks at all namespaces. A look reads every active record's id.
const REST: TimeDelta = TimeDelta::hours(1);

/// How many namespaces one statement looks at.
const ROUND: i64 = 100;

/// How long one look goes on; the next begins where it ended.
const LOOK: Duration = Duration::from_millis(500);

/// How long a job goes on before others have their turn.
const TURN: Duration = Duration::from_secs(30);

/// How far a node has looked.
#[derive(Debug, Default)]
pub struct Looked {
    /// The namespace it looked at last.
    place: Option<Place>,
    /// When it may begin again.
    rest_until: Option<DateTime<Utc>>,
}

/// Looks for namespaces with records that lack a vector of the model they are searched with, and asks for it to be
/// made. What has no usable vector is not asked for again until it changes. Gives how many namespaces.
pub async fn look(app: &App) -> Result<u64> {
    let model = app.db.model();
    let now = app.clock.now();
    let mut place = {
        let looked = app.jobs.looked.lock().unwrap_or_else(PoisonError::into_inner);
        if model == 0 || looked.rest_until.is_some_and(|until| now < until) {
            return Ok(0);
        }
        looked.place
    };
    let (start, mut asked) = (Instant::now(), 0);
    loop {
        let mut tx = app.db.begin_operator(&OperatorPermit::service()).await?;
        let seen = store::look(&mut tx, model, place, ROUND, now - REST).await?;
        let lacking: Vec<Place> = seen.iter().filter(|(_, lacks)| *lacks).map(|(place, _)| *place).collect();
        if !lacking.is_empty() {
            asked += store::ask(&mut tx, &lacking, now).await?;
        }
        tx.commit().await?;
        let is_last = seen.len() < usize::try_from(ROUND).unwrap_or(usize::MAX);
        place = seen.last().map(|(place, _)| *place).filter(|_| !is_last);
        if is_last || start.elapsed() > LOOK {
            let mut looked = app.jobs.looked.lock().unwrap_or_else(PoisonError::into_inner);
            *looked = Looked { place, rest_until: is_last.then(|| now + REST) };
            break;
        }
    }
    if asked > 0 {
        app.jobs.ring();
    }
    Ok(asked)
}

/// Gives the records of a namespace their vectors, as far as one turn reaches.
pub async fn fill(app: &App, job: &Claimed) -> Result<Ended> {
    let permit = &OperatorPermit::service().within(job.tenant, job.namespace.clone());
    let (is_more, embedded) = fill_until(app, permit, Instant::now() + TURN).await?;
    if is_more {
        return Ok(Ended::More);
    }
    let mut tx = app.db.begin(permit).await?;
    let note = Some(format!("{embedded} records got a vector in the last turn"));
    settle(&mut tx, job, &Outcome { note, ..Outcome::default() }, app.clock.now()).await?;
    tx.commit().await?;
    Ok(Ended::Settled)
}

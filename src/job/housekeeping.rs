//! Housekeeping: what the service does on its own, in the background, a little at a time.
//!
//! Every task is safe to run twice and on several nodes at once.

use std::time::Duration;

use super::{backfill, purge};
use crate::app::App;
use crate::error::Result;
use crate::{candidate, event, idempotency, memory, tenant, working};

/// How often there is something to tidy up.
const PERIOD: Duration = Duration::from_secs(5);

/// How many periods pass between two looks for what is rare and costly to look for.
const SELDOM: u32 = 6;

/// A task that takes longer waits for an answer of a database that is gone. What it has left is found again.
const TASK_TIMEOUT: Duration = Duration::from_mins(5);

/// Does housekeeping until the process stops.
pub async fn run(app: &App) {
    let mut ticks = tokio::time::interval(PERIOD);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    for period in 0_u32.. {
        tokio::select! {
            () = app.stopped() => return,
            _ = ticks.tick() => {}
        }
        tidy_often(app).await;
        if period.is_multiple_of(SELDOM) {
            tidy_seldom(app).await;
        }
    }
}

/// Does everything that is due, once. A task that fails is logged and does not keep the others from their turn.
pub async fn tidy(app: &App) {
    tidy_often(app).await;
    tidy_seldom(app).await;
}

async fn tidy_often(app: &App) {
    run_task("count what was read", memory::access::flush(app)).await;
    run_task("expire records", memory::sweep::expire(app)).await;
    run_task("remove old tombstones", memory::sweep::purge(app)).await;
    run_task("expire candidates", candidate::sweep::expire(app)).await;
    run_task("remove old candidates", candidate::sweep::purge(app)).await;
    run_task("remove old events", event::purge(app)).await;
    run_task("drop old idempotency keys", idempotency::purge(app)).await;
    run_task("drop old jobs", purge::purge(app)).await;
    run_task("erase what is left of erased tenants", tenant::sweep(app)).await;
}

/// Finding large namespaces reads the counters of all, finding old slots every namespace that is to consolidate them.
async fn tidy_seldom(app: &App) {
    run_task("consolidate old slots", working::consolidate::promote(app)).await;
    run_task("index large namespaces", memory::search::graph::mark(app)).await;
    run_task("look for records without vectors", backfill::look(app)).await;
}

async fn run_task(task: &'static str, work: impl Future<Output = Result<u64>>) {
    match tokio::time::timeout(TASK_TIMEOUT, work).await {
        Ok(Ok(0)) => {}
        Ok(Ok(rows)) => tracing::info!(task, rows, "housekeeping"),
        Ok(Err(error)) => tracing::warn!(task, error = %error, "housekeeping has to wait"),
        Err(_) => tracing::warn!(task, "housekeeping got no answer"),
    }
}

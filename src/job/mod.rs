//! Housekeeping: what the service does on its own, in the background, a little at a time.
//!
//! Every task is safe to run twice and on several nodes at once.

use std::time::Duration;

use crate::app::App;
use crate::error::Result;
use crate::{idempotency, memory, tenant};

/// How often there is something to tidy up.
const PERIOD: Duration = Duration::from_secs(5);

/// Does housekeeping until the process stops.
pub async fn run(app: App) {
    let mut ticks = tokio::time::interval(PERIOD);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    while !app.is_stopping() {
        ticks.tick().await;
        tidy(&app).await;
    }
}

/// Does everything that is due, once. A task that fails is logged and does not keep the others from their turn.
pub async fn tidy(app: &App) {
    report("count what was read", memory::access::flush(app).await);
    report("expire records", memory::sweep::expire(app).await);
    report("remove old tombstones", memory::sweep::purge(app).await);
    report("index large namespaces", memory::search::graph::mark(app).await);
    report("drop old idempotency keys", idempotency::purge(app).await);
    report("erase what is left of erased tenants", tenant::sweep(app).await);
}

fn report(task: &'static str, result: Result<u64>) {
    match result {
        Ok(0) => {}
        Ok(rows) => tracing::info!(task, rows, "housekeeping"),
        Err(error) => tracing::warn!(task, error = %error, "housekeeping has to wait"),
    }
}

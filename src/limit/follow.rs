//! Learning of changed limits, and of how many nodes there are.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use super::{nodes, store};
use crate::app::App;
use crate::auth::{CHANNEL, OperatorPermit};
use crate::db::Follower;
use crate::error::{Error, Result};
use crate::id::{Id, kind};

/// How often limits are looked for when no word of a change came.
const POLL: Duration = Duration::from_secs(2);

/// How often nodes are counted.
const COUNT: Duration = Duration::from_secs(1);

/// A look that takes longer asks a database that is gone.
const READ_TIMEOUT: Duration = Duration::from_secs(3);

/// Learns what changed. What cannot be read now is read within seconds; until then what is known stands.
pub async fn reload(app: &App) {
    let read = tokio::time::timeout(READ_TIMEOUT, read(app)).await;
    if let Err(error) = read.unwrap_or_else(|_| Err(Error::unavailable("the database"))) {
        tracing::warn!(%error, "limits could not be read; the last known stand");
    }
}

async fn read(app: &App) -> Result<()> {
    let seen = *app.limits.seen.lock().unwrap_or_else(PoisonError::into_inner);
    let mut tx = app.db.begin_operator(&OperatorPermit::service()).await?;
    let changed = store::changed(&mut tx, seen).await?;
    tx.commit().await?;
    app.limits.learn(changed);
    Ok(())
}

/// Reads again on every word of a change and every two seconds, and counts the nodes, until the app stops.
pub async fn follow(app: App) {
    tokio::spawn(count_nodes(app.clone()));
    let mut changes = Follower::new(CHANNEL, POLL);
    loop {
        tokio::select! {
            () = app.stopped() => return,
            () = changes.next(&app.db) => reload(&app).await,
        }
    }
}

async fn count_nodes(app: App) {
    let me = Id::<kind::Node>::new().to_string();
    let mut ticks = tokio::time::interval(COUNT);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = app.stopped() => return nodes::leave(&app.kv, &me).await,
            _ = ticks.tick() => {}
        }
        // Without Redis the last known number stands.
        if let Ok(count) = nodes::count(&app.kv, &me).await {
            app.limits.nodes.store(count, Ordering::Relaxed);
        }
    }
}

//! The dispatcher: gives committed events their numbers, and wakes who waits for them.
//!
//! An event without a number is one that was not told yet, whenever its transaction commits: unlike a cursor over ids
//! or transactions, that misses nothing, and it does not wait for a long transaction elsewhere.

use std::collections::HashMap;
use std::time::Duration;

use super::store;
use crate::app::App;
use crate::auth::OperatorPermit;
use crate::db::Listener;
use crate::error::{Error, Result};
use crate::id::TenantId;

/// How many events get their numbers in one transaction.
const ROUND: i64 = 2_000;

/// How long writers are waited for before their events get numbers together. Part of the way from commit to client.
const GATHER: Duration = Duration::from_millis(15);

/// How often events of writers that died before they told are looked for.
const POLL: Duration = Duration::from_millis(500);

/// How often a node looks by itself whether there are new numbers, in case a word was lost.
const LISTEN_POLL: Duration = Duration::from_secs(2);

/// A look that takes longer asks a database that is gone.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Starts both halves, until the app stops.
pub fn start(app: &App) {
    tokio::spawn(dispatch(app.clone()));
    tokio::spawn(listen(app.clone()));
}

/// Gives numbers whenever a writer of this process has committed, and every half second for those of others.
async fn dispatch(app: App) {
    loop {
        tokio::select! {
            () = app.stopped() => return,
            () = app.db.announced() => tokio::time::sleep(GATHER).await,
            () = tokio::time::sleep(POLL) => {}
        }
        loop {
            match in_time(number(&app)).await {
                Ok(count) if i64::try_from(count).is_ok_and(|count| count >= ROUND) => {}
                Ok(_) => break,
                Err(error) => {
                    tracing::warn!(%error, "events have to wait for their numbers");
                    tokio::time::sleep(POLL).await;
                    break;
                }
            }
        }
    }
}

async fn number(app: &App) -> Result<usize> {
    let mut tx = app.db.begin_operator(&OperatorPermit::service()).await?;
    store::take_turn(&mut tx).await?;
    let count = store::number(&mut tx, ROUND).await?;
    tx.commit().await?;
    metrics::counter!("memtide_events_total").increment(count as u64);
    Ok(count)
}

/// Wakes the streams of this node when any node has given numbers.
async fn listen(app: App) {
    let mut listener = None;
    let mut known = HashMap::new();
    loop {
        let heard = tokio::select! {
            () = app.stopped() => return,
            heard = next_word(&app, &mut listener) => heard,
        };
        match heard {
            Some(words) => wake(&app, &words),
            None => {
                if let Err(error) = in_time(look(&app, &mut known)).await {
                    tracing::warn!(%error, "new events could not be looked for");
                }
            }
        }
    }
}

/// Waits for words; nothing when it is time to look without one.
async fn next_word(app: &App, listener: &mut Option<Listener>) -> Option<Vec<String>> {
    if listener.is_none() {
        let opening = tokio::time::timeout(LISTEN_POLL, app.db.listen(store::CHANNEL)).await;
        *listener = opening.ok().and_then(Result::ok);
        if listener.is_some() {
            return None;
        }
    }
    let Some(open) = listener else {
        tokio::time::sleep(LISTEN_POLL).await;
        return None;
    };
    match tokio::time::timeout(LISTEN_POLL, open.heard()).await {
        Ok(Ok(words)) => words,
        Ok(Err(error)) => {
            tracing::warn!(%error, "no word of new events comes any more");
            *listener = None;
            None
        }
        Err(_) => None,
    }
}

fn wake(app: &App, words: &[String]) {
    for word in words {
        if word.is_empty() {
            app.events.wake_all();
        }
        for name in word.split(' ').filter_map(|name| name.parse().ok()) {
            app.events.wake(TenantId::from_uuid(name));
        }
    }
}

/// Wakes those whose tenants have new numbers, as far as anybody follows them.
async fn look(app: &App, known: &mut HashMap<TenantId, i64>) -> Result<()> {
    let followed = app.events.followed();
    known.retain(|tenant, _| followed.contains(tenant));
    if followed.is_empty() {
        return Ok(());
    }
    let mut tx = app.db.begin_operator(&OperatorPermit::service()).await?;
    for (tenant, progress) in store::progress(&mut tx, &followed).await? {
        if known.insert(tenant, progress) != Some(progress) {
            app.events.wake(tenant);
        }
    }
    tx.commit().await
}

async fn in_time<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::time::timeout(TIMEOUT, work).await.unwrap_or_else(|_| Err(Error::unavailable("the database")))
}

//! Watching a workspace: first what it is, then everything that happens, in order and once, until the token ends.
//!
//! What ends by itself is noticed here on time: a watcher knows when the next item ends, and takes it out then, as any
//! read would. Where something may have been missed, the whole workspace is told again.

use std::collections::VecDeque;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, Interval, MissedTickBehavior};

use super::decay::Decay;
use super::event::{Change, Happened};
use super::item::Item;
use super::reach;
use super::workspace::{Picture, picture};
use crate::app::App;
use crate::auth::{Action, Area, Caller, Permit};
use crate::error::{Error, Result};
use crate::kv::{Feed, Notice};

/// How often the watcher's token is looked at again; a revoked one is to end its stream within 5 s.
const RECHECK: Duration = Duration::from_millis(500);

/// How soon a look that failed is tried again.
const RETRY: Duration = Duration::from_millis(250);

/// How long the beginning waits until Redis tells what happens.
const LISTEN_TIMEOUT: Duration = Duration::from_millis(250);

/// What a watcher is told.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Told {
    /// The whole workspace, at the beginning and after a gap.
    Workspace(Standing),
    /// Something happened.
    Happened {
        /// What.
        #[serde(flatten)]
        what: Happened,
        /// The version of the workspace after it.
        version: u64,
        /// When, in milliseconds.
        at_ms: i64,
    },
}

/// The workspace as far as activation can be drawn from it; values are had from the workspace itself.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Standing {
    /// The items, in the byte order of their ids.
    pub items: Vec<Bar>,
    /// How much the workspace holds.
    pub capacity: u32,
    /// The slot in focus.
    pub focus: Option<String>,
    /// The version of the workspace.
    pub version: u64,
    /// When this was so, in milliseconds.
    pub at_ms: i64,
}

/// An item whose activation can be drawn from here on: `activation` at `since_ms`, falling by `decay` until it ends.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Bar {
    /// The slot's id.
    pub id: String,
    /// Its activation at `since_ms`.
    pub activation: f64,
    /// When it was last set or rehearsed, in milliseconds.
    pub since_ms: i64,
    /// The law it falls by.
    pub decay: Decay,
    /// ActR: when it was presented, the latest times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub presentations_ms: Vec<i64>,
    /// When it leaves, in milliseconds, unless it is rehearsed, displaced or cleared before.
    pub ends_at_ms: i64,
    /// Whether it came by the slot API.
    pub injected: bool,
}

impl From<Item> for Bar {
    fn from(item: Item) -> Self {
        Self {
            id: item.id,
            activation: item.trace.level,
            since_ms: item.trace.since_ms,
            decay: item.decay,
            presentations_ms: item.trace.presentations.kept_ms,
            ends_at_ms: item.ends_ms,
            injected: item.is_injected,
        }
    }
}

/// One who watches.
pub struct Watch {
    app: App,
    caller: Caller,
    permit: Permit,
    feed: Feed,
    queue: VecDeque<Told>,
    /// The version and time that were told last; nothing before the first look and after a gap.
    seen: Option<(u64, i64)>,
    /// When to look after what has ended, or to look at all.
    due: Option<Instant>,
    recheck: Interval,
}

/// Begins to watch the caller's workspace.
pub async fn watch(app: &App, caller: Caller) -> Result<Watch> {
    let permit = caller.permit(Action::Read, Area::Working)?;
    let feed = app.kv.feeds().open(&reach(app, &permit).await?.channel())?;
    let mut recheck = tokio::time::interval(RECHECK);
    recheck.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut watch = Watch {
        app: app.clone(),
        caller,
        permit,
        feed,
        queue: VecDeque::new(),
        seen: None,
        due: None,
        recheck,
    };
    // The first look is part of the request, so that a Redis that is away is a 503. From then on nothing is missed.
    let is_live = tokio::time::timeout(LISTEN_TIMEOUT, watch.feed.is_live()).await;
    is_live.map_err(|_| Error::unavailable("working memory"))?;
    watch.look().await?;
    Ok(watch)
}

impl Watch {
    /// The next thing to be told; nothing when the token has ended, the process is about to, or the watcher is too far
    /// behind.
    pub async fn next(&mut self) -> Option<Told> {
        loop {
            if let Some(told) = self.queue.pop_front() {
                return Some(told);
            }
            let due = self.due;
            tokio::select! {
                () = self.app.stopped() => return None,
                _ = self.recheck.tick() => {
                    self.app.auth.readmit(&self.app, &self.caller).ok()?;
                }
                notice = self.feed.next() => match notice? {
                    Notice::Message(text) => self.hear(&text),
                    Notice::Gap => self.look_soon(),
                },
                () = tokio::time::sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                    if let Err(error) = self.look_after().await {
                        tracing::debug!(%error, "a watched workspace cannot be looked at");
                        self.due = Some(Instant::now() + RETRY);
                    }
                }
            }
        }
    }

    fn hear(&mut self, text: &str) {
        let Ok(change) = serde_json::from_str::<Change>(text) else { return self.look_soon() };
        match self.seen {
            // The first look is still to come, and shows it.
            None => {}
            Some((version, _)) if change.from == version => self.tell(change),
            // What was published before the last look, and came after it.
            Some((_, at_ms)) if change.at_ms <= at_ms => {}
            Some(_) => self.look_soon(),
        }
    }

    fn tell(&mut self, change: Change) {
        let Change { version, at_ms, next_ms, events, .. } = change;
        self.seen = Some((version, at_ms));
        self.wake(next_ms, at_ms);
        self.queue.extend(events.into_iter().map(|what| Told::Happened { what, version, at_ms }));
    }

    fn look_soon(&mut self) {
        self.seen = None;
        self.due = Some(Instant::now());
    }

    /// Takes out what has ended, which is then heard of; after a gap, looks at everything.
    async fn look_after(&mut self) -> Result<()> {
        if self.seen.is_none() {
            return self.look().await;
        }
        self.due = None;
        reach(&self.app, &self.permit).await?.look_after().await
    }

    async fn look(&mut self) -> Result<()> {
        let store = reach(&self.app, &self.permit).await?;
        let Picture { items, focus, version, now_ms, next_ms } = picture(&store).await?;
        self.seen = Some((version, now_ms));
        self.due = None;
        self.wake(next_ms, now_ms);
        let items = items.into_iter().map(Bar::from).collect();
        let standing = Standing { items, capacity: store.config.capacity(), focus, version, at_ms: now_ms };
        self.queue.push_back(Told::Workspace(standing));
        Ok(())
    }

    fn wake(&mut self, next_ms: i64, now_ms: i64) {
        let wait = u64::try_from(next_ms - now_ms).unwrap_or(0);
        self.due = (next_ms > 0).then(|| Instant::now() + Duration::from_millis(wait));
    }
}

//! What is published on channels, for whoever listens in this process.
//!
//! One connection listens for all; it is made when the first channel is wanted. Redis keeps nothing of what it
//! publishes: after a break of the connection every listener is told that something may be missing.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use redis::aio::{PubSubSink, PubSubStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, broadcast, watch};

use crate::error::{Error, Result};

/// How many messages a listener may be behind before it is cut off.
const BEHIND: usize = 1_024;

/// How long after a failure the next connection is tried.
const RETRY: Duration = Duration::from_millis(250);

/// How long a connection may take to be made, and to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(500);

/// How many may listen at the same time.
const LISTENERS: usize = 1_024;

/// A quiet connection is asked whether it is still there.
const PING_EVERY: Duration = Duration::from_secs(5);

/// What a listener hears.
#[derive(Debug, Clone)]
pub enum Notice {
    /// A message.
    Message(Arc<str>),
    /// Messages may be missing here.
    Gap,
}

/// All channels somebody listens to. Cloning is cheap; clones share everything.
#[derive(Clone)]
pub struct Feeds(Arc<Shared>);

struct Shared {
    clients: Vec<redis::Client>,
    channels: Mutex<Channels>,
    /// Told when a channel is opened or closed.
    changed: Notify,
    places: Arc<Semaphore>,
}

#[derive(Default)]
struct Channels {
    open: HashMap<String, Channel>,
    /// Whether there is a task that listens.
    is_heard: bool,
}

/// One channel that somebody listens to.
#[derive(Clone)]
struct Channel {
    sender: broadcast::Sender<Notice>,
    /// Whether Redis sends what is published there.
    is_live: watch::Sender<bool>,
}

impl Channel {
    /// Redis sends from now on. Nobody may be there any more to hear it.
    fn is_heard(&self, may_miss: bool) {
        self.is_live.send_replace(true);
        if may_miss {
            self.sender.send(Notice::Gap).ok();
        }
    }
}

/// One listener of one channel.
pub struct Feed {
    feeds: Feeds,
    channel: String,
    is_live: watch::Receiver<bool>,
    receiver: Option<broadcast::Receiver<Notice>>,
    _place: OwnedSemaphorePermit,
}

impl Feeds {
    /// Nobody listens yet. The servers are tried one after the other.
    pub fn new(clients: Vec<redis::Client>) -> Self {
        let places = Arc::new(Semaphore::new(LISTENERS));
        Self(Arc::new(Shared { clients, channels: Mutex::default(), changed: Notify::new(), places }))
    }

    /// Listens to a channel, unless too many do (503).
    pub fn open(&self, name: &str) -> Result<Feed> {
        let place = Arc::clone(&self.0.places).try_acquire_owned();
        let place = place.map_err(|_| Error::unavailable("a place among the listeners"))?;
        let mut channels = self.channels();
        if !channels.is_heard {
            channels.is_heard = true;
            tokio::spawn(listen(Arc::clone(&self.0)));
        }
        if !channels.open.contains_key(name) {
            let channel =
                Channel { sender: broadcast::Sender::new(BEHIND), is_live: watch::Sender::new(false) };
            channels.open.insert(name.to_owned(), channel);
            self.0.changed.notify_one();
        }
        let channel = &channels.open[name];
        let (receiver, is_live) = (Some(channel.sender.subscribe()), channel.is_live.subscribe());
        Ok(Feed { feeds: self.clone(), channel: name.to_owned(), is_live, receiver, _place: place })
    }

    fn channels(&self) -> MutexGuard<'_, Channels> {
        self.0.channels()
    }
}

impl Feed {
    /// Waits until Redis sends what is published.
    pub async fn is_live(&mut self) {
        // It cannot fail: whoever listens keeps the channel.
        let _ = self.is_live.wait_for(|is_live| *is_live).await;
    }

    /// The next thing to be heard; nothing once this listener is too far behind.
    pub async fn next(&mut self) -> Option<Notice> {
        self.receiver.as_mut()?.recv().await.ok()
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.receiver = None;
        let mut channels = self.feeds.channels();
        if channels.open.get(&self.channel).is_some_and(|channel| channel.sender.receiver_count() == 0) {
            channels.open.remove(&self.channel);
            self.feeds.0.changed.notify_one();
        }
    }
}

/// Keeps a connection while anybody listens.
async fn listen(shared: Arc<Shared>) {
    for attempt in 0_usize.. {
        let client = &shared.clients[attempt % shared.clients.len()];
        let connection = tokio::time::timeout(ANSWER_TIMEOUT, client.get_async_pubsub()).await;
        if let Ok(Ok(connection)) = connection {
            let (sink, stream) = connection.split();
            let mut line = Line { shared: &shared, sink, heard: HashSet::new(), may_miss: attempt > 0 };
            if !line.hold(stream).await {
                return;
            }
            shared.lost();
        }
        tokio::time::sleep(RETRY).await;
        if shared.is_idle() {
            return;
        }
    }
}

impl Shared {
    fn channels(&self) -> MutexGuard<'_, Channels> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nobody listens any more; the task then ends with its connection.
    fn is_idle(&self) -> bool {
        let mut channels = self.channels();
        channels.is_heard = !channels.open.is_empty();
        !channels.is_heard
    }

    fn lost(&self) {
        for channel in self.channels().open.values() {
            channel.is_live.send_replace(false);
        }
    }
}

/// The connection that listens for all.
struct Line<'a> {
    shared: &'a Shared,
    sink: PubSubSink,
    /// The channels that Redis sends.
    heard: HashSet<String>,
    /// Whether this line takes the place of another, so that what was published in between is lost.
    may_miss: bool,
}

impl Line<'_> {
    /// Passes messages on until the connection breaks. Says whether anybody still listens.
    async fn hold(&mut self, mut stream: PubSubStream) -> bool {
        let mut is_whole = self.catch_up().await;
        while is_whole {
            if self.shared.is_idle() {
                return false;
            }
            is_whole = tokio::select! {
                message = stream.next() => {
                    let Some(message) = message else { return true };
                    let text = String::from_utf8_lossy(message.get_payload_bytes()).into();
                    let channels = self.shared.channels();
                    let channel = channels.open.get(message.get_channel_name());
                    channel.and_then(|channel| channel.sender.send(Notice::Message(text)).ok());
                    true
                }
                () = self.shared.changed.notified() => self.catch_up().await,
                () = tokio::time::sleep(PING_EVERY) => is_answered(self.sink.ping::<redis::Value>()).await,
            };
        }
        true
    }

    /// Asks Redis for the channels that are open, and for no others. Says whether the connection still works.
    async fn catch_up(&mut self) -> bool {
        let (wanted, unwanted) = self.difference();
        if !wanted.is_empty() && !is_answered(self.sink.subscribe(&wanted)).await
            || !unwanted.is_empty() && !is_answered(self.sink.unsubscribe(&unwanted)).await
        {
            return false;
        }
        self.heard.extend(wanted);
        self.heard.retain(|name| !unwanted.contains(name));
        // Also one that was closed and opened again in the meantime.
        for (name, channel) in &self.shared.channels().open {
            if self.heard.contains(name) && !*channel.is_live.borrow() {
                channel.is_heard(self.may_miss);
            }
        }
        self.may_miss = false;
        true
    }

    fn difference(&self) -> (Vec<String>, Vec<String>) {
        let open = &self.shared.channels().open;
        let wanted = open.keys().filter(|&name| !self.heard.contains(name)).cloned().collect();
        let unwanted = self.heard.iter().filter(|&name| !open.contains_key(name)).cloned().collect();
        (wanted, unwanted)
    }
}

async fn is_answered<T>(ask: impl Future<Output = redis::RedisResult<T>>) -> bool {
    matches!(tokio::time::timeout(ANSWER_TIMEOUT, ask).await, Ok(Ok(_)))
}

impl std::fmt::Debug for Feeds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Feeds")
    }
}

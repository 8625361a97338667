//! What is published on channels, for whoever listens in this process.
//!
//! One connection listens for all; it is made when the first channel is wanted. Redis keeps nothing of what it
//! publishes: after a break of the connection every listener is told that something may be missing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use redis::aio::{PubSubSink, PubSubStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast, mpsc, watch};

use crate::error::{Error, Result};

/// How many messages a listener may be behind before it is cut off.
const BEHIND: usize = 1_024;

/// How long after a failure the next connection is tried.
const RETRY: Duration = Duration::from_millis(250);

/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);

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
    places: Arc<Semaphore>,
}

#[derive(Default)]
struct Channels {
    open: HashMap<String, Channel>,
    /// The task that listens, once somebody wanted to.
    wishes: Option<mpsc::UnboundedSender<Wish>>,
}

impl Channels {
    /// Tells the task that listens; if it is on its way out, the next one asks for everything that is open.
    fn wish(&self, wish: Wish) {
        self.wishes.as_ref().and_then(|wishes| wishes.send(wish).ok());
    }
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

enum Wish {
    Open(String),
    Close(String),
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
        Self(Arc::new(Shared { clients, channels: Mutex::default(), places }))
    }

    /// Listens to a channel, unless too many do (503).
    pub fn open(&self, name: &str) -> Result<Feed> {
        let place = Arc::clone(&self.0.places).try_acquire_owned();
        let place = place.map_err(|_| Error::unavailable("a place among the listeners"))?;
        let mut channels = self.channels();
        if channels.wishes.as_ref().is_none_or(mpsc::UnboundedSender::is_closed) {
            let (wishes, granted) = mpsc::unbounded_channel();
            channels.wishes = Some(wishes);
            tokio::spawn(listen(Arc::clone(&self.0), granted));
        }
        if !channels.open.contains_key(name) {
            let channel =
                Channel { sender: broadcast::Sender::new(BEHIND), is_live: watch::Sender::new(false) };
            channels.open.insert(name.to_owned(), channel);
            channels.wish(Wish::Open(name.to_owned()));
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
            channels.wish(Wish::Close(self.channel.clone()));
        }
    }
}

/// Keeps a connection while anybody listens.
async fn listen(shared: Arc<Shared>, mut wishes: mpsc::UnboundedReceiver<Wish>) {
    for attempt in 0_usize.. {
        let client = &shared.clients[attempt % shared.clients.len()];
        let connection = tokio::time::timeout(CONNECT_TIMEOUT, client.get_async_pubsub()).await;
        if let Ok(Ok(connection)) = connection {
            let (sink, stream) = connection.split();
            let mut line = Line { shared: &shared, sink, is_first: attempt == 0 };
            if line.hold(&mut wishes, stream).await.is_none() {
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
        if channels.open.is_empty() {
            channels.wishes = None;
        }
        channels.open.is_empty()
    }

    fn lost(&self) {
        for channel in self.channels().open.values() {
            channel.is_live.send_replace(false);
        }
    }

    fn find(&self, name: &str) -> Option<Channel> {
        self.channels().open.get(name).cloned()
    }
}

/// The connection that listens for all.
struct Line<'a> {
    shared: &'a Shared,
    sink: PubSubSink,
    /// Before it, nothing was heard that could have been missed.
    is_first: bool,
}

impl Line<'_> {
    /// Passes messages on until the connection breaks; gives nothing when it is not needed any more.
    async fn hold(
        &mut self,
        wishes: &mut mpsc::UnboundedReceiver<Wish>,
        mut stream: PubSubStream,
    ) -> Option<()> {
        let open: Vec<String> = self.shared.channels().open.keys().cloned().collect();
        for name in open {
            if !self.subscribe(&name, !self.is_first).await {
                return Some(());
            }
        }
        loop {
            let is_whole = tokio::select! {
                message = stream.next() => {
                    let Some(message) = message else { return Some(()) };
                    let text = String::from_utf8_lossy(message.get_payload_bytes()).into();
                    let channel = self.shared.find(message.get_channel_name());
                    channel.and_then(|channel| channel.sender.send(Notice::Message(text)).ok());
                    true
                }
                wish = wishes.recv() => self.grant(wish?).await,
                () = tokio::time::sleep(PING_EVERY) => {
                    let ping = tokio::time::timeout(CONNECT_TIMEOUT, self.sink.ping::<redis::Value>()).await;
                    matches!(ping, Ok(Ok(_)))
                }
            };
            if !is_whole {
                return Some(());
            }
            if self.shared.is_idle() {
                return None;
            }
        }
    }

    /// Says whether the connection still works.
    async fn grant(&mut self, wish: Wish) -> bool {
        match wish {
            Wish::Open(name) => self.subscribe(&name, false).await,
            // Somebody may have opened it again in the meantime.
            Wish::Close(name) if self.shared.find(&name).is_none() => {
                self.sink.unsubscribe(&name).await.is_ok()
            }
            Wish::Close(_) => true,
        }
    }

    async fn subscribe(&mut self, name: &str, may_miss: bool) -> bool {
        let Some(channel) = self.shared.find(name) else { return true };
        let is_done = self.sink.subscribe(name).await.is_ok();
        if is_done {
            channel.is_heard(may_miss);
        }
        is_done
    }
}

impl std::fmt::Debug for Feeds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Feeds")
    }
}

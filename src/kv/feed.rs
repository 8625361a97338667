//! What is published on channels, for whoever listens in this process.
//!
//! One connection listens for all; it is made when the first channel is wanted. Redis keeps nothing of what it
//! publishes: after a break of the connection every listener is told that something may be missing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use redis::aio::{PubSubSink, PubSubStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast, mpsc};

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
    open: HashMap<String, broadcast::Sender<Notice>>,
    /// The task that listens, once somebody wanted to.
    wishes: Option<mpsc::UnboundedSender<Wish>>,
}

enum Wish {
    Open(String),
    Close(String),
}

/// One listener of one channel.
pub struct Feed {
    feeds: Feeds,
    channel: String,
    receiver: Option<broadcast::Receiver<Notice>>,
    _place: OwnedSemaphorePermit,
}

impl Feeds {
    /// Nobody listens yet. The servers are tried one after the other.
    pub fn new(clients: Vec<redis::Client>) -> Self {
        let places = Arc::new(Semaphore::new(LISTENERS));
        Self(Arc::new(Shared { clients, channels: Mutex::default(), places }))
    }

    /// Listens to a channel, unless too many do (503). The first thing to be heard is a gap: at once, or as soon as Redis listens too.
    pub fn open(&self, channel: &str) -> Result<Feed> {
        let place = Arc::clone(&self.0.places).try_acquire_owned();
        let place = place.map_err(|_| Error::unavailable("a place among the listeners"))?;
        let mut channels = self.channels();
        if channels.wishes.as_ref().is_none_or(mpsc::UnboundedSender::is_closed) {
            let (wishes, granted) = mpsc::unbounded_channel();
            for channel in channels.open.keys() {
                // It cannot fail: the other end is held below.
                let _ = wishes.send(Wish::Open(channel.clone()));
            }
            channels.wishes = Some(wishes);
            tokio::spawn(listen(Arc::clone(&self.0), granted));
        }
        let wish = channels.wishes.clone();
        let sender =
            channels.open.entry(channel.to_owned()).or_insert_with(|| broadcast::Sender::new(BEHIND));
        let receiver = sender.subscribe();
        if sender.receiver_count() == 1 {
            wish.and_then(|wish| wish.send(Wish::Open(channel.to_owned())).ok());
        } else {
            // Redis listens already, or is asked to: whoever came earlier looks once more, which does no harm.
            let _ = sender.send(Notice::Gap);
        }
        Ok(Feed { feeds: self.clone(), channel: channel.to_owned(), receiver: Some(receiver), _place: place })
    }

    fn channels(&self) -> std::sync::MutexGuard<'_, Channels> {
        self.0.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Feed {
    /// The next thing to be heard; nothing once this listener is too far behind.
    pub async fn next(&mut self) -> Option<Notice> {
        match self.receiver.as_mut()?.recv().await {
            Ok(notice) => Some(notice),
            Err(_) => None,
        }
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.receiver = None;
        let mut channels = self.feeds.channels();
        if channels.open.get(&self.channel).is_some_and(|sender| sender.receiver_count() == 0) {
            channels.open.remove(&self.channel);
            let wish = Wish::Close(self.channel.clone());
            channels.wishes.as_ref().and_then(|wishes| wishes.send(wish).ok());
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
            if pass_on(&shared, &mut wishes, sink, stream).await.is_none() {
                return;
            }
        }
        tokio::time::sleep(RETRY).await;
        if is_idle(&shared) {
            return;
        }
    }
}

/// Nobody listens any more; the task ends with its connection.
fn is_idle(shared: &Shared) -> bool {
    let mut channels = shared.channels.lock().unwrap_or_else(PoisonError::into_inner);
    if channels.open.is_empty() {
        channels.wishes = None;
    }
    channels.open.is_empty()
}

/// Passes messages on until the connection breaks; nothing when it is not needed any more.
async fn pass_on(
    shared: &Shared,
    wishes: &mut mpsc::UnboundedReceiver<Wish>,
    mut sink: PubSubSink,
    mut stream: PubSubStream,
) -> Option<()> {
    let find = |channel: &str| {
        let channels = shared.channels.lock().unwrap_or_else(PoisonError::into_inner);
        channels.open.get(channel).cloned()
    };
    let open: Vec<String> = {
        let channels = shared.channels.lock().unwrap_or_else(PoisonError::into_inner);
        channels.open.keys().cloned().collect()
    };
    for channel in open {
        if sink.subscribe(&channel).await.is_err() {
            return Some(());
        }
        // Nobody may be there any more to hear it.
        find(&channel).and_then(|sender| sender.send(Notice::Gap).ok());
    }
    loop {
        tokio::select! {
            message = stream.next() => {
                let Some(message) = message else { return Some(()) };
                let text = String::from_utf8_lossy(message.get_payload_bytes()).into();
                find(message.get_channel_name()).and_then(|sender| sender.send(Notice::Message(text)).ok());
            }
            wish = wishes.recv() => {
                let done = match wish {
                    Some(Wish::Open(channel)) => {
                        let done = sink.subscribe(&channel).await;
                        find(&channel).and_then(|sender| sender.send(Notice::Gap).ok());
                        done
                    }
                    // Somebody may have opened it again in the meantime.
                    Some(Wish::Close(channel)) if find(&channel).is_none() => sink.unsubscribe(&channel).await,
                    Some(Wish::Close(_)) => Ok(()),
                    None => return None,
                };
                if done.is_err() {
                    return Some(());
                }
                if is_idle(shared) {
                    return None;
                }
            }
            () = tokio::time::sleep(PING_EVERY) => {
                let ping = tokio::time::timeout(CONNECT_TIMEOUT, sink.ping::<redis::Value>()).await;
                if !matches!(ping, Ok(Ok(_))) {
                    return Some(());
                }
            }
        }
    }
}

impl std::fmt::Debug for Feeds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Feeds")
    }
}

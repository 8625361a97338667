//! What a node knows of streams: who waits for which tenant, and the latest events of each namespace that is read.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::watch;

use super::payload::{Event, What};
use super::stream;
use crate::app::App;
use crate::auth::{Namespace, Permit};
use crate::error::{Error, Result};
use crate::id::{MemoryId, TenantId};
use crate::memory::Sensitivity;

/// How many streams one node serves at once: each holds a connection, and a page of events while it is sent.
pub const MAX_STREAMS: usize = 1_024;

/// How many events of a namespace are kept in memory.
const RECENT_EVENTS: usize = 512;

/// How many bytes of content they may have together.
const RECENT_BYTES: usize = 4 << 20;

/// How many events are read at once.
const PAGE: i64 = 50;

/// The streams of one node.
#[derive(Debug, Default)]
pub struct Hub {
    open: Arc<AtomicUsize>,
    /// Rises when there may be something new for a tenant.
    tenants: Mutex<HashMap<TenantId, watch::Sender<u64>>>,
    topics: Mutex<HashMap<(TenantId, Namespace), Weak<Topic>>>,
}

/// A place among the streams that are open, given back when it is dropped.
#[derive(Debug)]
pub struct Turn(Arc<AtomicUsize>);

impl Drop for Turn {
    fn drop(&mut self) {
        let open = self.0.fetch_sub(1, Ordering::Relaxed) - 1;
        gauge(open);
    }
}

/// The latest events of one namespace, read once for all who follow it.
#[derive(Debug, Default)]
pub struct Topic {
    recent: tokio::sync::Mutex<Recent>,
}

#[derive(Debug, Default)]
struct Recent {
    /// Neighbours, in order, up to `end`.
    events: VecDeque<Arc<Event>>,
    bytes: usize,
    /// The number up to which everything was looked at.
    end: i64,
    /// The latest word after which everything there was has been read.
    heard: u64,
}

impl Hub {
    /// Takes a place for a stream, or refuses with 503.
    pub fn take_turn(&self) -> Result<Turn> {
        let open = self.open.fetch_add(1, Ordering::Relaxed) + 1;
        let turn = Turn(Arc::clone(&self.open));
        if open > MAX_STREAMS {
            return Err(Error::unavailable("another stream"));
        }
        gauge(open);
        Ok(turn)
    }

    /// How many streams and connections are open.
    pub fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Follows what may be new for a tenant.
    pub fn follow(&self, tenant: TenantId) -> watch::Receiver<u64> {
        let mut tenants = self.tenants.lock().unwrap_or_else(PoisonError::into_inner);
        tenants.retain(|_, sender| sender.receiver_count() > 0);
        // The first word is 1, so that a topic that heard nothing yet reads.
        tenants.entry(tenant).or_insert_with(|| watch::Sender::new(1)).subscribe()
    }

    /// The topic of a namespace.
    pub fn topic(&self, tenant: TenantId, namespace: &Namespace) -> Arc<Topic> {
        let mut topics = self.topics.lock().unwrap_or_else(PoisonError::into_inner);
        topics.retain(|_, topic| topic.strong_count() > 0);
        let place = topics.entry((tenant, namespace.clone())).or_default();
        place.upgrade().unwrap_or_else(|| {
            let topic = Arc::new(Topic::default());
            *place = Arc::downgrade(&topic);
            topic
        })
    }

    /// The tenants that somebody follows.
    pub fn followed(&self) -> Vec<TenantId> {
        let tenants = self.tenants.lock().unwrap_or_else(PoisonError::into_inner);
        tenants.iter().filter(|(_, sender)| sender.receiver_count() > 0).map(|(tenant, _)| *tenant).collect()
    }

    /// Wakes those who follow a tenant.
    pub fn wake(&self, tenant: TenantId) {
        let tenants = self.tenants.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = tenants.get(&tenant) {
            sender.send_modify(|word| *word += 1);
        }
    }

    /// Wakes everybody.
    pub fn wake_all(&self) {
        let tenants = self.tenants.lock().unwrap_or_else(PoisonError::into_inner);
        tenants.values().for_each(|sender| sender.send_modify(|word| *word += 1));
    }
}

impl Topic {
    /// The events after a number, as of a word. None means that there are none so far.
    pub async fn after(&self, app: &App, permit: &Permit, seq: i64, word: u64) -> Result<Vec<Arc<Event>>> {
        let page = usize::try_from(PAGE).unwrap_or(usize::MAX);
        let mut recent = self.recent.lock().await;
        if seq > recent.end {
            *recent = Recent { end: seq, ..Recent::default() };
        }
        let is_new = seq == recent.end;
        // Before anything is told from memory, it is heard whether some of it may not be told any more.
        if seq >= recent.start() && recent.heard < word {
            let new = stream::read(app, permit, recent.end, PAGE).await?;
            if new.len() < page {
                recent.heard = word;
            }
            for event in new {
                recent.push(event);
            }
        }
        if seq < recent.start() || !is_new && recent.heard < word {
            // Somebody catches up: what is old is not kept for others.
            drop(recent);
            return Ok(stream::read(app, permit, seq, PAGE).await?.into_iter().map(Arc::new).collect());
        }
        Ok(recent.events.iter().filter(|event| event.seq > seq).take(page).cloned().collect())
    }
}

impl Recent {
    /// The number before the first event that is kept.
    fn start(&self) -> i64 {
        self.events.front().map_or(self.end, |event| event.seq - 1)
    }

    fn push(&mut self, event: Event) {
        self.end = event.seq;
        match &event.what {
            // What it says of records and candidates is not told to those who read late: they ask the database.
            What::Forgotten { .. } | What::Erased => {
                self.events.clear();
                self.bytes = 0;
            }
            What::Changed { memory_id, .. } => self.narrow(*memory_id, &event.sensitivities),
            What::CandidateCreated(_)
            | What::SessionStarted(_)
            | What::EntryAdded(_)
            | What::SessionClosed(_)
            | What::Nothing => {}
        }
        self.bytes += size(&event);
        self.events.push_back(Arc::new(event));
        while self.events.len() > RECENT_EVENTS || self.bytes > RECENT_BYTES {
            match self.events.pop_front() {
                Some(event) => self.bytes -= size(&event),
                None => return,
            }
        }
    }

    /// What a record was before is told to nobody who may not see what it is now.
    fn narrow(&mut self, changed: MemoryId, sensitivities: &[Sensitivity]) {
        for event in &mut self.events {
            let is_meant = matches!(&event.what, What::Changed { memory_id, .. } if *memory_id == changed);
            if is_meant && sensitivities.iter().any(|now| !event.sensitivities.contains(now)) {
                Arc::make_mut(event).sensitivities.extend(sensitivities);
            }
        }
    }
}

fn size(event: &Event) -> usize {
    let content = match &event.what {
        What::Changed { record: Some(record), .. } => record.content.len(),
        What::CandidateCreated(Some(candidate)) => candidate.candidate_text.len(),
        What::Forgotten { memory_ids, .. } => memory_ids.len() * size_of::<MemoryId>(),
        What::SessionStarted(session) | What::SessionClosed(session) => {
            size_of_val(&**session) + session.goal.len()
        }
        What::EntryAdded(entry) => size_of_val(&**entry) + entry.text().len(),
        What::Changed { .. } | What::CandidateCreated(None) | What::Erased | What::Nothing => 0,
    };
    size_of::<Event>() + content
}

fn gauge(open: usize) {
    #[expect(clippy::cast_precision_loss, reason = "there are a few thousand at most")]
    metrics::gauge!("memtide_streams_open").set(open as f64);
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;

    fn event(seq: i64, what: What) -> Event {
        Event { seq, at: DateTime::UNIX_EPOCH, scope: None, sensitivities: Vec::new(), what }
    }

    #[test]
    fn only_so_many_events_are_kept() {
        let mut recent = Recent::default();
        for seq in 1..=1_000 {
            recent.push(event(seq, What::CandidateCreated(None)));
        }
        assert_eq!((recent.events.len(), recent.start(), recent.end), (RECENT_EVENTS, 488, 1_000));
        assert_eq!(recent.bytes, RECENT_EVENTS * size_of::<Event>());
    }

    #[test]
    fn nothing_from_before_something_was_forgotten_or_erased_is_kept() {
        for gone in [What::Erased, What::Forgotten { memory_ids: Vec::new(), reason: None }] {
            let mut recent = Recent::default();
            recent.push(event(1, What::CandidateCreated(None)));
            recent.push(event(2, gone));
            assert_eq!((recent.events.len(), recent.start(), recent.end), (1, 1, 2));
            assert_eq!(recent.bytes, size_of::<Event>());
        }
    }

    #[test]
    fn there_are_only_so_many_streams() {
        let hub = Hub::default();
        let turns: Vec<Turn> = (0..MAX_STREAMS).map(|_| hub.take_turn().expect("a turn")).collect();
        assert!(hub.take_turn().is_err());
        drop(turns);
        assert!(hub.take_turn().is_ok(), "they are given back, refused ones too");
    }
}

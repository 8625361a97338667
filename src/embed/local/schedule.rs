//! Pure: who is next on the model's threads, and who is turned away.
//!
//! Queries go before ingest, because somebody waits for each. Within both, tenants take turns text by text, so that
//! a flood from one delays the others by one text at a time. Queues are counted in tokens, because tokens are time.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::id::TenantId;

/// More texts at once would not be faster a token, only later to the first.
const INGEST_BATCH_TOKENS: usize = 256;

/// A query that arrives now waits for the batch that is running: keep it short.
const QUERY_BATCH_TOKENS: usize = 128;

/// What one thread can do in about two seconds: a query that waits longer is better refused.
const QUERY_QUEUE_TOKENS: usize = 8_000;

/// What one thread can do in about ten seconds, which is as long as a request may take.
const INGEST_QUEUE_TOKENS: usize = 40_000;

/// Ingest that has waited so long takes turns with queries.
const PATIENCE: Duration = Duration::from_secs(2);

/// Tokens a second on one thread, until it has been measured.
const ASSUMED_SPEED: f64 = 3_000.0;

/// Which queue a text waits in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// Somebody waits for the answer to a search.
    Queries,
    /// The text is to be stored.
    Ingest,
}

/// One text that waits for its vector.
pub struct Job {
    /// Its tokens.
    pub tokens: Vec<u32>,
    /// Where the vector goes; closed if nobody waits any more.
    pub reply: oneshot::Sender<Vec<f32>>,
}

/// The texts that wait.
pub struct Schedule {
    queries: Queue,
    ingest: Queue,
    ingest_was_last: bool,
    workers: usize,
    speed: f64,
}

impl Schedule {
    /// An empty schedule for this many threads.
    pub fn new(workers: usize) -> Self {
        Self {
            queries: Queue::new(QUERY_QUEUE_TOKENS * workers),
            ingest: Queue::new(INGEST_QUEUE_TOKENS * workers),
            ingest_was_last: false,
            workers,
            speed: ASSUMED_SPEED,
        }
    }

    /// Queues all texts of one call, or none; then says after how long there may be room.
    pub fn admit(
        &mut self,
        lane: Lane,
        tenant: TenantId,
        jobs: Vec<Job>,
        now: Instant,
    ) -> Result<(), Duration> {
        let queue = match lane {
            Lane::Queries => &mut self.queries,
            Lane::Ingest => &mut self.ingest,
        };
        if !queue.has_room_for(tenant) {
            return Err(self.time_to_drain());
        }
        for job in jobs {
            queue.push(tenant, job, now);
        }
        Ok(())
    }

    /// The texts to run next; empty when nothing waits.
    pub fn next_batch(&mut self, now: Instant) -> Vec<Job> {
        let overdue = self.ingest.oldest().is_some_and(|since| now.duration_since(since) >= PATIENCE);
        let ingest_first = overdue && !self.ingest_was_last;
        if !ingest_first {
            let batch = self.queries.take(self.share(&self.queries).min(QUERY_BATCH_TOKENS));
            if !batch.is_empty() {
                self.ingest_was_last = false;
                return batch;
            }
        }
        self.ingest_was_last = true;
        let most = if self.queries.tokens > 0 { QUERY_BATCH_TOKENS } else { INGEST_BATCH_TOKENS };
        self.ingest.take(self.share(&self.ingest).min(most))
    }

    /// One thread's part of what waits. If one took all, the others would stand idle until the next text comes.
    fn share(&self, queue: &Queue) -> usize {
        queue.tokens.div_ceil(self.workers)
    }

    /// Learns how fast a thread is, from a batch it ran.
    #[expect(clippy::cast_precision_loss, reason = "a batch has a few hundred tokens")]
    pub fn ran(&mut self, tokens: usize, took: Duration) {
        let measured = tokens as f64 / took.as_secs_f64().max(1e-6);
        self.speed += (measured - self.speed) / 16.0;
    }

    /// How long the threads need for all that waits, as far as it makes sense to tell a caller.
    #[expect(clippy::cast_precision_loss, reason = "the queues hold less than a million tokens")]
    fn time_to_drain(&self) -> Duration {
        let tokens = (self.queries.tokens + self.ingest.tokens) as f64;
        Duration::from_secs_f64((tokens / (self.speed * self.workers as f64)).clamp(1.0, 60.0))
    }
}

/// Texts of many tenants, each with a queue of its own.
struct Queue {
    limit: usize,
    tokens: usize,
    tenants: HashMap<TenantId, Waiting>,
    /// The tenants with a text waiting; the first is next.
    turns: VecDeque<TenantId>,
}

#[derive(Default)]
struct Waiting {
    tokens: usize,
    jobs: VecDeque<(Instant, Job)>,
}

impl Queue {
    fn new(limit: usize) -> Self {
        Self { limit, tokens: 0, tenants: HashMap::new(), turns: VecDeque::new() }
    }

    /// A tenant may hold as much as it leaves free. So a flood fills half of the queue and there is always room for
    /// a newcomer. One call is admitted whole however large it is: that may overshoot, once a tenant, up to twice
    /// the limit.
    fn has_room_for(&self, tenant: TenantId) -> bool {
        match self.tenants.get(&tenant) {
            None => self.tokens < 2 * self.limit,
            Some(own) => own.tokens < self.limit.saturating_sub(self.tokens),
        }
    }

    fn push(&mut self, tenant: TenantId, job: Job, now: Instant) {
        let waiting = self.tenants.entry(tenant).or_default();
        if waiting.jobs.is_empty() {
            self.turns.push_back(tenant);
        }
        waiting.tokens += job.tokens.len();
        self.tokens += job.tokens.len();
        waiting.jobs.push_back((now, job));
    }

    /// Takes texts up to so many tokens, but at least one if there is one that somebody waits for.
    fn take(&mut self, max_tokens: usize) -> Vec<Job> {
        let (mut batch, mut tokens) = (Vec::new(), 0);
        while let Some(next) = self.next() {
            let awaited = !next.reply.is_closed();
            if awaited {
                tokens += next.tokens.len();
                if tokens > max_tokens && !batch.is_empty() {
                    break;
                }
            }
            batch.extend(self.pop().filter(|_| awaited));
        }
        batch
    }

    /// The text whose turn it is.
    fn next(&self) -> Option<&Job> {
        let waiting = self.tenants.get(self.turns.front()?)?;
        waiting.jobs.front().map(|(_, job)| job)
    }

    fn pop(&mut self) -> Option<Job> {
        let tenant = self.turns.pop_front()?;
        let waiting = self.tenants.get_mut(&tenant)?;
        let (_, job) = waiting.jobs.pop_front()?;
        waiting.tokens -= job.tokens.len();
        self.tokens -= job.tokens.len();
        if waiting.jobs.is_empty() {
            self.tenants.remove(&tenant);
        } else {
            self.turns.push_back(tenant);
        }
        Some(job)
    }

    /// Since when the oldest text has been waiting.
    fn oldest(&self) -> Option<Instant> {
        self.tenants.values().filter_map(|waiting| waiting.jobs.front()).map(|(since, _)| *since).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A job of so many tokens, all of them its label, and the end that waits for it.
    fn job(label: u32, tokens: usize) -> (Job, oneshot::Receiver<Vec<f32>>) {
        let (reply, vector) = oneshot::channel();
        (Job { tokens: vec![label; tokens], reply }, vector)
    }

    /// A schedule whose callers all wait until the end of the test.
    struct Scene {
        schedule: Schedule,
        now: Instant,
        waiting: Vec<oneshot::Receiver<Vec<f32>>>,
    }

    impl Scene {
        fn new() -> Self {
            Self { schedule: Schedule::new(1), now: Instant::now(), waiting: Vec::new() }
        }

        fn admit(
            &mut self,
            lane: Lane,
            tenant: TenantId,
            label: u32,
            tokens: usize,
            count: usize,
        ) -> Result<(), Duration> {
            let (jobs, vectors): (Vec<_>, Vec<_>) = (0..count).map(|_| job(label, tokens)).unzip();
            self.waiting.extend(vectors);
            self.schedule.admit(lane, tenant, jobs, self.now)
        }

        /// The labels of the next batch.
        fn next(&mut self) -> Vec<u32> {
            self.schedule.next_batch(self.now).iter().map(|job| job.tokens[0]).collect()
        }
    }

    #[test]
    fn queries_go_before_ingest() {
        let (mut scene, tenant) = (Scene::new(), TenantId::new());
        scene.admit(Lane::Ingest, tenant, 1, 30, 2).expect("room");
        scene.admit(Lane::Queries, tenant, 2, 10, 2).expect("room");
        assert_eq!(scene.next(), [2, 2]);
        assert_eq!(scene.next(), [1, 1]);
        assert!(scene.next().is_empty());
    }

    #[test]
    fn ingest_that_has_waited_long_takes_turns_with_queries() {
        let (mut scene, tenant) = (Scene::new(), TenantId::new());
        scene.admit(Lane::Ingest, tenant, 1, 100, 3).expect("room");
        scene.admit(Lane::Queries, tenant, 2, 100, 4).expect("room");
        assert_eq!(scene.next(), [2]);
        scene.now += PATIENCE;
        assert_eq!([scene.next(), scene.next(), scene.next(), scene.next()].concat(), [1, 2, 1, 2]);
    }

    #[test]
    fn a_flood_delays_another_tenant_by_one_text_at_a_time() {
        let (mut scene, flood, quiet) = (Scene::new(), TenantId::new(), TenantId::new());
        for lane in [Lane::Ingest, Lane::Queries] {
            scene.admit(lane, flood, 1, 20, 150).expect("room");
            scene.admit(lane, quiet, 2, 20, 2).expect("room");
        }
        assert_eq!(scene.next(), [1, 2, 1, 2, 1, 1]);
    }

    #[test]
    fn a_batch_is_as_large_as_its_lane_allows_and_never_empty() {
        let (mut scene, tenant) = (Scene::new(), TenantId::new());
        scene.admit(Lane::Ingest, tenant, 1, 100, 3).expect("room");
        scene.admit(Lane::Ingest, tenant, 2, 1000, 1).expect("room");
        assert_eq!(scene.next(), [1, 1]);
        assert_eq!(scene.next(), [1]);
        assert_eq!(scene.next(), [2]);
    }

    #[test]
    fn a_tenant_that_fills_the_queue_is_refused_and_others_are_not() {
        let (mut scene, flood) = (Scene::new(), TenantId::new());
        let largest = 256;
        let mut calls = 0;
        let wait = loop {
            match scene.admit(Lane::Ingest, flood, 1, largest, 32) {
                Ok(()) => calls += 1,
                Err(wait) => break wait,
            }
        };
        assert!(calls > 1, "one call is not a flood");
        assert!(wait > Duration::from_secs(1) && wait <= Duration::from_mins(1), "{wait:?}");
        for _ in 0..3 {
            scene.admit(Lane::Ingest, TenantId::new(), 2, largest, 1).expect("room for newcomers");
        }
        scene.admit(Lane::Queries, flood, 3, 10, 1).expect("queries have a queue of their own");
    }

    #[test]
    fn the_largest_call_is_admitted_whole_and_leaves_room_for_a_newcomer() {
        let (mut scene, tenant) = (Scene::new(), TenantId::new());
        scene.admit(Lane::Ingest, tenant, 1, 256, 256).expect("room");
        assert!(scene.admit(Lane::Ingest, tenant, 1, 256, 1).is_err());
        scene.admit(Lane::Ingest, TenantId::new(), 2, 30, 1).expect("room for newcomers");
    }

    #[test]
    fn the_queue_is_bounded_however_many_tenants_come() {
        let mut scene = Scene::new();
        let admitted =
            (0..1000).take_while(|_| scene.admit(Lane::Ingest, TenantId::new(), 1, 250, 4).is_ok()).count();
        assert_eq!(admitted, 2 * INGEST_QUEUE_TOKENS / 1000);
    }

    #[test]
    fn texts_that_nobody_waits_for_are_skipped_and_free_their_room() {
        let (mut scene, tenant) = (Scene::new(), TenantId::new());
        while scene.admit(Lane::Queries, tenant, 1, 100, 1).is_ok() {}
        scene.waiting.clear();
        scene.admit(Lane::Queries, TenantId::new(), 2, 100, 1).expect("room for newcomers");
        assert_eq!(scene.next(), [2]);
        assert_eq!(scene.schedule.queries.tokens, 0);
        assert!(scene.schedule.queries.tenants.is_empty() && scene.schedule.queries.turns.is_empty());
    }

    #[test]
    fn the_wait_that_is_told_follows_the_speed_that_was_measured() {
        let (mut scene, tenant) = (Scene::new(), TenantId::new());
        scene.admit(Lane::Ingest, tenant, 1, 250, 100).expect("room");
        let before = scene.schedule.time_to_drain();
        for _ in 0..50 {
            scene.schedule.ran(1000, Duration::from_secs(1));
        }
        assert!(scene.schedule.time_to_drain() > before * 2);
    }
}

//! The threads that run the model.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rayon::ThreadPoolBuilder;
use tokio::sync::oneshot;

use super::super::{ConnectError, unavailable};
use super::forward::Forward;
use super::schedule::{Job, Lane, Schedule};
use super::weights::Weights;
use crate::error::Result;
use crate::id::TenantId;

/// The running threads; they end when this is dropped.
pub struct Workers(Arc<Shared>);

struct Shared {
    weights: Weights,
    state: Mutex<State>,
    wake: Condvar,
}

struct State {
    schedule: Schedule,
    closed: bool,
}

impl Workers {
    /// Starts this many threads on one copy of the weights.
    pub fn start(weights: Weights, count: usize) -> Result<Self, ConnectError> {
        let state = State { schedule: Schedule::new(count), closed: false };
        let workers = Self(Arc::new(Shared { weights, state: Mutex::new(state), wake: Condvar::new() }));
        for number in 0..count {
            let shared = Arc::clone(&workers.0);
            thread::Builder::new()
                .name(format!("embed-{number}"))
                .spawn(move || shared.work())
                .map_err(ConnectError::Thread)?;
        }
        Ok(workers)
    }

    /// Queues the texts of one call, given as tokens. A receiver fails if the threads fail on its text.
    pub fn submit(
        &self,
        lane: Lane,
        tenant: TenantId,
        texts: Vec<Vec<u32>>,
    ) -> Result<Vec<oneshot::Receiver<Vec<f32>>>> {
        let (jobs, vectors) = texts
            .into_iter()
            .map(|tokens| {
                let (reply, vector) = oneshot::channel();
                (Job { tokens, reply }, vector)
            })
            .unzip();
        self.0.lock().schedule.admit(lane, tenant, jobs, Instant::now()).map_err(unavailable)?;
        self.0.wake.notify_all();
        Ok(vectors)
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.wake.notify_all();
    }
}

impl Shared {
    fn work(&self) {
        // The kernels share their work out over rayon's current pool. With a pool of this one thread they leave the
        // rest of the machine alone, and save the handing over.
        let pool = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build();
        if let Err(error) = &pool {
            tracing::warn!(%error, "the embedder runs on a shared thread pool and will be slower");
        }
        let mut forward = Forward::default();
        while let Some(batch) = self.next_batch() {
            let texts: Vec<&[u32]> = batch.iter().map(|job| job.tokens.as_slice()).collect();
            let started = Instant::now();
            let Ok(vectors) = catch_unwind(AssertUnwindSafe(|| forward.run(&self.weights, &texts))) else {
                // The callers learn of it because their replies are dropped with the batch.
                tracing::error!(texts = batch.len(), "the embedding model panicked on a batch");
                forward = Forward::default();
                continue;
            };
            self.ran(texts.iter().map(|text| text.len()).sum(), started.elapsed());
            for (job, vector) in batch.into_iter().zip(vectors) {
                // Whoever has stopped waiting needs no answer.
                let _ = job.reply.send(vector);
            }
        }
    }

    /// Waits for texts to run; nothing when the embedder is gone.
    fn next_batch(&self) -> Option<Vec<Job>> {
        let mut state = self.lock();
        while !state.closed {
            let batch = state.schedule.next_batch(Instant::now());
            if !batch.is_empty() {
                return Some(batch);
            }
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        None
    }

    fn ran(&self, tokens: usize, took: Duration) {
        self.lock().schedule.ran(tokens, took);
    }

    /// A panic under this lock leaves at worst a text that nobody runs.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

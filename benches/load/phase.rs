//! A phase: one operation, done many times by some clients at once.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};
use std::vec;

use anyhow::Result;
use serde::Serialize;
use tokio::task::JoinSet;

use crate::cpu::Watched;

/// What the phases of a round took, by their names.
pub type Figures = BTreeMap<String, Phase>;

/// What a phase took.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Phase {
    /// Operations a second, of all clients together.
    pub per_second: f64,
    /// The median time of one operation.
    pub p50_ms: f64,
    /// Processor time of the server for one operation.
    pub server_cpu_ms: f64,
    /// The same of Postgres.
    pub postgres_cpu_ms: f64,
}

impl Phase {
    /// Runs the operation on each item. Each client takes the next item as soon as it has done the one before.
    ///
    /// All clients live on the thread of the caller, inside a [`tokio::task::LocalSet`]: the less the bench takes of
    /// the machine, the more is left for what it measures.
    pub async fn run<T: 'static>(
        clients: usize,
        items: Vec<T>,
        watched: Watched,
        operation: impl AsyncFn(T) -> Result<()> + 'static,
    ) -> Result<Self> {
        let count = items.len();
        let (queue, operation) = (Rc::new(RefCell::new(items.into_iter())), Rc::new(operation));
        let cpu = watched.read();
        let start = Instant::now();
        let mut running = JoinSet::new();
        for _ in 0..clients {
            running.spawn_local(client(Rc::clone(&queue), Rc::clone(&operation)));
        }
        let mut times = Vec::with_capacity(count);
        while let Some(done) = running.join_next().await {
            times.append(&mut done??);
        }
        let elapsed = start.elapsed().as_secs_f64();
        let cpu = watched.read().since(cpu, count);
        times.sort_unstable();
        #[expect(clippy::cast_precision_loss, reason = "counts of operations are small")]
        let per_second = count as f64 / elapsed;
        let p50_ms = times.get(count / 2).map_or(0.0, Duration::as_secs_f64) * 1e3;
        Ok(Self { per_second, p50_ms, server_cpu_ms: cpu.server, postgres_cpu_ms: cpu.postgres })
    }
}

async fn client<T>(
    queue: Rc<RefCell<vec::IntoIter<T>>>,
    operation: Rc<impl AsyncFn(T) -> Result<()>>,
) -> Result<Vec<Duration>> {
    let mut times = Vec::new();
    loop {
        let Some(item) = queue.borrow_mut().next() else { return Ok(times) };
        let start = Instant::now();
        operation(item).await?;
        times.push(start.elapsed());
    }
}

//! What every operation works with.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use metrics_exporter_prometheus::PrometheusHandle;

use crate::clock::Clock;
use crate::config::Config;
use crate::db::Db;
use crate::embed::Embedder;
use crate::error::Result;
use crate::kv::Kv;
use crate::memory::access::Accesses;
use crate::seal::Seal;

/// The parts of a running service. Cloning is cheap; clones share everything.
#[derive(Debug, Clone)]
pub struct App {
    /// What the environment decided.
    pub config: Arc<Config>,
    /// Postgres.
    pub db: Db,
    /// Redis.
    pub kv: Kv,
    /// Turns text into vectors.
    pub embedder: Arc<Embedder>,
    /// The time.
    pub clock: Clock,
    /// What was counted, for `/metrics`.
    pub metrics: PrometheusHandle,
    /// What was read since it was last written down.
    pub accesses: Accesses,
    /// Seals what leaves the process and must come back unchanged.
    pub seal: Seal,
    stopping: Arc<AtomicBool>,
}

impl App {
    /// Puts the parts together. Postgres and Redis are reached when they are first needed.
    pub fn new(
        config: Config,
        embedder: Arc<Embedder>,
        metrics: PrometheusHandle,
        clock: Clock,
    ) -> Result<Self> {
        let db = Db::connect(&config.database)?;
        let kv = Kv::new(&config.redis_url)?;
        let seal = Seal::new(&config.secret);
        Ok(Self {
            config: Arc::new(config),
            db,
            kv,
            embedder,
            clock,
            metrics,
            accesses: Accesses::default(),
            seal,
            stopping: Arc::default(),
        })
    }

    /// Says that the process is about to end: it is not ready any more, and streams close.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    /// Whether the process is about to end.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
}

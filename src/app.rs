//! What every operation works with.

use std::sync::Arc;

use metrics_exporter_prometheus::PrometheusHandle;
use tokio::sync::{Semaphore, watch};

use crate::auth::Auth;
use crate::clock::Clock;
use crate::config::Config;
use crate::db::Db;
use crate::embed::Embedder;
use crate::error::Result;
use crate::event::{self, hub::Hub};
use crate::extract::Extractor;
use crate::job;
use crate::kv::Kv;
use crate::limit::{self, Limiter};
use crate::memory::access::Accesses;
use crate::memory::search::Resident;
use crate::seal::Seal;
use crate::working;

/// Requests at once, so that their bodies fit into memory. Postgres and the embedder have queues of their own, which
/// are shorter: who waits for the one is not in the way of who needs the other.
const REQUESTS_AT_ONCE: usize = 256;

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
    /// Finds facts in text.
    pub extractor: Arc<Extractor>,
    /// Who may come in.
    pub auth: Arc<Auth>,
    /// How much each tenant may do.
    pub limits: Arc<Limiter>,
    /// What this node keeps in mind of working memories.
    pub working: Arc<working::Node>,
    /// The time.
    pub clock: Clock,
    /// What was counted, for `/metrics`.
    pub metrics: PrometheusHandle,
    /// What was read since it was last written down.
    pub accesses: Accesses,
    /// The vectors that need not be read to be compared.
    pub resident: Resident,
    /// Seals what leaves the process and must come back unchanged.
    pub seal: Seal,
    /// Who waits for events.
    pub events: Arc<Hub>,
    /// What this node keeps in mind of jobs.
    pub jobs: Arc<job::Node>,
    /// Turns among the requests at once, over HTTP and WebSocket together.
    pub requests: Arc<Semaphore>,
    stopping: watch::Sender<bool>,
}

impl App {
    /// Puts the parts together. Postgres and Redis are reached when they are first needed; nobody is let in before
    /// [`Auth::start`].
    pub fn new(
        config: Config,
        embedder: Arc<Embedder>,
        metrics: PrometheusHandle,
        clock: Clock,
    ) -> Result<Self> {
        let db = Db::connect(&config.database)?;
        let kv = Kv::new(&config.redis)?;
        let seal = Seal::new(&config.secret);
        let extractor = Extractor::new(&config.extraction)?;
        Ok(Self {
            config: Arc::new(config),
            db,
            kv,
            embedder,
            extractor: Arc::new(extractor),
            auth: Arc::new(Auth::new()),
            limits: Arc::default(),
            working: Arc::default(),
            clock,
            metrics,
            accesses: Accesses::default(),
            resident: Resident::default(),
            seal,
            events: Arc::default(),
            jobs: Arc::default(),
            requests: Arc::new(Semaphore::new(REQUESTS_AT_ONCE)),
            stopping: watch::Sender::new(false),
        })
    }

    /// Makes ready to serve: gives the embedding model its number, learns who may come in, and starts to tell of events.
    pub async fn start(&self) -> Result<()> {
        if let Some(model) = self.embedder.model() {
            self.db.register_model(&model.name, model.dimensions).await?;
        }
        Auth::start(self).await?;
        limit::reload(self).await;
        tokio::spawn(limit::follow(self.clone()));
        tokio::spawn(working::config::follow(self.clone()));
        event::relay::start(self);
        Ok(())
    }

    /// Says that the process is about to end: it is not ready any more, and streams close.
    pub fn stop(&self) {
        self.stopping.send_replace(true);
    }

    /// Whether the process is about to end.
    pub fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// Waits until the process is about to end.
    pub async fn stopped(&self) {
        // It cannot fail: the sender is `self`.
        let _ = self.stopping.subscribe().wait_for(|stopping| *stopping).await;
    }
}

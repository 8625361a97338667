//! A tenant's settings on every node: read when they are first needed, and again when somebody changed some (XA-C8).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use moka::sync::Cache;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::config_store as store;
use super::settings::WorkingMemoryConfig;
use crate::app::App;
use crate::auth::{Action, Caller, Permit};
use crate::error::{Error, Result};
use crate::id::TenantId;

/// How many tenants' settings are kept in memory. About 400 bytes each.
const KEPT: u64 = 100_000;

/// What is known is looked up again after this, in case no word of a change came.
const POLL: Duration = Duration::from_secs(5);

/// How soon another attempt to listen is made, so that a change is not missed for longer than a second.
const LISTEN_RETRY: Duration = Duration::from_millis(500);

/// A listener that has heard nothing for so long is replaced: its connection may be gone without a word.
const QUIET: Duration = Duration::from_secs(30);

/// A look that takes longer asks a database that is gone; until it is back, what was known stands.
const READ_TIMEOUT: Duration = Duration::from_millis(500);

/// The settings this node has seen.
#[derive(Debug)]
pub struct Configs {
    /// Rises with every word of a change, of whichever tenant: changes are rare, and one look each is cheap.
    generation: AtomicU64,
    tenants: Cache<TenantId, Arc<Tenant>>,
}

#[derive(Debug, Default)]
struct Tenant {
    known: Mutex<Option<Known>>,
    /// Held by the one who looks; the others wait for what it finds.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Debug, Clone)]
struct Known {
    generation: u64,
    config: Arc<WorkingMemoryConfig>,
}

impl Tenant {
    fn known(&self) -> MutexGuard<'_, Option<Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, generation: u64) -> Option<Arc<WorkingMemoryConfig>> {
        self.known()
            .as_ref()
            .filter(|known| known.generation >= generation)
            .map(|known| Arc::clone(&known.config))
    }

    fn know(&self, generation: u64, config: &Arc<WorkingMemoryConfig>) {
        *self.known() = Some(Known { generation, config: Arc::clone(config) });
    }
}

/// The settings as they now are.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ConfigReply {
    /// Always true.
    pub ok: bool,
    /// The whole settings.
    pub config: WorkingMemoryConfig,
}

impl Configs {
    /// Nothing is known yet.
    pub fn new() -> Self {
        Self { generation: AtomicU64::new(0), tenants: Cache::new(KEPT) }
    }

    fn renew(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
    }
}

impl Default for Configs {
    fn default() -> Self {
        Self::new()
    }
}

/// The tenant's settings.
pub(super) async fn of(app: &App, permit: &Permit) -> Result<Arc<WorkingMemoryConfig>> {
    // Taken before the look, so that a change during it is looked for again.
    let generation = app.working.configs.generation.load(Ordering::Acquire);
    let tenant = app.working.configs.tenants.get_with(permit.tenant(), Arc::default);
    if let Some(config) = tenant.find(generation) {
        return Ok(config);
    }
    let look = async {
        let _turn = tenant.turn.lock().await;
        if let Some(config) = tenant.find(generation) {
            return Ok(config);
        }
        let config = Arc::new(read(app, permit).await?);
        tenant.know(generation, &config);
        Ok(config)
    };
    let found = tokio::time::timeout(READ_TIMEOUT, look).await;
    match (found.unwrap_or_else(|_| Err(Error::unavailable("the database"))), tenant.find(0)) {
        (Err(error @ Error::Unavailable { .. }), Some(config)) => {
            tracing::warn!(%error, "working-memory settings cannot be looked up; the last known stand");
            tenant.know(generation, &config);
            Ok(config)
        }
        (found, _) => found,
    }
}

async fn read(app: &App, permit: &Permit) -> Result<WorkingMemoryConfig> {
    let mut tx = app.db.begin(&permit.to_read()).await?;
    let found = store::find(&mut tx).await?;
    tx.commit().await?;
    let Some(found) = found else { return Ok(WorkingMemoryConfig::default()) };
    serde_json::from_value(found)
        .map_err(|error| Error::internal(format!("working_memory_configs.config: {error}")))
}

/// The tenant's settings, for who may change them.
pub async fn get(app: &App, caller: &Caller) -> Result<WorkingMemoryConfig> {
    read(app, &caller.control(Action::Read)?).await
}

/// Replaces all settings. Touches no slot.
pub async fn put(app: &App, caller: &Caller, config: WorkingMemoryConfig) -> Result<ConfigReply> {
    let permit = caller.control(Action::Write)?;
    config.check()?;
    let now = app.clock.now();
    let mut tx = app.db.begin(&permit).await?;
    store::replace(&mut tx, &config, now).await?;
    tx.audit(&permit, "working_memory.configure", &permit.tenant().to_string(), now).await?;
    tx.commit().await?;
    app.working.configs.renew();
    Ok(ConfigReply { ok: true, config })
}

/// Follows changes that other nodes make, until the app stops.
pub async fn follow(app: App) {
    let mut listener = None;
    loop {
        tokio::select! {
            () = app.stopped() => return,
            () = next_change(&app, &mut listener) => app.working.configs.renew(),
        }
    }
}

/// Waits for word of a change, or until it is time to look again in any case.
async fn next_change(app: &App, listener: &mut Option<(crate::db::Listener, Instant)>) {
    let Some((open, since)) = listener else {
        let opening = tokio::time::timeout(POLL, app.db.listen(store::CHANNEL)).await;
        match opening {
            Ok(Ok(open)) => *listener = Some((open, Instant::now())),
            _ => tokio::time::sleep(LISTEN_RETRY).await,
        }
        return;
    };
    match tokio::time::timeout(POLL, open.changed()).await {
        Ok(Ok(())) => *since = Instant::now(),
        Err(_) if since.elapsed() < QUIET => {}
        _ => *listener = None,
    }
}

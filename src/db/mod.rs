//! Postgres: the pool, and the two kinds of transaction through which all data is reached.

mod audit;
mod columns;
mod error;
mod inspect;
mod listen;
mod session;
mod setup;
mod share;
mod tx;

use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI16, Ordering};
use std::time::{Duration, Instant};

use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use tokio::sync::Notify;

pub use columns::columns;
pub use error::OnConstraint;
pub use inspect::{Inspection, check_schema, inspect, reach};
pub use listen::{Follower, Listener, notify};
pub use setup::{SCHEMA_VERSION, check_role, create_vector_index, migrate, schema_version};
pub use tx::{OperatorTx, TenantTx, with_retry};

use self::session::Session;
use self::share::Shares;
use crate::auth::OperatorPermit;
use crate::config;
use crate::error::{Error, Result};
use crate::id::TenantId;

/// How long a request waits for a connection before it is answered 503.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(1);

/// How many (tenant, namespace) pairs keep their short form in memory. About 150 bytes each.
const NAMESPACES_CACHED: u64 = 100_000;

/// How every connection of the service is set.
pub const SESSION: [(&str, &str); 8] = [
    // Planning takes 1.3 ms a search. Statements are written so that one plan is right for every tenant;
    // those of which that cannot be said ask for `plan_for_values`.
    ("plan_cache_mode", "force_generic_plan"),
    ("statement_timeout", "5s"),
    ("idle_in_transaction_session_timeout", "10s"),
    ("timezone", "UTC"),
    ("jit", "off"),
    ("hnsw.iterative_scan", "relaxed_order"),
    ("hnsw.ef_search", "100"),
    ("hnsw.max_scan_tuples", "20000"),
];

/// The database, through which every tenant's data is reached one transaction at a time.
#[derive(Debug, Clone)]
pub struct Db {
    pool: PgPool,
    namespaces: moka::sync::Cache<(TenantId, String), i32>,
    model: Arc<AtomicI16>,
    announcements: Arc<Notify>,
    shares: Shares,
}

impl Db {
    /// Prepares a pool; connections are made when they are first needed.
    pub fn connect(config: &config::Database) -> Result<Self> {
        let options = PgConnectOptions::from_str(config.url.expose())
            .map_err(|error| Error::invalid("DATABASE_URL", error.to_string()))?
            .application_name("memtide")
            .options(SESSION);
        let pool = PgPoolOptions::new()
            .max_connections(config.pool)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            // Connections are tested when they are given back; one that broke since fails at BEGIN and is replaced.
            .test_before_acquire(false)
            .connect_lazy_with(options);
        let namespaces = moka::sync::Cache::new(NAMESPACES_CACHED);
        let shares = Shares::new(config.pool);
        Ok(Self { pool, namespaces, model: Arc::default(), announcements: Arc::default(), shares })
    }

    /// Gives the embedding model its number, making it known if it is new. Vectors are stored under that number.
    pub async fn register_model(&self, name: &str, dimensions: usize) -> Result<()> {
        let mut tx = self.begin_operator(&OperatorPermit::service()).await?;
        let dimensions = i32::try_from(dimensions).unwrap_or(i32::MAX);
        // Asked first, because a conflict would use up a number.
        sqlx::query!(
            "INSERT INTO models (name, dimensions)
             SELECT $1, $2
             WHERE NOT EXISTS (SELECT FROM models WHERE name = $1)
             ON CONFLICT ON CONSTRAINT models_name DO NOTHING",
            name,
            dimensions
        )
        .execute(&mut *tx)
        .await?;
        let model = sqlx::query!("SELECT model, dimensions FROM models WHERE name = $1", name)
            .fetch_one(&mut *tx)
            .await?;
        tx.commit().await?;
        if model.dimensions != dimensions {
            let known = model.dimensions;
            let rule = format!(
                "has vectors of {dimensions} numbers, and is known to have {known}: give it another name"
            );
            return Err(Error::invalid("the embedding model", rule));
        }
        self.model.store(model.model, Ordering::Relaxed);
        Ok(())
    }

    /// The number of this process's embedding model; 0 until there is one.
    pub fn model(&self) -> i16 {
        self.model.load(Ordering::Relaxed)
    }

    /// A transaction that sees no tenant's rows, for looking at the database itself.
    async fn look(&self) -> Result<Session> {
        Session::begin(&self.pool, "BEGIN READ ONLY".to_owned(), Instant::now()).await
    }

    /// Forgets the namespaces of a tenant that was erased.
    pub fn forget_namespaces(&self, tenant: TenantId) {
        let of_tenant = self.namespaces.iter().filter(|(key, _)| key.0 == tenant);
        of_tenant.for_each(|(key, _)| self.namespaces.invalidate(&*key));
    }

    /// Ends all connections, after the transactions under way.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}

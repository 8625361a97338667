//! The two kinds of transaction. Neither can be had without a proof of the right to it.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Instant;

use sqlx::PgConnection;
use tokio::sync::{Notify, OwnedSemaphorePermit};

use super::session::Session;
use super::{Db, OnConstraint};
use crate::auth::{Action, Namespace, OperatorPermit, Permit};
use crate::error::{Error, Result};
use crate::id::TenantId;

/// The number of a namespace that does not exist: it matches no row.
const NO_NAMESPACE: i32 = 0;

/// A transaction that sees the rows of one tenant, and in which one namespace is meant.
#[derive(Debug)]
pub struct TenantTx {
    session: Session,
    tenant: TenantId,
    namespace: Namespace,
    ns: i32,
    model: i16,
    /// Whether there is an event in it, to be told of once it is committed.
    announces: bool,
    announcements: Arc<Notify>,
    /// Given back after the connection, which was declared before it.
    _turn: OwnedSemaphorePermit,
}

/// A transaction that sees the rows of all tenants.
#[derive(Debug)]
pub struct OperatorTx {
    session: Session,
}

impl Db {
    /// Begins a transaction within the tenant and namespace of a permit.
    ///
    /// A permit to write makes the namespace if it does not exist yet.
    pub async fn begin(&self, permit: &Permit) -> Result<TenantTx> {
        let tenant = permit.tenant();
        // The id is a UUID of ours, so that nothing of the caller's stands in this text. One round trip does both.
        let sql = format!("BEGIN; SELECT set_config('memtide.tenant', '{}', true)", tenant.uuid());
        let namespace = permit.namespace().clone();
        let start = Instant::now();
        let turn = self.shares.take(tenant).await?;
        let session = Session::begin(&self.pool, sql, start).await?;
        let announcements = Arc::clone(&self.announcements);
        let (ns, model) = (NO_NAMESPACE, self.model());
        let mut tx =
            TenantTx { session, tenant, namespace, ns, model, announces: false, announcements, _turn: turn };
        tx.ns = self.resolve_namespace(&mut tx, permit).await?;
        Ok(tx)
    }

    /// Waits until a transaction of this process has committed an event since the last call.
    pub async fn announced(&self) {
        self.announcements.notified().await;
    }

    /// Begins a transaction across tenants, for an operator or for the service's own housekeeping.
    pub async fn begin_operator(&self, _: &OperatorPermit) -> Result<OperatorTx> {
        let sql = "BEGIN; SELECT set_config('role', 'memtide_operator', true)".to_owned();
        Ok(OperatorTx { session: Session::begin(&self.pool, sql, Instant::now()).await? })
    }

    async fn resolve_namespace(&self, tx: &mut TenantTx, permit: &Permit) -> Result<i32> {
        let key = (tx.tenant, permit.namespace().as_str().to_owned());
        if let Some(ns) = self.namespaces.get(&key) {
            return Ok(ns);
        }
        if let Some(ns) = find_namespace(tx, &key.1).await? {
            self.namespaces.insert(key, ns);
            return Ok(ns);
        }
        if permit.action() == Action::Write { create_namespace(tx, &key.1).await } else { Ok(NO_NAMESPACE) }
    }
}

async fn find_namespace(tx: &mut TenantTx, name: &str) -> Result<Option<i32>> {
    let tenant = tx.tenant.uuid();
    let ns =
        sqlx::query_scalar!("SELECT ns FROM namespaces WHERE tenant_id = $1 AND name = $2", tenant, name)
            .fetch_optional(&mut **tx)
            .await?;
    Ok(ns)
}

/// Not cached: the transaction may still be rolled back.
async fn create_namespace(tx: &mut TenantTx, name: &str) -> Result<i32> {
    let tenant = tx.tenant.uuid();
    // Two writers who create at once would take the same number; the second waits here instead.
    sqlx::query!("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", format!("namespaces:{tenant}"))
        .execute(&mut **tx)
        .await?;
    if let Some(ns) = find_namespace(tx, name).await? {
        return Ok(ns);
    }
    let ns = sqlx::query_scalar!(
        "INSERT INTO namespaces (tenant_id, ns, name)
         SELECT $1, coalesce(max(ns), 0) + 1, $2
         FROM namespaces
         WHERE tenant_id = $1
         RETURNING ns",
        tenant,
        name
    )
    .fetch_one(&mut **tx)
    .await
    .on_constraint("namespaces_tenant", || Error::NotFound("tenant"))?;
    // The key to the tenant is held from here on: it was erased before this, or will not be while this goes on.
    let exists = sqlx::query_scalar!(
        "SELECT EXISTS (SELECT FROM tenants WHERE tenant_id = $1 AND status <> 'deleted') AS \"exists!\"",
        tenant
    )
    .fetch_one(&mut **tx)
    .await?;
    if exists { Ok(ns) } else { Err(Error::NotFound("tenant")) }
}

/// Does a transaction's work, and once more when another transaction got in its way.
pub async fn with_retry<T, F, Fut>(work: F) -> Result<T>
where
    F: Fn() -> Fut,
    Fut: Future<Output = Result<T>>,
{
    match work().await {
        Err(error) if error.is_collision() => work().await,
        result => result,
    }
}

impl TenantTx {
    /// The tenant whose rows this transaction sees, for the `tenant_id = $1` of every statement.
    pub fn tenant(&self) -> uuid::Uuid {
        self.tenant.uuid()
    }

    /// The short form of the namespace; 0, which matches nothing, when it does not exist.
    pub fn ns(&self) -> i32 {
        self.ns
    }

    /// The namespace meant, by name.
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// The number of the model that makes this process's vectors; 0 when there is none.
    pub fn model(&self) -> i16 {
        self.model
    }

    /// Sets a setting of Postgres until the transaction ends.
    pub async fn set_for_now(&mut self, setting: &'static str, value: &'static str) -> Result<()> {
        sqlx::query_scalar!("SELECT set_config($1, $2, true)", setting, value).fetch_one(&mut **self).await?;
        Ok(())
    }

    /// Lets the statements from here on be planned for their values: for those whose best plan depends on how many
    /// rows a filter leaves. All others keep one plan, because planning a search takes longer than looking it up.
    pub async fn plan_for_values(&mut self) -> Result<()> {
        self.set_for_now("plan_cache_mode", "force_custom_plan").await
    }

    /// Says that an event is written here: whoever waits for [`Db::announced`] is told at the commit.
    pub fn announce(&mut self) {
        self.announces = true;
    }

    /// Makes everything done here last.
    pub async fn commit(self) -> Result<()> {
        self.session.commit().await?;
        if self.announces {
            self.announcements.notify_one();
        }
        Ok(())
    }
}

impl OperatorTx {
    /// Makes everything done here last.
    pub async fn commit(self) -> Result<()> {
        self.session.commit().await
    }
}

impl Deref for TenantTx {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.session
    }
}

impl DerefMut for TenantTx {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.session
    }
}

impl Deref for OperatorTx {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.session
    }
}

impl DerefMut for OperatorTx {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.session
    }
}

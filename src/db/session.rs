//! A connection in a transaction: begun in bounded time, and never given back half done.
//!
//! sqlx has a transaction of its own, with one flaw. When whoever begins goes away in the middle of BEGIN, as the task
//! of a client who hangs up does, the connection returns to the pool inside the open transaction, with the tenant and
//! the role of whoever hung up. And no call to Postgres returns on its own when the network swallows the answer.

use std::ops::{Deref, DerefMut};
use std::time::{Duration, Instant};

use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, PgConnection, PgPool, Postgres};

use super::ACQUIRE_TIMEOUT;
use super::error::is_passing;
use crate::error::{Error, Result};

/// How long BEGIN may take. After that Postgres, or the way to it, is taken to be gone.
const BEGIN_TIMEOUT: Duration = Duration::from_millis(500);

/// How long ROLLBACK may take, behind a statement that nobody waits for any more, before the connection is closed.
const ROLLBACK_TIMEOUT: Duration = Duration::from_secs(2);

/// A transaction that is given up after so long waits for an answer that will not come: a statement takes less.
const HOPELESS: Duration = Duration::from_secs(6);

/// A connection in a transaction, which is rolled back unless it is committed.
#[derive(Debug)]
pub(super) struct Session {
    /// There until the session is dropped.
    connection: Option<PoolConnection<Postgres>>,
    stage: Stage,
    since: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Stage {
    /// BEGIN was sent, and is not answered.
    Beginning,
    Open,
    Committed,
}

impl Session {
    /// Takes a connection and begins, with a text that starts with BEGIN. It was waited for since `start` already.
    pub(super) async fn begin(pool: &PgPool, sql: String, start: Instant) -> Result<Self> {
        loop {
            let left = ACQUIRE_TIMEOUT.saturating_sub(start.elapsed());
            let connection = tokio::time::timeout(left, pool.acquire()).await;
            let connection = connection.map_err(|_| Error::unavailable("the database"))?;
            let connection = connection.map_err(|error| unreached(&error))?;
            let mut session = Self { connection: Some(connection), stage: Stage::Beginning, since: start };
            let begin = sqlx::raw_sql(AssertSqlSafe(sql.clone())).execute(&mut *session);
            match tokio::time::timeout(BEGIN_TIMEOUT, begin).await {
                Ok(Ok(_)) => {
                    session.stage = Stage::Open;
                    return Ok(session);
                }
                // A connection that broke while it was idle. Nothing was done yet, so that trying another is safe.
                Ok(Err(error)) if is_passing(&error) && start.elapsed() < ACQUIRE_TIMEOUT => {}
                Ok(Err(error)) => return Err(error.into()),
                Err(_) => {
                    tracing::warn!("the database did not answer in time");
                    return Err(Error::unavailable("the database"));
                }
            }
        }
    }

    /// Makes everything done here last.
    pub(super) async fn commit(mut self) -> Result<()> {
        sqlx::raw_sql("COMMIT").execute(&mut *self).await?;
        self.stage = Stage::Committed;
        Ok(())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        match self.stage {
            Stage::Beginning => connection.close_on_drop(),
            Stage::Open if self.since.elapsed() > HOPELESS => connection.close_on_drop(),
            Stage::Open => drop(tokio::spawn(roll_back(connection))),
            Stage::Committed => {}
        }
    }
}

/// Whatever kept us from a connection, nothing was done, and it may be gone a moment later.
fn unreached(error: &sqlx::Error) -> Error {
    tracing::warn!(%error, "there is no connection to the database");
    Error::unavailable("the database")
}

async fn roll_back(mut connection: PoolConnection<Postgres>) {
    let rollback = sqlx::raw_sql("ROLLBACK").execute(&mut *connection);
    if !matches!(tokio::time::timeout(ROLLBACK_TIMEOUT, rollback).await, Ok(Ok(_))) {
        connection.close_on_drop();
    }
}

impl Deref for Session {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        self.connection.as_deref().expect("only drop takes the connection")
    }
}

impl DerefMut for Session {
    fn deref_mut(&mut self) -> &mut PgConnection {
        self.connection.as_deref_mut().expect("only drop takes the connection")
    }
}

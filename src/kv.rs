//! Redis, which holds the working memory.

use chrono::{DateTime, Utc};
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use std::time::Duration;
use tokio::sync::OnceCell;

use crate::config::Secret;
use crate::error::{Error, Result};

/// How long a command may take before the request is answered 503.
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(250);

/// The connection to Redis, made when it is first needed and made again when it breaks.
#[derive(Clone)]
pub struct Kv {
    client: redis::Client,
    connection: std::sync::Arc<OnceCell<ConnectionManager>>,
}

impl Kv {
    /// Prepares the client; nothing is sent yet.
    pub fn new(url: &Secret) -> Result<Self> {
        let client = redis::Client::open(url.expose())
            .map_err(|error| Error::invalid("REDIS_URL", error.to_string()))?;
        Ok(Self { client, connection: std::sync::Arc::default() })
    }

    /// Whether Redis answers.
    pub async fn ping(&self) -> Result<()> {
        let mut connection = self.connection().await?;
        Ok(redis::cmd("PING").exec_async(&mut connection).await?)
    }

    /// What the server says of its persistence and memory policy, for `memtide doctor`.
    pub async fn info(&self, section: &str) -> Result<String> {
        let mut connection = self.connection().await?;
        Ok(redis::cmd("INFO").arg(section).query_async(&mut connection).await?)
    }

    /// The server's time.
    pub async fn time(&self) -> Result<DateTime<Utc>> {
        let mut connection = self.connection().await?;
        let (seconds, micros): (i64, u32) = redis::cmd("TIME").query_async(&mut connection).await?;
        DateTime::from_timestamp(seconds, micros * 1_000).ok_or_else(|| Error::internal("redis has no time"))
    }

    async fn connection(&self) -> Result<ConnectionManager> {
        let config = ConnectionManagerConfig::new()
            .set_connection_timeout(Some(RESPONSE_TIMEOUT))
            .set_response_timeout(Some(RESPONSE_TIMEOUT))
            .set_number_of_retries(1);
        let make = || self.client.get_connection_manager_with_config(config);
        Ok(self.connection.get_or_try_init(make).await?.clone())
    }
}

impl std::fmt::Debug for Kv {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Kv")
    }
}

impl From<redis::RedisError> for Error {
    fn from(error: redis::RedisError) -> Self {
        tracing::warn!(error = %error, "redis could not serve a command");
        Self::unavailable("working memory")
    }
}

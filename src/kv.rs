//! Redis, which holds the working memory.

use std::time::Duration;

use chrono::{DateTime, Utc};
use redis::aio::{ConnectionManager, ConnectionManagerConfig};

use crate::config::Secret;
use crate::error::{Error, Result};

/// How long a command may take before the request is answered 503.
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(250);

/// The connection to Redis, made when it is first needed and made again when it breaks.
#[derive(Clone)]
pub struct Kv(ConnectionManager);

impl Kv {
    /// Prepares the connection; nothing is sent yet.
    pub fn new(url: &Secret) -> Result<Self> {
        let config = ConnectionManagerConfig::new()
            .set_connection_timeout(Some(RESPONSE_TIMEOUT))
            .set_response_timeout(Some(RESPONSE_TIMEOUT))
            .set_number_of_retries(1);
        let prepare = |client| ConnectionManager::new_lazy_with_config(client, config);
        redis::Client::open(url.expose())
            .and_then(prepare)
            .map(Self)
            .map_err(|error| Error::invalid("REDIS_URL", error.to_string()))
    }

    /// Whether Redis answers.
    pub async fn ping(&self) -> Result<()> {
        Ok(redis::cmd("PING").exec_async(&mut self.0.clone()).await?)
    }

    /// What the server says of its persistence and memory policy, for `memtide doctor`.
    pub async fn info(&self, section: &str) -> Result<String> {
        Ok(redis::cmd("INFO").arg(section).query_async(&mut self.0.clone()).await?)
    }

    /// The server's time.
    pub async fn time(&self) -> Result<DateTime<Utc>> {
        let (seconds, micros): (i64, u32) = redis::cmd("TIME").query_async(&mut self.0.clone()).await?;
        DateTime::from_timestamp(seconds, micros * 1_000).ok_or_else(|| Error::internal("redis has no time"))
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

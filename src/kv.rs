//! Redis, which holds the working memory: one server, or a Cluster.

mod feed;

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use redis::cluster_routing::{RoutingInfo, SingleNodeRoutingInfo};
use redis::{Cmd, ErrorKind, FromRedisValue, RedisError, RedisResult, ServerErrorKind, Value};

pub use self::feed::{Feed, Feeds, Notice};

use crate::config::Redis;
use crate::error::{Error, Result};

/// How long a command may take before the request is answered 503.
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(250);

/// The connection to Redis, made when it is first needed and made again when it breaks. Cloning is cheap.
#[derive(Clone)]
pub struct Kv {
    link: Link,
    prefix: Arc<str>,
    feeds: Feeds,
}

#[derive(Clone)]
enum Link {
    Server(ConnectionManager),
    Cluster(ClusterConnection),
}

/// A script that the server runs as one step.
#[derive(Debug)]
pub struct Script {
    code: String,
    hash: String,
}

impl Script {
    /// A script whose text is these parts, one after the other.
    pub fn new(parts: &[&str]) -> Self {
        let code = parts.join("\n");
        let hash = redis::Script::new(&code).get_hash().to_owned();
        Self { code, hash }
    }
}

impl Kv {
    /// Prepares the connection; nothing is sent yet.
    pub fn new(config: &Redis) -> Result<Self> {
        let refuse = |error: RedisError| Error::invalid("REDIS_URL", error.to_string());
        let open = |url: &str| redis::Client::open(url).map_err(refuse);
        let clients = config.urls.iter().map(|url| open(url.expose())).collect::<Result<Vec<_>>>()?;
        let link = if config.is_cluster { Link::cluster(config) } else { Link::server(&clients) };
        Ok(Self {
            link: link.map_err(refuse)?,
            prefix: config.prefix.as_str().into(),
            feeds: Feeds::new(clients),
        })
    }

    /// What every key and channel of this deployment begins with.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// What is published, as it comes.
    pub fn feeds(&self) -> &Feeds {
        &self.feeds
    }

    /// Sends a command and waits for its answer, 250 ms at most.
    pub async fn ask<T: FromRedisValue>(&self, command: &Cmd) -> Result<T> {
        Ok(self.try_ask(command).await?)
    }

    /// Runs a script on some keys of one hash slot, whether or not the server knows it already; 250 ms at most.
    pub async fn run<T: FromRedisValue>(
        &self,
        script: &Script,
        keys: &[&str],
        arguments: impl Fn(&mut Cmd),
    ) -> Result<T> {
        let command = |name: &str, script: &str| {
            let mut command = redis::cmd(name);
            command.arg(script).arg(keys.len()).arg(keys);
            arguments(&mut command);
            command
        };
        match self.try_ask(&command("EVALSHA", &script.hash)).await {
            // A server that was restarted, failed over or told to forget.
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                self.ask(&command("EVAL", &script.code)).await
            }
            result => Ok(result?),
        }
    }

    async fn try_ask<T: FromRedisValue>(&self, command: &Cmd) -> RedisResult<T> {
        let ask = async {
            match self.link.clone() {
                Link::Server(mut server) => command.query_async(&mut server).await,
                Link::Cluster(mut cluster) => command.query_async(&mut cluster).await,
            }
        };
        tokio::time::timeout(RESPONSE_TIMEOUT, ask).await.unwrap_or_else(|_| Err(timed_out()))
    }

    /// Asks the server, or any node of a Cluster.
    async fn ask_one<T: FromRedisValue>(&self, command: Cmd) -> Result<T> {
        let Link::Cluster(mut cluster) = self.link.clone() else { return self.ask(&command).await };
        let any = RoutingInfo::SingleNode(SingleNodeRoutingInfo::Random);
        let answer = tokio::time::timeout(RESPONSE_TIMEOUT, cluster.route_command(command, any)).await;
        let value: Value = answer.unwrap_or_else(|_| Err(timed_out()))?;
        Ok(T::from_redis_value(value).map_err(RedisError::from)?)
    }

    /// Whether Redis answers.
    pub async fn ping(&self) -> Result<()> {
        self.ask_one::<Value>(redis::cmd("PING")).await.map(drop)
    }

    /// What the server says of its persistence and memory policy, for `memtide doctor`.
    pub async fn info(&self, section: &str) -> Result<String> {
        let mut command = redis::cmd("INFO");
        command.arg(section);
        self.ask_one(command).await
    }

    /// The server's time.
    pub async fn time(&self) -> Result<DateTime<Utc>> {
        let (seconds, micros): (i64, u32) = self.ask_one(redis::cmd("TIME")).await?;
        DateTime::from_timestamp(seconds, micros * 1_000).ok_or_else(|| Error::internal("redis has no time"))
    }
}

impl Link {
    fn server(clients: &[redis::Client]) -> RedisResult<Self> {
        let none = || RedisError::from((ErrorKind::InvalidClientConfig, "there is no URL"));
        let config = ConnectionManagerConfig::new()
            .set_connection_timeout(Some(RESPONSE_TIMEOUT))
            .set_response_timeout(Some(RESPONSE_TIMEOUT))
            .set_number_of_retries(1);
        let client = clients.first().cloned().ok_or_else(none)?;
        ConnectionManager::new_lazy_with_config(client, config).map(Self::Server)
    }

    fn cluster(config: &Redis) -> RedisResult<Self> {
        let nodes = config.urls.iter().map(crate::config::Secret::expose);
        let client = ClusterClient::builder(nodes)
            .connection_timeout(RESPONSE_TIMEOUT)
            .response_timeout(RESPONSE_TIMEOUT)
            .retries(3)
            .min_retry_wait(5)
            .max_retry_wait(50)
            .build()?;
        let pending = client.get_pending_async_connection_with_config(redis::cluster::ClusterConfig::new());
        Ok(Self::Cluster(pending))
    }
}

fn timed_out() -> RedisError {
    std::io::Error::from(std::io::ErrorKind::TimedOut).into()
}

impl std::fmt::Debug for Kv {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Kv")
    }
}

impl From<RedisError> for Error {
    fn from(error: RedisError) -> Self {
        if is_fault_of_ours(&error) {
            return Self::internal(error);
        }
        tracing::warn!(error = %error, "redis could not serve a command");
        Self::unavailable("working memory")
    }
}

/// A script that fails, or an answer of another shape: trying again would not help. Everything else may pass: Redis is
/// away, loading, full, read only, or the slot is on its way to another node.
fn is_fault_of_ours(error: &RedisError) -> bool {
    match error.kind() {
        ErrorKind::Server(ServerErrorKind::ResponseError) => {
            // Redis gives errors of a script this code, whatever happened inside: only its own code tells.
            let text = error.to_string();
            !["OOM", "NOREPLICAS", "MISCONF", "READONLY", "LOADING", "BUSY"]
                .iter()
                .any(|code| text.contains(code))
        }
        ErrorKind::Server(ServerErrorKind::CrossSlot)
        | ErrorKind::UnexpectedReturnType
        | ErrorKind::Parse => true,
        _ => false,
    }
}

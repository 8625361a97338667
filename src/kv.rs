//! Redis, which holds the working memory: one server, or a Cluster.

mod feed;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use chrono::{DateTime, Utc};
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::cluster::{ClusterClient, ClusterConfig};
use redis::cluster_async::ClusterConnection;
use redis::cluster_routing::{RoutingInfo, SingleNodeRoutingInfo};
use redis::{Cmd, ErrorKind, FromRedisValue, RedisError, RedisResult, ServerErrorKind, Value};

pub use self::feed::{Feed, Feeds, Notice};

use crate::config::{Redis, Secret};
use crate::error::{Error, Result};

/// How long a command may take before the request is answered 503.
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(250);

/// The connection's own patience: a little longer, so that it is this file that gives up.
const SILENCE: Duration = Duration::from_millis(300);

/// How long to wait before a Cluster is asked again that was about to move the keys.
const REFUSED_PAUSES: [Duration; 3] =
    [Duration::from_millis(5), Duration::from_millis(20), Duration::from_millis(50)];

/// The connection to Redis, made when it is first needed and made again when it breaks. Cloning is cheap.
#[derive(Clone)]
pub struct Kv {
    link: Arc<RwLock<Link>>,
    config: Arc<Redis>,
    feeds: Feeds,
}

/// A connection, how many there were before it, and how many answers came on it.
#[derive(Clone)]
struct Link {
    number: u64,
    answers: Arc<AtomicU64>,
    way: Way,
}

#[derive(Clone)]
enum Way {
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
        let link = Link { number: 0, answers: Arc::default(), way: Way::open(config).map_err(refuse)? };
        Ok(Self {
            link: Arc::new(RwLock::new(link)),
            config: Arc::new(config.clone()),
            feeds: Feeds::new(clients),
        })
    }

    /// What every key and channel of this deployment begins with.
    pub fn prefix(&self) -> &str {
        &self.config.prefix
    }

    /// What is published, as it comes.
    pub fn feeds(&self) -> &Feeds {
        &self.feeds
    }

    /// Sends a command and waits for its answer, 250 ms at most.
    pub async fn ask<T: FromRedisValue>(&self, command: &Cmd) -> Result<T> {
        let link = self.link();
        Ok(self.in_time(&link, link.way.ask(command)).await?)
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
        let link = self.link();
        let ask = async {
            match link.way.ask(&command("EVALSHA", &script.hash)).await {
                // A server that was restarted, failed over or told to forget.
                Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                    link.way.ask(&command("EVAL", &script.code)).await
                }
                result => result,
            }
        };
        Ok(self.in_time(&link, ask).await?)
    }

    /// Asks the server, or any node of a Cluster.
    async fn ask_one<T: FromRedisValue>(&self, command: Cmd) -> Result<T> {
        let link = self.link();
        let Way::Cluster(mut cluster) = link.way.clone() else { return self.ask(&command).await };
        let any = RoutingInfo::SingleNode(SingleNodeRoutingInfo::Random);
        let value: Value = self.in_time(&link, cluster.route_command(command, any)).await?;
        Ok(T::from_redis_value(value).map_err(RedisError::from)?)
    }

    fn link(&self) -> Link {
        self.link.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn in_time<T>(&self, link: &Link, ask: impl Future<Output = RedisResult<T>>) -> RedisResult<T> {
        let answers = link.answers.load(Ordering::Relaxed);
        if let Ok(result) = tokio::time::timeout(RESPONSE_TIMEOUT, ask).await {
            link.answers.fetch_add(1, Ordering::Relaxed);
            return result;
        }
        // A crowd waits for its turn on a connection that works.
        if link.answers.load(Ordering::Relaxed) == answers {
            self.give_up(link.number)?;
        }
        Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into())
    }

    /// Drops a connection that answers nobody: after a failover the old one may stay silent for ever.
    fn give_up(&self, number: u64) -> RedisResult<()> {
        let mut link = self.link.write().unwrap_or_else(PoisonError::into_inner);
        if link.number == number {
            *link = Link { number: number + 1, answers: Arc::default(), way: Way::open(&self.config)? };
        }
        Ok(())
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

impl Way {
    fn open(config: &Redis) -> RedisResult<Self> {
        if config.is_cluster { Self::cluster(config) } else { Self::server(config) }
    }

    fn server(config: &Redis) -> RedisResult<Self> {
        let url = config.urls.first().map_or("", Secret::expose);
        let config = ConnectionManagerConfig::new()
            .set_connection_timeout(Some(RESPONSE_TIMEOUT))
            .set_response_timeout(Some(SILENCE))
            .set_number_of_retries(1);
        ConnectionManager::new_lazy_with_config(redis::Client::open(url)?, config).map(Self::Server)
    }

    async fn ask<T: FromRedisValue>(&self, command: &Cmd) -> RedisResult<T> {
        match self.clone() {
            Self::Server(mut server) => command.query_async(&mut server).await,
            Self::Cluster(mut cluster) => ask_cluster(&mut cluster, command).await,
        }
    }

    fn cluster(config: &Redis) -> RedisResult<Self> {
        let client = ClusterClient::builder(config.urls.iter().map(Secret::expose))
            .connection_timeout(RESPONSE_TIMEOUT)
            .response_timeout(SILENCE)
            // The client would send again also what may have had its effect: `ask_cluster` knows better.
            .retries(0)
            .build()?;
        let pending = client.get_pending_async_connection_with_config(ClusterConfig::new());
        Ok(Self::Cluster(pending))
    }
}

/// Asks the node of a Cluster that is to hold the keys. What a node refuses because they are elsewhere, or on their way,
/// had no effect and is sent again. Whatever else goes wrong, the command may have been carried out.
async fn ask_cluster<T: FromRedisValue>(cluster: &mut ClusterConnection, command: &Cmd) -> RedisResult<T> {
    for pause in REFUSED_PAUSES {
        match command.query_async(cluster).await {
            Err(error) if is_refused(&error) => {
                let moved_to = error.redirect_node().filter(|_| is_asked_elsewhere(&error));
                if let Some(node) = moved_to.and_then(|(address, _)| by_address(address)) {
                    return follow(cluster, command, node).await;
                }
                tokio::time::sleep(pause).await;
            }
            result => return result,
        }
    }
    command.query_async(cluster).await
}

/// Asks the node to which the keys are on their way.
async fn follow<T: FromRedisValue>(
    cluster: &mut ClusterConnection,
    command: &Cmd,
    node: SingleNodeRoutingInfo,
) -> RedisResult<T> {
    let mut pipeline = redis::pipe();
    pipeline.cmd("ASKING").ignore().add_command(command.clone());
    let answers = cluster.route_pipeline(pipeline, 1, 1, node).await?;
    let answer = answers.into_iter().next().unwrap_or(Value::Nil);
    Ok(T::from_redis_value(answer.extract_error()?)?)
}

fn by_address(address: &str) -> Option<SingleNodeRoutingInfo> {
    let (host, port) = address.rsplit_once(':')?;
    Some(SingleNodeRoutingInfo::ByAddress { host: host.to_owned(), port: port.parse().ok()? })
}

fn is_asked_elsewhere(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::Ask)
}

fn is_refused(error: &RedisError) -> bool {
    use ServerErrorKind::{Ask, BusyLoading, ClusterDown, MasterDown, Moved, ReadOnly, TryAgain};
    match error.kind() {
        ErrorKind::Server(kind) => {
            matches!(kind, Ask | BusyLoading | ClusterDown | MasterDown | Moved | ReadOnly | TryAgain)
        }
        // It was not sent: there is no connection to the node.
        kind => kind == ErrorKind::ClusterConnectionNotFound,
    }
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

//! The configuration: read once from the environment, checked whole, every fault named at once.

mod reader;

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use self::reader::Reader;
use crate::embed::EmbedConfig;
use crate::extract::ExtractConfig;
use crate::tenant::Limits;

/// How the URLs of each sort begin.
const POSTGRES: &[&str] = &["postgres", "postgresql"];
const HTTP: &[&str] = &["http", "https"];

/// Everything the environment decides.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where and how HTTP is served.
    pub http: Http,
    /// The Postgres that holds what must last.
    pub database: Database,
    /// The Redis that holds working memory.
    pub redis: Redis,
    /// The deployment secret: seals the signing keys. At least 32 bytes.
    pub secret: Secret,
    /// What turns text into vectors.
    pub embedding: EmbedConfig,
    /// What finds facts in text.
    pub extraction: ExtractConfig,
    /// How telemetry leaves the process.
    pub telemetry: Telemetry,
    /// Where `memtide dev` keeps the tokens of the local stack.
    pub dev_dir: PathBuf,
    /// What a new tenant may use, unless its operator says so; in a local stack everything.
    pub tenant_limits: Limits,
    /// A local stack: one developer, capabilities of up to 30 days, no rate limits.
    pub local: bool,
}

/// Where and how HTTP is served.
#[derive(Debug, Clone)]
pub struct Http {
    /// The address the API listens on.
    pub address: SocketAddr,
    /// Where `/metrics` listens, when it is not to be on the API's address.
    pub metrics_address: Option<SocketAddr>,
    /// The URL clients use, for the OpenAPI document and printed hints.
    pub public_url: String,
    /// A token that every request must carry as bearer, if set.
    pub access_token: Option<Secret>,
    /// How long nothing may be heard of a WebSocket, not even the answer to a ping.
    pub socket_idle: Duration,
    /// How long the client of a WebSocket may leave what was sent to it unread.
    pub socket_slow: Duration,
    /// Origins of web pages that may speak MCP, beside this machine's and the service's own; `*` for all.
    pub mcp_origins: Vec<String>,
}

/// The Postgres that holds what must last.
#[derive(Debug, Clone)]
pub struct Database {
    /// The service's URL, as the ordinary role `memtide_app`.
    pub url: Secret,
    /// A superuser's URL; only `memtide migrate`, `dev` and `doctor` use it.
    pub admin_url: Option<Secret>,
    /// Connections of this process, at most.
    pub pool: u32,
}

/// The Redis that holds working memory.
#[derive(Debug, Clone)]
pub struct Redis {
    /// The server's URL; of a Cluster, one or more of its nodes.
    pub urls: Vec<Secret>,
    /// Whether the URLs name nodes of a Redis Cluster.
    pub is_cluster: bool,
    /// What every key and channel begins with, so that deployments can share a Redis.
    pub prefix: String,
}

/// How telemetry leaves the process.
#[derive(Debug, Clone)]
pub struct Telemetry {
    /// A `tracing` filter, such as `info` or `memtide=debug`.
    pub filter: String,
    /// JSON lines; else text for people.
    pub json: bool,
    /// An OTLP endpoint that takes traces over HTTP; off when absent.
    pub otlp_endpoint: Option<String>,
}

/// What `memtide mcp` needs: a server, and who speaks.
#[derive(Debug, Clone)]
pub struct Bridge {
    /// The server's URL, without a slash at its end.
    pub url: String,
    /// A personal token or a capability.
    pub token: Secret,
}

/// A value that never shows itself in logs or errors.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Hides a value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value, for the one place that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

/// All that is wrong with the environment.
#[derive(Debug, thiserror::Error)]
#[error("the configuration is wrong:\n{}", .0.iter().map(|fault| format!("  - {fault}")).collect::<Vec<_>>().join("\n"))]
pub struct Faults(Vec<String>);

impl Config {
    /// Reads and checks the process's environment.
    pub fn from_env() -> Result<Self, Faults> {
        #[expect(clippy::disallowed_methods, reason = "this is the one reader of the environment")]
        Self::read(|name| std::env::var(name).ok())
    }

    /// Reads and checks an environment given as a function from names to values.
    pub fn read(get: impl Fn(&str) -> Option<String>) -> Result<Self, Faults> {
        let mut env = Reader::new(&get);
        let host = env.or("MEMTIDE_HOST", IpAddr::from([127, 0, 0, 1]));
        let port = env.or("MEMTIDE_PORT", 8080_u16);
        let cores =
            std::thread::available_parallelism().map_or(2, |cores| u32::try_from(cores.get()).unwrap_or(2));
        let local = env.one_of("MEMTIDE_LOCAL", &["0", "1"]) == "1";
        let config = Self {
            http: Http {
                address: SocketAddr::new(host, port),
                metrics_address: env.optional("MEMTIDE_METRICS_ADDR"),
                public_url: env.or("MEMTIDE_PUBLIC_URL", format!("http://127.0.0.1:{port}")),
                access_token: env.optional("MEMTIDE_ACCESS_TOKEN"),
                socket_idle: env.seconds("MEMTIDE_SOCKET_IDLE_SECONDS", 60),
                socket_slow: env.seconds("MEMTIDE_SOCKET_SLOW_SECONDS", 20),
                mcp_origins: env.list("MEMTIDE_MCP_ALLOWED_ORIGINS"),
            },
            database: Database {
                url: env.url("DATABASE_URL", POSTGRES),
                admin_url: env.optional_url("DATABASE_ADMIN_URL", POSTGRES).map(Secret),
                pool: env.within("MEMTIDE_DB_POOL", (2 * cores).max(8), 1, 1_000),
            },
            redis: env.redis(),
            secret: env.secret("MEMTIDE_SECRET", 32),
            embedding: env.embedding(cores),
            extraction: env.extraction(),
            telemetry: Telemetry {
                filter: env.filter("MEMTIDE_LOG"),
                json: env.one_of("MEMTIDE_LOG_FORMAT", &["json", "text"]) == "json",
                otlp_endpoint: env.optional_url("OTEL_EXPORTER_OTLP_ENDPOINT", HTTP),
            },
            dev_dir: env.or("MEMTIDE_DEV_DIR", PathBuf::from(".dev")),
            tenant_limits: env.tenant_limits(local),
            local,
        };
        if env.faults.is_empty() { Ok(config) } else { Err(Faults(env.faults)) }
    }
}

impl Bridge {
    /// Reads and checks the process's environment.
    pub fn from_env() -> Result<Self, Faults> {
        #[expect(clippy::disallowed_methods, reason = "this is the one reader of the environment")]
        Self::read(|name| std::env::var(name).ok())
    }

    /// Reads and checks an environment given as a function from names to values.
    pub fn read(get: impl Fn(&str) -> Option<String>) -> Result<Self, Faults> {
        let mut env = Reader::new(&get);
        let url = env.optional_url("MEMTIDE_URL", HTTP);
        let url = url.unwrap_or_else(|| "http://127.0.0.1:8080".to_owned()).trim_end_matches('/').to_owned();
        let token = env.text("MEMTIDE_MCP_TOKEN").or_else(|| env.text("MEMTIDE_CAPABILITY"));
        if token.is_none() {
            env.faults.push("MEMTIDE_MCP_TOKEN: is not set: it holds a personal token, mt_pat_…".to_owned());
        }
        let bridge = Self { url, token: Secret(token.unwrap_or_default()) };
        if env.faults.is_empty() { Ok(bridge) } else { Err(Faults(env.faults)) }
    }
}

impl FromStr for Secret {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.to_owned()))
    }
}

#[cfg(test)]
mod tests;

//! The configuration: read once from the environment, checked whole, every fault named at once.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use crate::embed::{EmbedConfig, HttpConfig, LocalConfig};
use crate::extract::ExtractConfig;
use crate::extract::llm::LlmConfig;
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
        let mut env = Reader { get: &get, faults: Vec::new() };
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
        let mut env = Reader { get: &get, faults: Vec::new() };
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

struct Reader<'a> {
    get: &'a dyn Fn(&str) -> Option<String>,
    faults: Vec<String>,
}

impl Reader<'_> {
    /// Unset and empty are the same, as in a compose file that passes on an unset variable.
    fn text(&self, name: &str) -> Option<String> {
        (self.get)(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    fn optional<T: FromStr<Err: fmt::Display>>(&mut self, name: &str) -> Option<T> {
        match self.text(name)?.parse() {
            Ok(value) => Some(value),
            Err(error) => {
                self.faults.push(format!("{name}: {error}"));
                None
            }
        }
    }

    /// Values between commas.
    fn list(&self, name: &str) -> Vec<String> {
        let text = self.text(name).unwrap_or_default();
        let values = text.split(',').map(|value| value.trim().trim_end_matches('/').to_owned());
        values.filter(|value| !value.is_empty()).collect()
    }

    fn or<T: FromStr<Err: fmt::Display>>(&mut self, name: &str, default: T) -> T {
        self.optional(name).unwrap_or(default)
    }

    fn within<T: FromStr<Err: fmt::Display> + PartialOrd + fmt::Display + Copy>(
        &mut self,
        name: &str,
        default: T,
        least: T,
        most: T,
    ) -> T {
        let value = self.or(name, default);
        if value < least || value > most {
            self.faults.push(format!("{name}: {value} is outside of {least} to {most}"));
        }
        value
    }

    fn seconds(&mut self, name: &str, default: u64) -> Duration {
        Duration::from_secs(self.within(name, default, 3, 3_600))
    }

    /// The first of the choices is the default.
    fn one_of(&mut self, name: &str, choices: &[&'static str]) -> &'static str {
        let Some(text) = self.text(name) else { return choices[0] };
        choices.iter().find(|&&choice| choice == text).copied().unwrap_or_else(|| {
            self.faults.push(format!("{name}: {text:?} is none of {}", choices.join(", ")));
            choices[0]
        })
    }

    fn url(&mut self, name: &str, schemes: &[&str]) -> Secret {
        if self.text(name).is_none() {
            self.faults.push(format!("{name}: is not set"));
        }
        Secret(self.optional_url(name, schemes).unwrap_or_default())
    }

    fn redis(&mut self) -> Redis {
        let is_cluster = self.one_of("MEMTIDE_REDIS_CLUSTER", &["0", "1"]) == "1";
        let text = self.text("REDIS_URL").unwrap_or_default();
        let urls: Vec<&str> = if is_cluster { text.split(',').map(str::trim).collect() } else { vec![&text] };
        if text.is_empty() {
            self.faults.push("REDIS_URL: is not set".to_owned());
        } else {
            for url in &urls {
                self.check_url("REDIS_URL", url, &["redis", "rediss"]);
            }
        }
        let prefix = self.or("MEMTIDE_REDIS_PREFIX", String::new());
        // A brace would decide which node of a Cluster holds the key.
        if !prefix.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.:".contains(&b)) {
            self.faults.push("MEMTIDE_REDIS_PREFIX: may hold letters, digits and -_.: only".to_owned());
        }
        Redis { urls: urls.into_iter().map(Secret::new).collect(), is_cluster, prefix }
    }

    fn optional_url(&mut self, name: &str, schemes: &[&str]) -> Option<String> {
        let text = self.text(name)?;
        self.check_url(name, &text, schemes);
        Some(text)
    }

    /// The fault does not repeat the value: it may hold a password.
    fn check_url(&mut self, name: &str, text: &str, schemes: &[&str]) {
        let scheme = text.split_once("://").map(|(scheme, _)| scheme);
        if !scheme.is_some_and(|scheme| schemes.contains(&scheme)) {
            self.faults.push(format!("{name}: does not start with {}://", schemes.join(":// or ")));
        } else if let Err(error) = reqwest::Url::parse(text) {
            self.faults.push(format!("{name}: {error}"));
        }
    }

    fn filter(&mut self, name: &str) -> String {
        let filter = self.or(name, "info".to_owned());
        if let Err(error) = tracing_subscriber::EnvFilter::try_new(&filter) {
            self.faults.push(format!("{name}: {error}"));
        }
        filter
    }

    fn embedding(&mut self, cores: u32) -> EmbedConfig {
        match self.one_of("MEMTIDE_EMBEDDER", &["local", "http", "off"]) {
            "off" => EmbedConfig::Off,
            "http" => EmbedConfig::Http(HttpConfig {
                base_url: self
                    .optional_url("MEMTIDE_EMBED_URL", HTTP)
                    .unwrap_or_else(|| "https://api.openai.com".to_owned()),
                key: self.header("MEMTIDE_EMBED_KEY"),
                model: self.or("MEMTIDE_EMBED_MODEL", "text-embedding-3-small".to_owned()),
                dimensions: self.within("MEMTIDE_EMBED_DIMENSIONS", 1_536, 1, 4_000),
                batch: self.within("MEMTIDE_EMBED_BATCH", 64, 1, 2_048),
                timeout: Duration::from_millis(self.within("MEMTIDE_EMBED_TIMEOUT_MS", 5_000, 1, 60_000)),
                retries: self.within("MEMTIDE_EMBED_RETRIES", 2, 0, 10),
            }),
            _ => EmbedConfig::Local(LocalConfig {
                model_dir: self.or("MEMTIDE_MODEL_DIR", PathBuf::from(".dev/model")),
                // One core is left to the rest, unless it is half of all: of two, both embed a third more than one.
                workers: self.within("MEMTIDE_EMBED_WORKERS", (cores.max(3) - 1).min(cores) as usize, 1, 256),
            }),
        }
    }

    /// 0 stands for no limit.
    fn tenant_limits(&mut self, local: bool) -> Limits {
        let mut most = |name: &str, usual: u32| {
            let count = self.or(name, if local { 0 } else { usual });
            (count > 0).then_some(count)
        };
        Limits {
            requests_per_second: most("MEMTIDE_TENANT_REQUESTS_PER_SECOND", 50),
            burst: most("MEMTIDE_TENANT_BURST", 100),
            max_in_flight: most("MEMTIDE_TENANT_MAX_IN_FLIGHT", 16),
            ..Limits::default()
        }
    }

    fn extraction(&mut self) -> ExtractConfig {
        if self.one_of("MEMTIDE_EXTRACTOR", &["rules", "llm"]) == "rules" {
            return ExtractConfig::Rules;
        }
        let milliseconds = |number: u32| Duration::from_millis(number.into());
        ExtractConfig::Llm(LlmConfig {
            base_url: self
                .optional_url("MEMTIDE_LLM_URL", HTTP)
                .unwrap_or_else(|| "https://api.openai.com".to_owned()),
            key: self.header("MEMTIDE_LLM_KEY"),
            model: self.or("MEMTIDE_LLM_MODEL", "gpt-4.1-mini".to_owned()),
            timeout: milliseconds(self.within("MEMTIDE_LLM_TIMEOUT_MS", 30_000, 1, 600_000)),
            deadline: milliseconds(self.within("MEMTIDE_LLM_DEADLINE_MS", 90_000, 1, 3_600_000)),
            retries: self.within("MEMTIDE_LLM_RETRIES", 2, 0, 10),
            window_tokens: self.within("MEMTIDE_LLM_WINDOW_TOKENS", 6_000, 100, 1_000_000),
            answer_tokens: self.within("MEMTIDE_LLM_ANSWER_TOKENS", 4_000, 100, 100_000),
        })
    }

    /// A secret that goes into a header, which carries visible ASCII only.
    fn header(&mut self, name: &str) -> Option<Secret> {
        let text = self.text(name)?;
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            self.faults.push(format!("{name}: holds characters that a header cannot carry"));
        }
        Some(Secret(text))
    }

    fn secret(&mut self, name: &str, least_bytes: usize) -> Secret {
        let text = self.text(name).unwrap_or_default();
        if text.len() < least_bytes {
            self.faults.push(format!("{name}: needs at least {least_bytes} bytes, has {}", text.len()));
        }
        Secret(text)
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

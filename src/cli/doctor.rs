//! `memtide doctor`: what is wrong with a deployment, and what to do about it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::clock::Clock;
use crate::config::Config;
use crate::db::{self, Db};
use crate::embed::Embedder;
use crate::kv::Kv;

/// Clocks that are further apart than this are worth a word; capabilities allow for five seconds.
const SKEW_WARNED_MS: i64 = 1_000;
const SKEW_ALLOWED_MS: i64 = 5_000;

/// What is to be looked at.
#[derive(Debug, clap::Args)]
pub struct Doctor {
    /// Only ask the server on this machine whether it is ready (for health checks of containers)
    #[arg(long)]
    ready: bool,
}

/// How bad it is.
#[derive(Clone, Copy, PartialEq)]
enum Level {
    Ok,
    Warn,
    Fault,
}

/// What was found, one line each.
#[derive(Default)]
struct Findings {
    faults: usize,
}

impl Findings {
    fn note(&mut self, level: Level, subject: &str, text: impl std::fmt::Display) {
        let word = match level {
            Level::Ok => "ok   ",
            Level::Warn => "warn ",
            Level::Fault => "fault",
        };
        self.faults += usize::from(level == Level::Fault);
        println!("{word}  {subject}: {text}");
    }

    fn ok(&mut self, subject: &str, text: impl std::fmt::Display) {
        self.note(Level::Ok, subject, text);
    }

    fn warn(&mut self, subject: &str, text: impl std::fmt::Display) {
        self.note(Level::Warn, subject, text);
    }

    fn fault(&mut self, subject: &str, text: impl std::fmt::Display) {
        self.note(Level::Fault, subject, text);
    }
}

impl Doctor {
    /// Looks, and fails when something is wrong.
    pub async fn run(self, config: Config) -> anyhow::Result<ExitCode> {
        if self.ready {
            let is_ready = is_ready(local(config.http.address)).await.unwrap_or(false);
            return Ok(if is_ready { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        let mut findings = Findings::default();
        check_database(&mut findings, &config).await?;
        check_redis(&mut findings, &config).await?;
        check_model(&mut findings, &config).await;
        if findings.faults > 0 {
            println!("{} faults", findings.faults);
            return Ok(ExitCode::FAILURE);
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Where this machine reaches what listens there: the loopback of its kind when it listens everywhere.
fn local(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// Asks by hand: one request does not need a client.
async fn is_ready(address: SocketAddr) -> anyhow::Result<bool> {
    let ask = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await?;
        let mut status = [0; 12];
        stream.read_exact(&mut status).await?;
        anyhow::Ok(status.ends_with(b" 200"))
    };
    tokio::time::timeout(Duration::from_secs(4), ask).await?
}

async fn check_database(findings: &mut Findings, config: &Config) -> anyhow::Result<()> {
    if let Err(error) = db::reach(&config.database).await {
        findings.fault("postgres", error);
        return Ok(());
    }
    let db = Db::connect(&config.database)?;
    match db::check_role(&db).await {
        Ok(()) => findings.ok("role", "an ordinary one, which row level security binds"),
        Err(error) => findings.fault("role", error),
    }
    match db::check_schema(&db).await {
        Ok(()) => findings.ok("schema", format!("at version {}", *db::SCHEMA_VERSION)),
        Err(error) => findings.fault("schema", error),
    }
    match db::inspect(&db).await {
        Ok(seen) => judge_database(findings, &seen),
        Err(error) => findings.fault("postgres", error),
    }
    Ok(())
}

fn judge_database(findings: &mut Findings, seen: &db::Inspection) {
    findings.ok("postgres", format!("version {}", seen.server_version));
    match &seen.vector_version {
        Some(version) if is_at_least(version, (0, 8)) => {
            findings.ok("pgvector", format!("version {version}"));
        }
        Some(version) => {
            findings.fault(
                "pgvector",
                format!("version {version} is too old: 0.8 is needed (ALTER EXTENSION vector UPDATE)"),
            );
        }
        None => findings.fault("pgvector", "the extension is missing: run `memtide migrate`"),
    }
    if seen.may_operate {
        findings.ok("operator role", "may be taken on");
    } else {
        findings
            .fault("operator role", "memtide_app may not take on memtide_operator: run `memtide migrate`");
    }
    if seen.unprotected.is_empty() {
        findings.ok("row level security", "enabled and forced on every table of tenants");
    } else {
        let tables = seen.unprotected.join(", ");
        findings
            .fault("row level security", format!("not enabled and forced, or without a policy, on {tables}"));
    }
    judge_clock(findings, "clock of postgres", seen.now);
}

async fn check_redis(findings: &mut Findings, config: &Config) -> anyhow::Result<()> {
    let kv = Kv::new(&config.redis)?;
    if kv.ping().await.is_err() {
        findings.fault("redis", "does not answer at REDIS_URL: working memory is unavailable");
        return Ok(());
    }
    let persistence = kv.info("persistence").await?;
    if field(&persistence, "aof_enabled") == Some("1") {
        findings.ok("redis persistence", "append-only file");
    } else {
        findings.warn(
            "redis persistence",
            "appendonly is off: a crash loses the working memory (set appendonly yes)",
        );
    }
    let memory = kv.info("memory").await?;
    match field(&memory, "maxmemory_policy") {
        Some("noeviction") => findings.ok("redis memory", "noeviction"),
        Some(policy) if field(&memory, "maxmemory") == Some("0") => {
            findings.warn("redis memory", format!("policy is {policy}, without a limit: set noeviction"));
        }
        Some(policy) => {
            findings.fault(
                "redis memory",
                format!("policy {policy} drops slots when memory is short: set noeviction"),
            );
        }
        None => findings.warn("redis memory", "the eviction policy is not told: see that it is noeviction"),
    }
    judge_clock(findings, "clock of redis", kv.time().await?);
    Ok(())
}

async fn check_model(findings: &mut Findings, config: &Config) {
    let embedder = match Embedder::connect(config.embedding.clone()).await {
        Ok(embedder) => embedder,
        Err(error) => return findings.fault("embedder", error),
    };
    match embedder.model() {
        Some(model) => findings.ok("embedder", format!("{}, {} dimensions", model.name, model.dimensions)),
        None => findings.warn("embedder", "off: search finds words only"),
    }
}

fn judge_clock(findings: &mut Findings, subject: &str, time: DateTime<Utc>) {
    let apart = (Clock::default().now() - time).num_milliseconds().abs();
    if apart > SKEW_ALLOWED_MS {
        findings.fault(subject, format!("{apart} ms from this machine's: run NTP on both"));
    } else if apart > SKEW_WARNED_MS {
        findings.warn(subject, format!("{apart} ms from this machine's: run NTP on both"));
    } else {
        findings.ok(subject, format!("{apart} ms from this machine's"));
    }
}

/// A line `name:value` of what Redis tells of itself.
fn field<'t>(info: &'t str, name: &str) -> Option<&'t str> {
    info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

fn is_at_least(version: &str, wanted: (u32, u32)) -> bool {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) >= wanted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_asked_where_it_listens() {
        let asked = |address: &str| local(address.parse().expect("an address")).to_string();
        assert_eq!(asked("0.0.0.0:8080"), "127.0.0.1:8080");
        assert_eq!(asked("[::]:8080"), "[::1]:8080");
        assert_eq!(asked("127.0.0.2:8080"), "127.0.0.2:8080");
        assert_eq!(asked("[::1]:1"), "[::1]:1");
    }
}

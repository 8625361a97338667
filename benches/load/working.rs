//! Working memory: beside `redis-benchmark` with the same script, and with many namespaces beside few.

use std::cell::RefCell;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

use anyhow::{Context as _, Result, ensure};
use futures_util::StreamExt as _;
use memtide::config::Redis;
use redis::cmd;
use reqwest::Url;
use serde_json::{Value, json};

use crate::MANY;
use crate::cpu::Watched;
use crate::phase::Phase;
use crate::raw::{Connection, Request, address, request};

/// As many clients as `redis-benchmark` has unless told.
const CROWD: usize = 50;

/// How many requests a phase makes.
const REQUESTS: usize = 20_000;

/// How many namespaces are few, and how many are many.
const SPACES: [usize; 2] = [10, 10_000];

/// What a namespace holds: what the default capacity allows.
const SLOTS: usize = 7;

const INJECT: &str = "/v1/working-memory/slots/inject";
const LIST: &str = "/v1/working-memory/slots";
const CAPABILITY: &str = "x-akasha-capability";

/// What working memory is measured with.
pub struct Working {
    /// `redis-benchmark`, of any release.
    pub redis_benchmark: PathBuf,
    /// The Redis that the server uses.
    pub redis: Url,
    /// What the server's keys begin with.
    pub prefix: String,
    address: SocketAddr,
    key: String,
    watched: Watched,
}

/// The same work with few and with many namespaces.
struct Spread {
    inject: Phase,
    list: Phase,
}

impl Working {
    /// Reads from the server's own file how it is reached.
    pub fn new(
        redis_benchmark: PathBuf,
        redis: &Redis,
        prefix: String,
        env_file: &Path,
        watched: Watched,
    ) -> Result<Self> {
        let text = fs::read_to_string(env_file)?;
        let variable = |name: &str| {
            let value = text
                .lines()
                .find_map(|line| line.trim_start_matches("export ").strip_prefix(name)?.strip_prefix('='));
            value.map(|value| value.trim_matches(['"', '\'']).to_owned()).with_context(|| name.to_owned())
        };
        let url = redis.urls.first().context("REDIS_URL")?;
        Ok(Self {
            redis_benchmark,
            redis: Url::parse(url.expose())?,
            prefix,
            address: address(&variable("MEMTIDE_URL")?)?,
            key: variable("MEMTIDE_API_KEY")?,
            watched,
        })
    }

    /// Measures everything and prints it.
    pub async fn run(&self) -> Result<()> {
        println!("\nworking memory");
        let one = self.enter(1).await?;
        let ratios = self.beside_redis(&one[0]).await?;
        let lists = vec![request("GET", LIST, (CAPABILITY, &one[0]), ""); REQUESTS];
        self.phase(MANY, injects(&one)).await?;
        let list = self.phase(MANY, lists).await?;
        println!("inject over redis-benchmark with the same script, {CROWD} clients: {ratios}");
        println!(
            "list of {SLOTS} slots, {MANY} clients: p50 {:.2} ms, server CPU {:.3} ms",
            list.p50_ms, list.server_cpu_ms
        );
        let [few, many] = [self.spread(SPACES[0]).await?, self.spread(SPACES[1]).await?];
        for (what, few, many) in [("inject", few.inject, many.inject), ("list", few.list, many.list)] {
            println!(
                "{what}: an operation with {} namespaces takes {:.2} × as long as with {} (p50 {:.2}, CPU {:.2})",
                SPACES[1],
                few.per_second / many.per_second,
                SPACES[0],
                many.p50_ms / few.p50_ms,
                many.server_cpu_ms / few.server_cpu_ms,
            );
        }
        self.clean_up().await
    }

    /// The rates of three rounds over those of `redis-benchmark`, in turn.
    async fn beside_redis(&self, capability: &str) -> Result<String> {
        let bodies = (0..SLOTS).map(|slot| body(slot).to_string());
        let requests: Vec<Request> =
            bodies.map(|body| request("POST", INJECT, (CAPABILITY, capability), &body)).collect();
        let Some(command) = self.overhear(&requests[0]).await? else {
            return Ok("nothing was overheard".into());
        };
        let mut ratios = Vec::new();
        for _ in 0..3 {
            let Some(theirs) = self.benchmark(&command)? else {
                return Ok(format!("{} is not there", self.redis_benchmark.display()));
            };
            let requests = requests.iter().cycle().take(REQUESTS).cloned().collect();
            let ours = self.phase(CROWD, requests).await?;
            ratios.push(format!("{:.2} (server CPU {:.3} ms)", ours.per_second / theirs, ours.server_cpu_ms));
        }
        Ok(ratios.join("  "))
    }

    /// What the server sends to Redis for a request that it has seen before.
    async fn overhear(&self, inject: &Request) -> Result<Option<Vec<String>>> {
        let mut connection = Connection::open(self.address).await?;
        connection.send(inject).await?;
        let monitor = redis::Client::open(self.redis.as_str())?.get_async_monitor().await?;
        connection.send(inject).await?;
        let mut said = monitor.into_on_message::<String>();
        let wait = async {
            while let Some(line) = said.next().await {
                let words: Vec<String> = words(&line);
                if words.first().is_some_and(|word| word.eq_ignore_ascii_case("evalsha"))
                    && line.contains(&self.prefix)
                {
                    return Some(words);
                }
            }
            None
        };
        Ok(tokio::time::timeout(std::time::Duration::from_secs(2), wait).await.ok().flatten())
    }

    /// Requests a second of `redis-benchmark`.
    fn benchmark(&self, command: &[String]) -> Result<Option<f64>> {
        let mut benchmark = Command::new(&self.redis_benchmark);
        benchmark.args(["-h", self.redis.host_str().unwrap_or("127.0.0.1")]);
        benchmark.args(["-p", &self.redis.port().unwrap_or(6379).to_string()]);
        benchmark.args(["--dbnum", self.redis.path().trim_start_matches('/')]);
        if let Some(password) = self.redis.password() {
            benchmark.env("REDISCLI_AUTH", password).args(["-a", password]);
        }
        benchmark.args(["-c", &CROWD.to_string(), "-n", &(4 * REQUESTS).to_string(), "--csv"]).args(command);
        let Ok(output) = benchmark.output() else { return Ok(None) };
        let said = String::from_utf8_lossy(&output.stdout);
        let rate = said.lines().last().and_then(|line| line.rsplit("\",\"").nth(6)?.parse().ok());
        rate.map(Some).with_context(|| {
            format!("redis-benchmark prints {said}{}", String::from_utf8_lossy(&output.stderr))
        })
    }

    /// The same work over so many namespaces, each with its slots.
    async fn spread(&self, spaces: usize) -> Result<Spread> {
        let before = self.used_memory().await?;
        let capabilities = self.enter(spaces).await?;
        self.phase(MANY, injects(&capabilities)).await?;
        if spaces == SPACES[1] {
            let slots = (SPACES[1] - SPACES[0]) * SLOTS;
            #[expect(clippy::cast_precision_loss, reason = "memory of a test")]
            let each = (self.used_memory().await? - before) as f64 / slots as f64;
            println!("{} namespaces of {SLOTS} slots: {each:.0} bytes of Redis a slot", SPACES[1]);
        }
        let pick = |number: usize| &capabilities[number.wrapping_mul(7_919) % capabilities.len()];
        let injects = (0..REQUESTS).map(|number| {
            request("POST", INJECT, (CAPABILITY, pick(number)), &body(number % SLOTS).to_string())
        });
        let lists = (0..REQUESTS).map(|number| request("GET", LIST, (CAPABILITY, pick(number)), ""));
        // The first time, the server checks tokens that it then remembers.
        self.phase(MANY, lists.clone().collect()).await?;
        Ok(Spread {
            inject: self.phase(MANY, injects.collect()).await?,
            list: self.phase(MANY, lists.collect()).await?,
        })
    }

    async fn phase(&self, clients: usize, requests: Vec<Request>) -> Result<Phase> {
        let mut open = Vec::with_capacity(clients);
        for _ in 0..clients {
            open.push(Connection::open(self.address).await?);
        }
        let idle = Rc::new(RefCell::new(open));
        Phase::run(clients, requests, self.watched, async move |request: Request| {
            let connection = idle.borrow_mut().pop();
            let mut connection = connection.context("more clients than connections")?;
            connection.send(&request).await?;
            idle.borrow_mut().push(connection);
            Ok(())
        })
        .await
    }

    /// Capabilities to the first so many namespaces.
    async fn enter(&self, spaces: usize) -> Result<Vec<String>> {
        let mut connection = Connection::open(self.address).await?;
        let mut capabilities = Vec::with_capacity(spaces);
        for number in 0..spaces {
            let body = json!({ "namespace": format!("space-{number}"), "ttl_seconds": 3_600 }).to_string();
            let bearer = format!("Bearer {}", self.key);
            let answer = connection
                .send(&request("POST", "/v1/auth/token", ("authorization", &bearer), &body))
                .await?;
            let answer: Value = serde_json::from_slice(answer)?;
            capabilities.push(answer["capability"].as_str().context("no capability")?.to_owned());
        }
        Ok(capabilities)
    }

    async fn used_memory(&self) -> Result<i64> {
        let mut redis = self.connect().await?;
        let said: String = cmd("INFO").arg("memory").query_async(&mut redis).await?;
        let used = said.lines().find_map(|line| line.strip_prefix("used_memory:")?.trim().parse().ok());
        used.context("used_memory")
    }

    async fn clean_up(&self) -> Result<()> {
        let mut redis = self.connect().await?;
        let mut cursor = 0_u64;
        loop {
            let mut scan = cmd("SCAN");
            scan.arg(cursor).arg("MATCH").arg(format!("{}*", self.prefix)).arg("COUNT").arg(1_000);
            let (next, keys): (u64, Vec<String>) = scan.query_async(&mut redis).await?;
            if !keys.is_empty() {
                cmd("UNLINK").arg(&keys).exec_async(&mut redis).await?;
            }
            if next == 0 {
                return Ok(());
            }
            cursor = next;
        }
    }

    async fn connect(&self) -> Result<redis::aio::MultiplexedConnection> {
        Ok(redis::Client::open(self.redis.as_str())?.get_multiplexed_async_connection().await?)
    }
}

/// Fills each namespace.
fn injects(capabilities: &[String]) -> Vec<Request> {
    let each = capabilities.iter().flat_map(|capability| (0..SLOTS).map(move |slot| (capability, slot)));
    each.map(|(capability, slot)| request("POST", INJECT, (CAPABILITY, capability), &body(slot).to_string()))
        .collect()
}

fn body(slot: usize) -> Value {
    json!({ "id": format!("slot-{slot}"), "value": { "text": "What the agent has in mind right now.", "n": slot } })
}

/// The words of a line of MONITOR, each in quotes with escapes.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        match (&mut word, c) {
            (Some(text), '\\') => text.extend(characters.next()),
            (Some(_), '"') => words.extend(word.take()),
            (Some(text), c) => text.push(c),
            (None, '"') => word = Some(String::new()),
            (None, _) => {}
        }
    }
    words
}

/// Whether the ratio can be had at all.
pub fn check(redis: &Redis) -> Result<()> {
    ensure!(!redis.is_cluster, "the bench needs one Redis, not a Cluster");
    Ok(())
}

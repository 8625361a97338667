//! Looking behind the service's back at Redis, and Redis servers of a test's own.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use memtide::id::EventId;
use redis::aio::MultiplexedConnection;
use redis::{Cmd, FromRedisValue, cmd};

use super::db::find_env;
use super::process::free_port;
use super::{TestApp, env};

/// Names the nodes of the Cluster on which the tests of working memory are run once more.
pub const CLUSTER: &str = "MEMTIDE_TEST_REDIS_CLUSTER";

/// Every key of the test's own prefix without that prefix, and what it holds, as text.
pub async fn dump(app: &TestApp) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for url in &app.app.config.redis.urls {
        let mut node = connect(url.expose()).await;
        for key in scan(&mut node, &app.app.config.redis.prefix).await {
            let kind: String = cmd("TYPE").arg(&key).query_async(&mut node).await.unwrap();
            let read = match kind.as_str() {
                "hash" => cmd("HGETALL").arg(&key).clone(),
                "zset" => cmd("ZRANGE").arg(&key).arg(0).arg(-1).arg("WITHSCORES").clone(),
                _ => continue,
            };
            let content: Vec<String> = read.query_async(&mut node).await.unwrap();
            let mut pairs: Vec<&[String]> = content.chunks(2).collect();
            pairs.sort_unstable();
            let name = key[app.app.config.redis.prefix.len()..].to_owned();
            all.insert(name, format!("{pairs:?}"));
        }
    }
    all
}

async fn scan(node: &mut MultiplexedConnection, prefix: &str) -> Vec<String> {
    let (mut cursor, mut keys) = (0_u64, Vec::new());
    loop {
        let pattern = format!("{prefix}*");
        let mut scan = cmd("SCAN");
        scan.arg(cursor).arg("MATCH").arg(&pattern).arg("COUNT").arg(1_000);
        let (next, found): (u64, Vec<String>) = scan.query_async(node).await.unwrap();
        keys.extend(found);
        if next == 0 {
            return keys;
        }
        cursor = next;
    }
}

/// A connection to one server.
pub async fn connect(url: &str) -> MultiplexedConnection {
    redis::Client::open(url).unwrap().get_multiplexed_async_connection().await.unwrap()
}

/// Sends one command to the server that holds its key.
pub async fn tell_keeper(app: &TestApp, command: &Cmd) {
    for url in &app.app.config.redis.urls {
        let answer: redis::RedisResult<redis::Value> =
            command.query_async(&mut connect(url.expose()).await).await;
        match answer {
            Ok(_) => return,
            Err(error) => assert_eq!(error.code(), Some("MOVED"), "{error}"),
        }
    }
    panic!("no server holds the key");
}

/// A Redis of the test's own. It goes when it is dropped.
pub struct TestRedis {
    /// Where it listens.
    pub port: u16,
    folder: PathBuf,
    settings: Vec<String>,
    child: Option<Child>,
}

impl TestRedis {
    /// Starts a server, unless `make test` says that this stack has no program for it.
    pub async fn start(settings: &[&str]) -> Option<Self> {
        if find_env("MEMTIDE_TEST_SKIP_REDIS").is_some_and(|skip| skip == "1") {
            eprintln!("skipped: this stack has no program of Redis");
            return None;
        }
        let folder = std::env::temp_dir().join(format!("memtide-redis-{}", EventId::new()));
        fs::create_dir(&folder).unwrap();
        let settings = settings.iter().map(|&setting| setting.to_owned()).collect();
        let mut redis = Self { port: free_port(), folder, settings, child: None };
        redis.restart().await;
        Some(redis)
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    /// Asks it something.
    pub async fn ask<T: FromRedisValue>(&self, command: &Cmd) -> T {
        command.query_async(&mut connect(&self.url()).await).await.unwrap()
    }

    /// For how many microseconds it has run scripts.
    pub async fn script_micros(&self) -> u64 {
        self.script_stat("usec=").await
    }

    /// How many scripts it has run.
    pub async fn script_calls(&self) -> u64 {
        self.script_stat("calls=").await
    }

    async fn script_stat(&self, name: &str) -> u64 {
        let stats: String = self.ask(cmd("INFO").arg("commandstats")).await;
        let of_scripts = stats.lines().filter(|line| line.starts_with("cmdstat_eval"));
        let numbers = of_scripts.filter_map(|line| line.split(name).nth(1)?.split(',').next());
        numbers.map(|number| number.parse::<u64>().unwrap()).sum()
    }

    /// Ends it the hard way.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Starts it, after it was ended, with whatever it has kept.
    pub async fn restart(&mut self) {
        let mut command = Command::new(env("MEMTIDE_TEST_REDIS_SERVER"));
        command.args(["--port", &self.port.to_string(), "--bind", "127.0.0.1", "--save", ""]);
        command.arg("--dir").arg(&self.folder).args(&self.settings);
        self.child =
            Some(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        let start = Instant::now();
        let client = redis::Client::open(self.url()).unwrap();
        while client.get_multiplexed_async_connection().await.is_err() {
            assert!(start.elapsed() < Duration::from_secs(10), "redis-server does not start");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for TestRedis {
    fn drop(&mut self) {
        self.kill();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Three nodes that share the hash slots.
pub struct TestCluster {
    /// The nodes.
    pub nodes: Vec<TestRedis>,
}

impl TestCluster {
    /// Starts three nodes and waits until they know each other; nothing where none can be started (and says so).
    pub async fn start() -> Option<Self> {
        let mut nodes = Vec::new();
        for _ in 0..3 {
            let bus = free_port().to_string();
            let settings =
                ["--cluster-enabled", "yes", "--cluster-port", &bus, "--cluster-node-timeout", "5000"];
            nodes.push((TestRedis::start(&settings).await?, bus));
        }
        for (number, (node, _)) in nodes.iter().enumerate() {
            let (first, last) = (number * 5_462, (number * 5_462 + 5_461).min(16_383));
            node.ask::<()>(cmd("CLUSTER").arg("ADDSLOTSRANGE").arg(first).arg(last)).await;
            for (other, bus) in &nodes {
                node.ask::<()>(cmd("CLUSTER").arg("MEET").arg("127.0.0.1").arg(other.port).arg(bus)).await;
            }
        }
        let cluster = Self { nodes: nodes.into_iter().map(|(node, _)| node).collect() };
        let start = Instant::now();
        while !cluster.is_whole().await {
            assert!(start.elapsed() < Duration::from_secs(30), "the nodes do not come together");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Some(cluster)
    }

    async fn is_whole(&self) -> bool {
        for node in &self.nodes {
            let info: String = node.ask(cmd("CLUSTER").arg("INFO")).await;
            let has = |line: &str| info.lines().any(|found| found.trim() == line);
            if !(has("cluster_state:ok") && has("cluster_slots_ok:16384") && has("cluster_known_nodes:3")) {
                return false;
            }
        }
        true
    }

    /// How many keys each node holds.
    pub async fn key_counts(&self) -> Vec<u64> {
        let mut counts = Vec::new();
        for node in &self.nodes {
            counts.push(node.ask(&cmd("DBSIZE")).await);
        }
        counts
    }

    /// The URLs of the nodes.
    pub fn urls(&self) -> String {
        self.nodes.iter().map(TestRedis::url).collect::<Vec<_>>().join(",")
    }
}

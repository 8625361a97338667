//! Writers and readers that drop and resume, over two servers of which one is killed: no event is lost, doubled or out
//! of order (F-3, C150).

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use memtide::auth::Rights;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::support::process::Settings;
use crate::support::wire::{Wire, at_once, note};
use crate::support::{Follower, TestDb, find_env};

/// How much of it there is.
#[derive(Clone, Copy)]
struct Size {
    writers: usize,
    commits: usize,
    /// Readers of each sort.
    readers: usize,
    /// How often the first server is killed.
    kills: usize,
}

/// When each record was acknowledged, by its text.
type Acknowledged = Arc<Mutex<HashMap<String, Instant>>>;

/// What a reader has been told: the number, the text, when, and since when its connection was open.
type Heard = Vec<(i64, String, Instant, Instant)>;

/// A few numbers that differ from reader to reader.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
}

async fn write(urls: [String; 2], token: String, writer: usize, commits: usize, acknowledged: Acknowledged) {
    let wires = urls.map(|url| Wire::new(&url).with("x-akasha-capability", &token));
    for commit in 0..commits {
        let content = format!("Commit {commit} of writer {writer}.");
        // Whatever becomes of a request, the same text is one record: it can be sent again, to the other server too.
        for attempt in writer + commit.. {
            match wires[attempt % 2].post("/v1/memory/items", &note(&content)).await {
                Ok(reply) if reply.status < 300 => break,
                _ => tokio::time::sleep(Duration::from_millis(30)).await,
            }
        }
        acknowledged.lock().unwrap().insert(content, Instant::now());
    }
}

async fn follow(
    is_socket: bool,
    addresses: [SocketAddr; 2],
    token: String,
    seed: u64,
    total: watch::Receiver<Option<i64>>,
) -> Heard {
    let (mut dice, mut heard): (Dice, Heard) = (Dice(seed), Vec::new());
    let last = |heard: &Heard| heard.last().map_or(0, |(seq, ..)| *seq);
    while total.borrow().is_none_or(|total| last(&heard) < total) {
        let address = addresses[dice.roll(2)];
        let Some(mut follower) = Follower::try_open(is_socket, address, &token, last(&heard)).await else {
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let open = Instant::now();
        for _ in 0..=dice.roll(400) {
            let next = tokio::time::timeout(Duration::from_secs(2), follower.next()).await;
            let Ok(Some(told)) = next else { break };
            let params = &told["params"];
            let content = params["record"]["content"].as_str().unwrap_or_default().to_owned();
            heard.push((params["seq"].as_i64().unwrap(), content, Instant::now(), open));
        }
    }
    heard
}

/// How long after its answer an event reached those who were connected, sorted.
async fn run(size: Size) -> Vec<Duration> {
    let db = TestDb::create().await;
    let settings = Settings::of(&db.config());
    let key = settings.make_tenant("crash").await;
    let mut first = settings.serve().await;
    let second = settings.with("MEMTIDE_PORT", crate::support::process::free_port()).serve().await;
    let urls = [first.url.clone(), second.url.clone()];
    let addresses = urls.clone().map(|url| url.strip_prefix("http://").unwrap().parse().unwrap());
    let request = json!({ "namespace": "default", "capabilities": Rights::all(), "ttl_seconds": 3_600 });
    let buyer = second.wire().with("authorization", &format!("Bearer {key}"));
    let bought = buyer.post("/v1/auth/token", &request).await.unwrap().expect(200);
    let token = bought["capability"].as_str().unwrap().to_owned();

    let (end, total) = watch::channel(None);
    let readers: Vec<_> = (0..2 * size.readers)
        .map(|at| {
            let follow = follow(at % 2 == 0, addresses, token.clone(), at as u64 + 1, total.clone());
            tokio::spawn(follow)
        })
        .collect();
    let acknowledged = Acknowledged::default();
    let writing = tokio::spawn(at_once(
        (0..size.writers)
            .map(|writer| write(urls.clone(), token.clone(), writer, size.commits, Arc::clone(&acknowledged)))
            .collect::<Vec<_>>()
            .into_iter(),
    ));
    let all = size.writers * size.commits;
    for kill in 1..=size.kills {
        while acknowledged.lock().unwrap().len() < all * kill / (size.kills + 1) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        first.kill();
        first = settings.serve().await;
    }
    writing.await.unwrap();
    let count: i64 =
        sqlx::query_scalar("SELECT count(*) FROM events").fetch_one(&mut db.superuser().await).await.unwrap();
    assert_eq!(usize::try_from(count).unwrap(), all, "one event a record, however often it was sent");
    end.send_replace(Some(count));
    let mut late = Vec::new();
    for reader in readers {
        let heard =
            tokio::time::timeout(Duration::from_mins(5), reader).await.expect("an event is missing").unwrap();
        let seqs: Vec<i64> = heard.iter().map(|(seq, ..)| *seq).collect();
        assert_eq!(seqs, (1..=count).collect::<Vec<_>>(), "each once, in order");
        let mut contents: Vec<&String> = heard.iter().map(|(_, content, ..)| content).collect();
        contents.sort();
        contents.dedup();
        assert_eq!(contents.len(), all, "each record once");
        let acknowledged = acknowledged.lock().unwrap();
        // Whoever was away when it was acknowledged was told later because of that.
        let live = heard.iter().filter(|(_, content, _, open)| *open < acknowledged[content]);
        late.extend(live.map(|(_, content, at, _)| at.saturating_duration_since(acknowledged[content])));
    }
    late.sort();
    late
}

fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    sorted[(sorted.len() - 1) * percent / 100]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_that_drop_and_resume_miss_nothing_while_a_server_is_killed_f3() {
    run(Size { writers: 4, commits: 60, readers: 2, kills: 2 }).await;
}

/// F-3 with all its writers and readers, and `MEMTIDE_TEST_COMMITS` of each writer: 10,000 as it is written, which takes
/// minutes. Prints what it measured.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_writers_and_eight_readers_lose_and_double_nothing_f3() {
    let commits = find_env("MEMTIDE_TEST_COMMITS").map_or(100, |text| text.parse().unwrap());
    let start = Instant::now();
    let late = run(Size { writers: 8, commits, readers: 4, kills: 1 }).await;
    let percentiles: Vec<Value> =
        [50, 90, 99, 100].iter().map(|p| json!([p, percentile(&late, *p).as_millis()])).collect();
    eprintln!(
        "{} commits in {:?}; from answer to client, percent and ms: {percentiles:?}",
        8 * commits,
        start.elapsed()
    );
}

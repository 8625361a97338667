//! Nothing that was acknowledged is lost, and no key has two effects, whoever dies (F-2).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::watch;

use super::books::{self, Acknowledged};
use crate::support::TestPostgres;
use crate::support::process::Settings;
use crate::support::wire::{self, Wire, note};

const WRITERS: usize = 8;
const KILLS: usize = 20;

/// How many writes are acknowledged between two kills, at least.
const WRITES_BETWEEN: usize = 40;

/// How long a request may be repeated; longer than an abandoned claim lives.
const PATIENCE: Duration = Duration::from_secs(40);

/// One request, which is repeated under its key until it is answered.
#[derive(Clone)]
struct Write {
    key: String,
    path: &'static str,
    body: Value,
    since: Instant,
}

type Journal = Arc<Mutex<Vec<Acknowledged>>>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_write_is_lost_and_no_key_has_two_effects_over_twenty_kills() {
    let Some(mut postgres) = TestPostgres::start().await else { return };
    let settings = Settings::of(&postgres.config());
    assert_eq!(settings.run(&["migrate"]).await.code, Some(0));
    let key = settings.make_tenant("kill").await;
    let mut server = settings.serve().await;
    let caller = wire::caller(&server.url, &key).await;

    let (stop, stopped) = watch::channel(false);
    let journal = Journal::default();
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| tokio::spawn(write(caller.clone(), writer, stopped.clone(), Arc::clone(&journal))))
        .collect();
    let start = Instant::now();
    for kill in 0..KILLS {
        acknowledged(&journal, WRITES_BETWEEN).await;
        // Not always at the same place of a request.
        tokio::time::sleep(Duration::from_millis((kill as u64 * 7) % 20)).await;
        if kill % 2 == 0 {
            server.kill();
            server = settings.serve().await;
        } else {
            postgres.kill();
            postgres.restart().await;
        }
    }
    acknowledged(&journal, WRITES_BETWEEN).await;
    let kills_took = start.elapsed();
    stop.send_replace(true);
    for writer in writers {
        writer.await.unwrap();
    }

    let journal = journal.lock().unwrap().split_off(0);
    eprintln!("{} records were acknowledged, {KILLS} kills took {kills_took:?}", journal.len());
    let mut connection = postgres.superuser().await;
    books::check_records(&mut connection, &journal).await;
    books::check_counters(&mut connection).await;
    assert!(!server.log().contains("ERROR"), "{}", server.log());
}

/// Waits until this many more writes are acknowledged.
async fn acknowledged(journal: &Journal, more: usize) {
    let start = Instant::now();
    let wanted = journal.lock().unwrap().len() + more;
    while journal.lock().unwrap().len() < wanted {
        assert!(start.elapsed() < PATIENCE, "writes come to a standstill");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Sends writes one after the other. What is not answered well goes back into the queue, with its key.
async fn write(caller: Wire, writer: usize, stopped: watch::Receiver<bool>, journal: Journal) {
    let mut unanswered: VecDeque<Write> = VecDeque::new();
    for number in 0.. {
        let is_stopped = *stopped.borrow();
        if is_stopped && unanswered.is_empty() {
            return;
        }
        // New writes go on beside old ones, so that every kill meets eight of them.
        let is_time = is_stopped || number % 3 == 0 || unanswered.len() > 3;
        let repeated = if is_time { unanswered.pop_front() } else { None };
        let write = repeated.unwrap_or_else(|| new_write(writer, number));
        let caller = caller.with("idempotency-key", &write.key);
        match caller.post(write.path, &write.body).await {
            Ok(reply) if reply.status < 300 => {
                journal.lock().unwrap().extend(Acknowledged::of(&write.body, &reply.body));
            }
            Ok(reply) if !matches!(reply.status, 409 | 503) => panic!("{reply:?}"),
            unanswered_by => {
                let waited = write.since.elapsed();
                assert!(waited < PATIENCE, "{waited:?}, {} wait: {unanswered_by:?}", unanswered.len());
                unanswered.push_back(write);
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

fn new_write(writer: usize, number: usize) -> Write {
    let text = |part: usize| format!("writer {writer} notes {number} in part {part}");
    let (path, body) = match number % 4 {
        0 => ("/v1/memory/items/batch", json!({ "items": [note(&text(1)), note(&text(2)), note(&text(3))] })),
        1 => {
            let mut body = note(&text(0));
            body["key"] = json!(format!("writer-{writer}"));
            ("/v1/memory/items", body)
        }
        _ => ("/v1/memory/items", note(&text(0))),
    };
    Write { key: format!("{writer}-{number}"), path, body, since: Instant::now() }
}

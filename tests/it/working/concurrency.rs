//! Many at once: no place is given twice, nothing is lost, nothing is left over (A-616, XA-C14, R-16).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ::redis::cmd;
use serde_json::{Value, json};

use super::SLOTS;
use crate::support::wire::at_once;
use crate::support::{Client, Reply, TestApp, redis};

/// Sends an inject again while the service is too busy for it, and gives what it came to.
async fn settle(client: &Client, id: &str) -> u16 {
    loop {
        let status = client.inject(id, json!(1)).await.status.as_u16();
        if status != 503 {
            return status;
        }
    }
}

fn successes(statuses: &[u16]) -> usize {
    assert!(statuses.iter().all(|status| [200, 409].contains(status)), "{statuses:?}");
    statuses.iter().filter(|&&status| status == 200).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_place_left_and_200_injects_give_one_success_a616_c095() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    for number in 0..6 {
        alice.inject(&number.to_string(), json!(1)).await.expect(200);
    }
    let inject = |number: usize| {
        let alice = alice.clone();
        async move { settle(&alice, &format!("new-{number}")).await }
    };
    let statuses = at_once((0..200).map(inject)).await;
    assert_eq!(successes(&statuses), 1);
    assert_eq!(alice.stats().await["slotCount"], 7);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_namespace_left_and_100_at_once_give_one_success_a609_r16() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await;
    alice.client.configure(json!({ "max_namespace_entries": 2 })).await;
    alice.client.inject("a", json!(1)).await.expect(200);
    let mut clients = Vec::new();
    for number in 0..100 {
        clients.push(app.within(&alice.key, &format!("space-{number}")).await);
    }
    let inject = |client: Client| async move { settle(&client, "a").await };
    let statuses = at_once(clients.iter().cloned().map(inject)).await;
    assert_eq!(successes(&statuses), 1);
    // The one that is in may go on, and its place is free when it goes.
    let winner = statuses.iter().position(|&status| status == 200).unwrap();
    clients[winner].inject("b", json!(1)).await.expect(200);
    clients[winner].post("/v1/working-memory/clear", json!({})).await.expect(200);
    let statuses = at_once(clients.iter().cloned().map(inject)).await;
    assert_eq!(successes(&statuses), 1);
}

/// A namespace is emptied and filled by many at once while others want its place: it is counted exactly while it holds
/// something.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_place_that_is_given_up_and_taken_again_is_never_given_twice_a508_a609_r16() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await;
    alice.client.configure(json!({ "max_namespace_entries": 3 })).await;
    let mut clients = Vec::new();
    for number in 0..6 {
        clients.push(app.within(&alice.key, &format!("space-{number}")).await);
    }
    let work = |number: usize| {
        let client = clients[number % 6].clone();
        async move {
            for turn in 0..40 {
                let id = format!("{}", (number + turn) % 3);
                assert!([200, 409].contains(&settle(&client, &id).await));
                while client.post("/v1/working-memory/slots/clear", json!({ "id": id })).await.status != 200 {
                }
            }
        }
    };
    at_once((0..12).map(work)).await;
    for client in &clients {
        client.post("/v1/working-memory/clear", json!({})).await.expect(200);
    }
    let inject = |client: Client| async move { settle(&client, "a").await };
    let statuses = at_once(clients.iter().cloned().map(inject)).await;
    assert_eq!(successes(&statuses), 3, "every place is free again, and none more");
}

/// Clients hang up in the middle of everything: what was reserved for them is given back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_hangs_up_leaves_no_place_taken_a609_xac15_r16() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await;
    // Nothing can be set, and one namespace may try.
    alice.client.configure(json!({ "max_slots": 0, "max_namespace_entries": 1 })).await;
    let mut spaces = vec![];
    for number in 0..40 {
        spaces.push(app.within(&alice.key, &format!("space-{number}")).await);
    }
    for round in 0..5 {
        for (number, space) in spaces.iter().enumerate() {
            let patience = Duration::from_micros(number as u64 * 150 + round * 30);
            drop(tokio::time::timeout(patience, space.inject("a", json!(1))).await);
        }
    }
    alice.client.configure(json!({ "max_namespace_entries": 1 })).await;
    let start = Instant::now();
    while alice.client.inject("a", json!(1)).await.status != 200 {
        assert!(start.elapsed() < Duration::from_secs(2), "a place stays taken");
    }
}

/// The steps of the reservation in an order that only bad luck brings about.
#[tokio::test]
async fn a_namespace_is_never_counted_too_short_a609_r16() {
    let Some(server) = redis::TestRedis::start(&[]).await else { return };
    let reserve = include_str!("../../../src/working/lua/reserve.lua");
    let settle = include_str!("../../../src/working/lua/settle.lua");
    let (seconds, _): (i64, i64) = server.ask(&cmd("TIME")).await;
    let after = |seconds_more: i64| (seconds + seconds_more) * 1_000;
    let run = |script: &str, arguments: Vec<i64>| {
        let mut command = cmd("EVAL");
        command.arg(script).arg(2).arg("list").arg("notes").arg(0).arg("space").arg(arguments);
        command
    };
    let reserve = async |until: i64| server.ask::<::redis::Value>(&run(reserve, vec![until, 10, 0])).await;
    let settle = async |version: i64, told: i64, ended: i64| {
        server.ask::<i64>(&run(settle, vec![version, told, ended])).await;
        let score: String = server.ask(cmd("ZSCORE").arg("list").arg("space")).await;
        score.parse::<i64>().unwrap()
    };
    // Two write. The one that goes on longer has written and is lost; the other settles what it knows.
    reserve(after(100)).await;
    reserve(after(200)).await;
    assert_eq!(settle(1_800_000_000_000_001, after(100), 1).await, after(200));
    // Who clears it later does not know of the lost writer either, who is waited for, and no longer than it lasts.
    assert_eq!(settle(1_800_000_000_000_003, 0, 0).await, after(200));
    // One who wrote before it was cleared settles last: what the later change said is so.
    let score = settle(1_800_000_000_000_002, after(200), 1).await;
    let (now, _): (i64, i64) = server.ask(&cmd("TIME")).await;
    assert!(score <= (now + 1) * 1_000, "{score} at {now}");
    // Versions differ in their last digit.
    assert_eq!(settle(1_800_000_000_000_004, after(300), 0).await, after(300));
    assert_eq!(settle(1_800_000_000_000_003, 0, 0).await, after(300));
}

/// What one client knows of the slots that are its own.
struct Owner {
    number: usize,
    client: Client,
    slots: BTreeMap<String, Value>,
    random: u64,
}

impl Owner {
    fn draw(&mut self, below: u64) -> u64 {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % below
    }

    /// Sends a request until it is answered, and says whether the first answer was the one.
    async fn post(&self, path: &str, body: Value) -> (Reply, bool) {
        let mut is_first = true;
        loop {
            let reply = self.client.post(&format!("/v1/working-memory/{path}"), body.clone()).await;
            if reply.status != 503 {
                return (reply, is_first);
            }
            is_first = false;
        }
    }

    async fn get(&self, path: &str) -> Value {
        loop {
            let reply = self.client.get(path).await;
            if reply.status != 503 {
                return reply.expect(200);
            }
        }
    }

    async fn act(&mut self) {
        let (number, place) = (self.number, self.draw(5));
        let id = format!("{number:02}-{place}");
        let value = json!(self.draw(1_000_000));
        let expected = if self.slots.contains_key(&id) { 200 } else { 404 };
        match self.draw(10) {
            0..4 => {
                self.post("slots/inject", json!({ "id": id, "value": value })).await.0.expect(200);
                self.slots.insert(id, value);
            }
            4 => {
                let items = json!({ "items": [{ "id": id, "value": value }] });
                self.post("workspace/offer", items).await.0.expect(200);
                self.slots.insert(id, value);
            }
            5 => {
                let (reply, is_first) = self.post("slots/clear", json!({ "id": id })).await;
                let removed = reply.expect(200)["removed"].as_bool().unwrap();
                // Of an answer that was lost nobody knows whether it had its effect.
                assert!(removed == self.slots.remove(&id).is_some() || !is_first);
            }
            6 => drop(self.post("slots/rehearse", json!({ "id": id })).await.0.expect(expected)),
            7 => drop(self.post("focus", json!({ "id": id })).await.0.expect(expected)),
            8 => {
                let list = self.get(SLOTS).await;
                let start = format!("{number:02}-");
                let slots = list["slots"].as_array().unwrap().iter();
                let own: BTreeMap<String, Value> = slots
                    .map(|slot| (slot["id"].as_str().unwrap().to_owned(), slot["value"].clone()))
                    .filter(|(id, _)| id.starts_with(&start))
                    .collect();
                assert_eq!(own, self.slots);
            }
            _ => drop(self.get(super::WORKSPACE).await),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_ten_seconds_of_32_clients_everything_agrees_and_nothing_is_left_over_c086_c095() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await;
    // Nothing fades or is displaced meanwhile.
    let engine = json!({ "capacity": 1_024, "decay": super::engine::slow("Linear", 1e-6), "gate": { "type": "Open" } });
    alice.client.configure(json!({ "max_slots": 1_024, "ttl_seconds": 600, "engine": engine })).await;
    let mut spaces = Vec::new();
    for number in 0..4 {
        spaces.push(app.within(&alice.key, &format!("space-{number}")).await);
    }
    let end = Instant::now() + Duration::from_secs(10);
    let work = |number: usize| {
        let client = spaces[number % spaces.len()].clone();
        let mut owner = Owner { number, client, slots: BTreeMap::new(), random: number as u64 };
        async move {
            let mut turns = 0;
            while Instant::now() < end {
                owner.act().await;
                turns += 1;
            }
            (number, owner.slots, turns)
        }
    };
    let owners = at_once((0..32).map(work)).await;
    eprintln!("{} operations", owners.iter().map(|(_, _, turns)| turns).sum::<u32>());
    for (number, space) in spaces.iter().enumerate() {
        let of_space = owners.iter().filter(|(owner, ..)| owner % spaces.len() == number);
        let expected: BTreeMap<String, Value> = of_space.flat_map(|(_, slots, _)| slots.clone()).collect();
        let list = space.get(SLOTS).await.expect(200);
        let slots = list["slots"].as_array().unwrap().iter();
        let found: BTreeMap<String, Value> =
            slots.map(|slot| (slot["id"].as_str().unwrap().to_owned(), slot["value"].clone())).collect();
        assert_eq!(found, expected);
        assert_eq!(space.stats().await["slotCount"], expected.len());
        assert_eq!(space.get(super::WORKSPACE).await.expect(200)["count"], expected.len());
    }
    let count =
        |dump: &BTreeMap<String, String>, end: &str| dump.keys().filter(|key| key.ends_with(end)).count();
    let dump = redis::dump(&app).await;
    assert_eq!((count(&dump, ":workspace"), count(&dump, ":activation")), (4, 4), "{:?}", dump.keys());
    app.pass(600.0);
    for space in &spaces {
        assert_eq!(space.ids().await, Vec::<String>::new());
    }
    let dump = redis::dump(&app).await;
    // Of each namespace its version and a note stay for a while, the note in two keys that know the same namespaces.
    assert_eq!((count(&dump, ":workspace"), count(&dump, ":activation")), (4, 0), "{:?}", dump.keys());
    let is_header = |content: &str| content.matches("\", \"").count() == 1 && content.starts_with("[[\"h\"");
    assert!(dump.iter().all(|(key, content)| !key.ends_with(":workspace") || is_header(content)), "{dump:?}");
    let names =
        |end: &str| dump.iter().find(|(key, _)| key.ends_with(end)).unwrap().1.matches("space-").count();
    let all = dump.keys().filter(|key| key.starts_with("wm:")).count();
    assert_eq!((all, names(":namespaces"), names(":notes")), (6, 4, 4), "{dump:?}");
}

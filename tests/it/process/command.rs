//! `memtide doctor` and `memtide admin`, from end to end.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::TestDb;
use crate::support::process::{Ended, Settings, free_port};
use crate::support::wire::{self, Wire, note};

#[tokio::test]
async fn the_doctor_finds_a_good_deployment_good_and_names_what_is_wrong_with_a_bad_one() {
    let db = TestDb::set_up().await;
    let good = Settings::of(&db.config());
    let ended = good.run(&["doctor"]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for subject in
        ["postgres", "role", "schema", "pgvector", "operator role", "row level security", "embedder"]
    {
        assert!(ended.stdout.contains(subject), "{subject} is missing: {}", ended.stdout);
    }

    let mut superuser = db.superuser().await;
    let break_it = "ALTER TABLE memories NO FORCE ROW LEVEL SECURITY;
                    DELETE FROM _sqlx_migrations;";
    sqlx::raw_sql(break_it).execute(&mut superuser).await.unwrap();
    let bad = good
        .with("REDIS_URL", format!("redis://127.0.0.1:{}/0", free_port()))
        .with("MEMTIDE_EMBEDDER", "local")
        .with("MEMTIDE_MODEL_DIR", "/no/such/model");
    let wrong = ["memories", "memtide migrate", "redis", "/no/such/model"];
    is_faulty(&bad.run(&["doctor"]).await, &wrong);
    let superuser_url = db.config().admin_url.unwrap();
    is_faulty(&good.with("DATABASE_URL", superuser_url.expose()).run(&["doctor"]).await, &["superuser"]);
    let closed = format!("postgres://memtide_app:hunter2@127.0.0.1:{}/memtide", free_port());
    is_faulty(&good.with("DATABASE_URL", closed).run(&["doctor"]).await, &["DATABASE_URL", "refused"]);

    assert_ne!(good.run(&["doctor", "--ready"]).await.code, Some(0), "nobody serves");
}

#[tokio::test]
async fn the_doctor_tells_whether_the_server_of_this_machine_is_ready() {
    let db = TestDb::create().await;
    let settings = Settings::of(&db.config());
    let server = settings.serve().await;
    assert_eq!(settings.run(&["doctor", "--ready"]).await.code, Some(0));
    drop(server);
    assert_ne!(settings.run(&["doctor", "--ready"]).await.code, Some(0));
}

#[track_caller]
fn is_faulty(ended: &Ended, wrong: &[&str]) {
    assert!(ended.code.is_some_and(|code| code != 0), "{ended:?}");
    for word in wrong {
        let is_fault = |line: &&str| line.starts_with("fault") && line.contains(word);
        assert!(ended.stdout.lines().any(|line| is_fault(&line)), "{word} is no fault: {ended:?}");
    }
    assert!(!ended.stdout.contains("hunter2"), "{ended:?}");
}

/// A deployment with a running server, and an operator beside it.
struct Operator {
    settings: Settings,
}

impl Operator {
    /// Runs a command that must succeed, and gives the lines of JSON it prints.
    async fn admin(&self, arguments: &[&str]) -> Vec<Value> {
        let ended = self.settings.run(&[&["admin"], arguments].concat()).await;
        assert_eq!(ended.code, Some(0), "{arguments:?}: {ended:?}");
        ended.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

#[tokio::test]
async fn what_the_operator_does_on_the_command_line_reaches_the_running_server() {
    let db = TestDb::create().await;
    let operator = Operator { settings: Settings::of(&db.config()) };
    let server = operator.settings.serve().await;

    let tenant = operator.admin(&["tenant", "create", "acme", "--name", "Acme Inc."]).await.remove(0);
    assert_eq!((&tenant["slug"], &tenant["name"]), (&"acme".into(), &"Acme Inc.".into()));
    let key = ["key", "create", "acme", "--name", "main", "--namespace", "*"];
    let made = operator.admin(&key).await.remove(0);
    let caller = wire::caller(&server.url, made["secret"].as_str().unwrap()).await;
    caller.remember("stored for acme").await.unwrap().expect(201);

    let narrow = ["token", "create", "acme", "--name", "reader", "--namespace", "default"];
    let token = operator.admin(&[&narrow[..], &["--right", "memory.durable:read"]].concat()).await.remove(0);
    let bearer = format!("Bearer {}", token["secret"].as_str().unwrap());
    let reader = server.wire().with("authorization", &bearer);
    reader.get("/v1/memory/items").await.unwrap().expect(200);
    reader.remember("not allowed").await.unwrap().expect(403);
    assert_eq!(operator.admin(&["token", "list", "acme"]).await.len(), 1);
    operator.admin(&["token", "revoke", "acme", token["token"]["id"].as_str().unwrap()]).await;
    becomes(&reader, 401).await;

    operator.admin(&["tenant", "suspend", "acme"]).await;
    becomes(&caller, 403).await;
    operator.admin(&["tenant", "resume", "acme"]).await;
    becomes(&caller, 200).await;
    operator.admin(&["signing-key", "rotate"]).await;
    becomes(&caller, 200).await;
    wire::caller(&server.url, made["secret"].as_str().unwrap()).await;

    let listed = operator.admin(&["key", "list", "acme"]).await;
    assert_eq!(listed.len(), 1);
    assert!(!listed[0].to_string().contains(made["secret"].as_str().unwrap()));
    operator.admin(&["key", "revoke", "acme", made["key"]["id"].as_str().unwrap()]).await;
    becomes(&caller, 401).await;

    let operator_key = operator.admin(&["operator-key", "create", "night shift"]).await.remove(0);
    let bearer = format!("Bearer {}", operator_key["secret"].as_str().unwrap());
    let admin = server.wire().with("authorization", &bearer);
    admin.get("/v1/admin/tenants").await.unwrap().expect(200);
    assert_eq!(operator.admin(&["operator-key", "list"]).await.len(), 1);
    operator.admin(&["operator-key", "revoke", operator_key["key"]["id"].as_str().unwrap()]).await;
    assert_eq!(admin.get("/v1/admin/tenants").await.unwrap().status, 401);

    let id = tenant["id"].as_str().unwrap();
    let refused = operator.settings.run(&["admin", "tenant", "delete", id, "--confirm", "other"]).await;
    assert_ne!(refused.code, Some(0));
    operator.admin(&["tenant", "revoke-all", id]).await;
    operator.admin(&["tenant", "delete", id, "--confirm", "acme"]).await;
    assert!(operator.admin(&["tenant", "list"]).await.is_empty());
    caller.post("/v1/memory/items", &note("too late")).await.unwrap().expect(401);
}

/// Waits until a request for the list is answered so; a revocation may take five seconds (F-4).
async fn becomes(caller: &Wire, status: u16) {
    let start = Instant::now();
    while caller.get("/v1/memory/items").await.unwrap().status != status {
        assert!(start.elapsed() < Duration::from_secs(5), "not {status} within five seconds");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

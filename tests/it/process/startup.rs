//! Starting: what is wrong is said at once, by name, without a password; several may start together.

use std::time::Duration;

use sqlx::AssertSqlSafe;

use crate::support::process::{Ended, Server, Settings, free_port};
use crate::support::{TestDb, TestPostgres, env, wire};

const SOON: Duration = Duration::from_secs(5);

/// Checks that a server did not start, said why, soon, and gave no password away.
#[track_caller]
fn refused(ended: &Ended, reasons: &[&str]) {
    assert!(ended.code.is_some_and(|code| code != 0), "{ended:?}");
    assert!(ended.took < SOON, "{ended:?}");
    for reason in reasons {
        assert!(ended.stderr.contains(reason), "{reason} is missing: {ended:?}");
    }
    assert!(!ended.stderr.contains("hunter2") && !ended.stdout.contains("hunter2"), "{ended:?}");
    assert!(!ended.stderr.contains("panicked"), "{ended:?}");
}

#[tokio::test]
async fn c164_a_server_names_the_database_it_cannot_use_and_why() {
    let Some(postgres) = TestPostgres::start().await else { return };
    let good = Settings::of(&postgres.config());
    assert_eq!(good.run(&["migrate"]).await.code, Some(0));
    let port = postgres.port;
    let closed = free_port();
    let cases: [(String, &[&str]); 9] = [
        ("postgres://memtide_app:hunter2@no-such-host.invalid/memtide".into(), &["no-such-host.invalid"]),
        (format!("postgres://memtide_app:hunter2@127.0.0.1:{closed}/memtide"), &["127.0.0.1", "refused"]),
        (format!("postgres://memtide_app:hunter2@127.0.0.1:{port}/memtide"), &["password"]),
        (
            format!("postgres://memtide_app:pw-of-the-app@127.0.0.1:{port}/hunter"),
            &["\"hunter\" does not exist"],
        ),
        (format!("mysql://memtide_app:hunter2@127.0.0.1:{port}/memtide"), &["postgres://"]),
        ("postgres://memtide_app:hunter2@127.0.0.1:99999/memtide".into(), &["port"]),
        ("hunter2".into(), &["postgres://"]),
        (String::new(), &["is not set"]),
        (postgres.config().admin_url.unwrap().expose().to_owned(), &["superuser"]),
    ];
    for (url, reasons) in cases {
        let ended = good.with("DATABASE_URL", url).run(&["serve"]).await;
        refused(&ended, &[&["DATABASE_URL"], reasons].concat());
    }
    refused(&good.without("DATABASE_URL").run(&["serve"]).await, &["DATABASE_URL", "is not set"]);
    let ended = good.without("DATABASE_ADMIN_URL").run(&["migrate"]).await;
    refused(&ended, &["DATABASE_ADMIN_URL", "is needed"]);
}

#[tokio::test]
async fn c164_a_database_that_does_not_answer_is_named_in_time() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = silent.local_addr().unwrap().port();
    let db = TestDb::create().await;
    let url = format!("postgres://memtide_app:hunter2@127.0.0.1:{port}/memtide");
    let ended = Settings::of(&db.config()).with("DATABASE_URL", url).run(&["serve"]).await;
    refused(&ended, &["DATABASE_URL", "no answer"]);
}

#[tokio::test]
async fn c164_without_redis_a_server_serves_and_says_what_is_missing() {
    let db = TestDb::create().await;
    let good = Settings::of(&db.config());
    let bad_urls = [
        format!("redis://:hunter2@127.0.0.1:{}/0", free_port()),
        "redis://:hunter2@no-such-host.invalid/0".to_owned(),
        format!("{}99999", env("REDIS_URL").trim_end_matches(char::is_numeric)),
    ];
    for url in bad_urls {
        let server = good.with("REDIS_URL", &url).serve().await;
        let body = server.wire().get("/readyz").await.unwrap().expect(200);
        assert_eq!(body["degraded"][0], "working_memory", "{url}: {body}");
        assert!(server.log().contains("REDIS_URL") && !server.log().contains("hunter2"), "{}", server.log());
    }
    for (url, reason) in
        [("", "is not set"), ("http://:hunter2@localhost", "redis://"), ("redis://:hunter2@:x/0", "")]
    {
        refused(&good.with("REDIS_URL", url).run(&["serve"]).await, &["REDIS_URL", reason]);
    }
    refused(&good.without("REDIS_URL").run(&["serve"]).await, &["REDIS_URL", "is not set"]);
}

#[tokio::test]
async fn every_fault_of_the_configuration_is_named_at_once() {
    let db = TestDb::create().await;
    let bad = [
        ("DATABASE_URL", "postgres://memtide_app:hunter2@localhost:99999/memtide"),
        ("DATABASE_ADMIN_URL", "http://hunter2"),
        ("REDIS_URL", "redis://:hunter2@:x/0"),
        ("MEMTIDE_SECRET", "hunter2"),
        ("MEMTIDE_PORT", "http"),
        ("MEMTIDE_HOST", "everywhere"),
        ("MEMTIDE_METRICS_ADDR", "9090"),
        ("MEMTIDE_DB_POOL", "0"),
        ("MEMTIDE_EMBEDDER", "magic"),
        ("MEMTIDE_LOG", "memtide=shout"),
        ("MEMTIDE_LOG_FORMAT", "xml"),
        ("MEMTIDE_LOCAL", "yes"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "not an address"),
    ];
    let settings = bad.iter().fold(Settings::of(&db.config()), |all, (name, value)| all.with(name, value));
    let names: Vec<&str> = bad.iter().map(|(name, _)| *name).collect();
    refused(&settings.run(&["serve"]).await, &names);

    let provider = [
        ("MEMTIDE_EMBED_URL", "ftp://hunter2"),
        ("MEMTIDE_EMBED_DIMENSIONS", "0"),
        ("MEMTIDE_EMBED_BATCH", "x"),
    ];
    let settings = Settings::of(&db.config()).with("MEMTIDE_EMBEDDER", "http");
    let settings = provider.iter().fold(settings, |all, (name, value)| all.with(name, value));
    refused(&settings.run(&["serve"]).await, &provider.map(|(name, _)| name));
}

#[tokio::test]
async fn a_model_that_cannot_be_read_and_a_port_that_is_taken_are_named() {
    let db = TestDb::create().await;
    let good = Settings::of(&db.config());
    let local = good.with("MEMTIDE_EMBEDDER", "local").with("MEMTIDE_MODEL_DIR", "/no/such/model");
    refused(&local.run(&["serve"]).await, &["embedder", "/no/such/model", "No such file"]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    refused(&good.with("MEMTIDE_PORT", port).run(&["serve"]).await, &[&port.to_string(), "in use"]);
    let metrics = good.with("MEMTIDE_METRICS_ADDR", format!("127.0.0.1:{port}"));
    refused(&metrics.run(&["serve"]).await, &[&port.to_string(), "in use"]);
}

#[tokio::test]
async fn c166_a_database_of_another_release_is_refused_and_left_alone() {
    let db = TestDb::set_up().await;
    let settings = Settings::of(&db.config());
    let mut superuser = db.superuser().await;
    let newer = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
                 VALUES (99990101000000, 'of a later release', true, '\\x00', 0)";
    sqlx::raw_sql(newer).execute(&mut superuser).await.unwrap();
    refused(&settings.run(&["serve"]).await, &["99990101000000", "use a newer one"]);
    refused(&settings.run(&["migrate"]).await, &["99990101000000", "use a newer one"]);
    refused(&settings.run(&["admin", "tenant", "list"]).await, &["99990101000000"]);
    let tables: i64 = sqlx::query_scalar("SELECT count(*) FROM pg_tables WHERE tablename = 'memories'")
        .fetch_one(&mut superuser)
        .await
        .unwrap();
    assert_eq!(tables, 1);
    sqlx::raw_sql("DELETE FROM _sqlx_migrations").execute(&mut superuser).await.unwrap();
    refused(&settings.run(&["serve"]).await, &["memtide migrate"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c162_four_processes_that_set_up_at_once_take_turns() {
    let Some(postgres) = TestPostgres::start().await else { return };
    let mut superuser = postgres.superuser().await;
    // Four databases of one server: the roles are new, and shared.
    let databases = ["one", "two", "three", "four"];
    for database in databases {
        let sql = format!("CREATE DATABASE {database}");
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut superuser).await.unwrap();
    }
    migrate_at_once(databases.iter().map(|database| Settings::of(&postgres.config_of(database)))).await;
    // One database, empty and then old.
    for _ in 0..4 {
        for sql in ["DROP DATABASE one", "CREATE DATABASE one"] {
            sqlx::raw_sql(sql).execute(&mut superuser).await.unwrap();
        }
        let settings = Settings::of(&postgres.config_of("one"));
        migrate_at_once(std::iter::repeat_n(settings.clone(), 4)).await;
        migrate_at_once(std::iter::repeat_n(settings, 4)).await;
    }
}

async fn migrate_at_once(settings: impl Iterator<Item = Settings>) {
    let migrate = |settings: Settings| async move { settings.run(&["migrate"]).await };
    for ended in wire::at_once(settings.map(migrate)).await {
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
}

#[tokio::test]
async fn c160_c162_four_local_stacks_on_one_empty_database_all_come_up() {
    let db = TestDb::empty().await;
    let folder = std::env::temp_dir().join(format!("memtide-test-{}", memtide::id::EventId::new()));
    let start = |number: usize| {
        let settings = Settings::of(&db.config()).with("MEMTIDE_PORT", free_port());
        settings.with("MEMTIDE_DEV_DIR", folder.join(number.to_string()).display()).start("dev")
    };
    let mut servers: Vec<Server> = (0..4).map(start).collect();
    for server in &mut servers {
        server.ready().await;
    }
    let tenants: i64 = sqlx::query_scalar("SELECT count(*) FROM tenants WHERE slug = 'demo'")
        .fetch_one(&mut db.superuser().await)
        .await
        .unwrap();
    assert_eq!(tenants, 1);
    // what is left for an MCP client works.
    let env = std::fs::read_to_string(folder.join("0/env")).unwrap();
    let value = |name: &str| env.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('=')).unwrap();
    assert_eq!(value("MEMTIDE_MCP_URL"), format!("{}/mcp", servers[0].url));
    let client = servers[0].wire().with("authorization", &format!("Bearer {}", value("MEMTIDE_MCP_TOKEN")));
    let list = serde_json::json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let reply = client.post("/mcp", &list).await.unwrap();
    assert_eq!(
        (reply.status, &reply.body["result"]["tools"][0]["name"]),
        (200, &serde_json::json!("save_memory"))
    );
    std::fs::remove_dir_all(folder).unwrap();
}

//! A database for each test, copied from a template that is migrated once.

use std::fmt::Write;

use memtide::config::{Database, Secret};
use memtide::db;
use sha2::{Digest, Sha256};
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection};
use tokio::sync::OnceCell;

/// A variable that `make test` sets.
pub fn env(name: &str) -> String {
    find_env(name).unwrap_or_else(|| panic!("{name} is not set: run the tests with `make test`"))
}

/// A variable that `make test` sets on some stacks.
#[expect(clippy::disallowed_methods, reason = "tests are told where the services are by their environment")]
pub fn find_env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// A database of a test's own. It goes when it is dropped.
pub struct TestDb {
    name: String,
}

impl TestDb {
    /// Copies the template.
    pub async fn create() -> Self {
        static TEMPLATE: OnceCell<String> = OnceCell::const_new();
        let template = TEMPLATE.get_or_init(make_template).await;
        let name = new_name();
        let mut admin = connect("postgres").await;
        // A copy does not take over the rights to the database itself.
        for sql in [
            format!("CREATE DATABASE \"{name}\" TEMPLATE \"{template}\""),
            format!("REVOKE TEMPORARY ON DATABASE \"{name}\" FROM PUBLIC"),
        ] {
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut admin).await.unwrap();
        }
        Self { name }
    }

    /// Makes an empty database, and sets it up like an operator does.
    pub async fn set_up() -> Self {
        let db = Self::empty().await;
        db::migrate(&db.config()).await.unwrap();
        db
    }

    /// Makes an empty database.
    pub async fn empty() -> Self {
        let name = new_name();
        let sql = format!("CREATE DATABASE \"{name}\"");
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connect("postgres").await).await.unwrap();
        Self { name }
    }

    /// Its name, which nothing else has.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How the service reaches it, as the same ordinary role as in production.
    pub fn config(&self) -> Database {
        config(&self.name)
    }

    /// The jobs that are not done, on a thread of one's own: a test's runtime may be on its way out already.
    pub fn jobs_left(&self) -> Vec<String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let sql = "SELECT kind || ' ' || status || coalesce(': ' || error, '') FROM jobs WHERE status <> 'done'";
            sqlx::query_scalar(sql).fetch_all(&mut self.superuser().await).await.unwrap()
        })
    }

    /// A superuser's connection, for looking behind the service's back.
    pub async fn superuser(&self) -> PgConnection {
        connect(&self.name).await
    }
}

impl Drop for TestDb {
    fn drop(&mut self) {
        let name = self.name.clone();
        // A test's runtime may be on its way out already.
        let drop = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let mut admin = connect("postgres").await;
                let sql = format!("DROP DATABASE IF EXISTS \"{name}\" WITH (FORCE)");
                sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut admin).await.unwrap();
            });
        });
        drop.join().unwrap();
    }
}

fn new_name() -> String {
    format!("memtide_test_{}", memtide::id::EventId::new().uuid().simple())
}

/// The template is named after the migrations, so that a change of them makes a new one.
async fn make_template() -> String {
    // Together they may be longer than a name can be.
    let hash = memtide::MIGRATOR.iter().fold(Sha256::new(), |hash, one| hash.chain_update(&one.checksum));
    let mut name = "memtide_template_".to_owned();
    for byte in &hash.finalize()[..16] {
        write!(name, "{byte:02x}").unwrap();
    }
    let mut admin = connect("postgres").await;
    // Test programs that start together take turns.
    sqlx::raw_sql("SELECT pg_advisory_lock(7236822)").execute(&mut admin).await.unwrap();
    let exists: bool = sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)")
        .bind(&name)
        .fetch_one(&mut admin)
        .await
        .unwrap();
    if !exists {
        let half_made = format!("{name}_new");
        for sql in
            [format!("DROP DATABASE IF EXISTS \"{half_made}\""), format!("CREATE DATABASE \"{half_made}\"")]
        {
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut admin).await.unwrap();
        }
        db::migrate(&config(&half_made)).await.unwrap();
        let sql = format!("ALTER DATABASE \"{half_made}\" RENAME TO \"{name}\"");
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut admin).await.unwrap();
    }
    admin.close().await.unwrap();
    name
}

fn config(name: &str) -> Database {
    Database {
        url: Secret::new(with_database(&env("DATABASE_URL"), name)),
        admin_url: Some(Secret::new(with_database(&env("DATABASE_ADMIN_URL"), name))),
        pool: 8,
    }
}

fn with_database(url: &str, name: &str) -> String {
    let mut url = reqwest::Url::parse(url).unwrap();
    url.set_path(name);
    url.to_string()
}

async fn connect(name: &str) -> PgConnection {
    let url = with_database(&env("DATABASE_ADMIN_URL"), name);
    url.parse::<PgConnectOptions>().unwrap().connect().await.unwrap()
}

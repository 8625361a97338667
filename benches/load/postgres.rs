//! The Postgres of the stack, where the bench makes databases of its own and drops them.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use memtide::config;
use reqwest::Url;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

/// The database that the measured server works on.
pub const PRODUCT: &str = "memtide_bench";
/// The database that the floor works on.
pub const FLOOR: &str = "memtide_bench_floor";

/// A superuser's connection, and what the machine knows about the server process.
pub struct Postgres {
    admin: PgConnection,
    app_url: Url,
    admin_url: Url,
    /// Where it keeps its data, in its own words.
    pub data_folder: String,
    /// The first process, if it runs on this machine.
    pub pid: Option<u32>,
    /// Where it logs to, if that is a file that can be read.
    pub log: Option<PathBuf>,
}

impl Postgres {
    /// Connects as the superuser and makes both databases anew.
    pub async fn prepare(config: &config::Database) -> Result<Self> {
        let admin_url = config.admin_url.as_ref().context("DATABASE_ADMIN_URL is not set")?.expose();
        let admin_url = Url::parse(admin_url).context("DATABASE_ADMIN_URL")?;
        let app_url = Url::parse(config.url.expose()).context("DATABASE_URL")?;
        let admin = PgConnection::connect(with_database(&admin_url, "postgres").as_str()).await?;
        let mut postgres =
            Self { admin, app_url, admin_url, data_folder: String::new(), pid: None, log: None };
        postgres.drop_databases().await?;
        for name in [PRODUCT, FLOOR] {
            postgres.execute(format!("CREATE DATABASE {name}")).await?;
        }
        let mut floor = PgConnection::connect(postgres.admin_url(FLOOR).as_str()).await?;
        sqlx::raw_sql("CREATE EXTENSION vector").execute(&mut floor).await?;
        floor.close().await?;
        postgres.find_process().await?;
        Ok(postgres)
    }

    /// Drops both databases.
    pub async fn drop_databases(&mut self) -> Result<()> {
        for name in [PRODUCT, FLOOR] {
            self.execute(format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await?;
        }
        Ok(())
    }

    /// Turns the log of what the service's later connections execute on or off.
    pub async fn log_statements(&mut self, which: &str) -> Result<()> {
        let role = self.app_url.username().to_owned();
        self.execute(format!("ALTER ROLE {role} IN DATABASE {PRODUCT} SET log_statement = '{which}'")).await
    }

    /// The URL of a database, as the service.
    pub fn app_url(&self, database: &str) -> Url {
        with_database(&self.app_url, database)
    }

    /// The URL of a database, as the superuser.
    pub fn admin_url(&self, database: &str) -> Url {
        with_database(&self.admin_url, database)
    }

    async fn execute(&mut self, sql: String) -> Result<()> {
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut self.admin).await?;
        Ok(())
    }

    /// In a container or on another machine there is nothing to find, which is no fault.
    async fn find_process(&mut self) -> Result<()> {
        self.data_folder = sqlx::query_scalar("SHOW data_directory").fetch_one(&mut self.admin).await?;
        let lock = fs::read_to_string(format!("{}/postmaster.pid", self.data_folder)).unwrap_or_default();
        self.pid = lock.lines().next().and_then(|pid| pid.parse().ok());
        let stderr = self.pid.and_then(|pid| fs::read_link(format!("/proc/{pid}/fd/2")).ok());
        self.log = stderr.filter(|path| path.is_file());
        Ok(())
    }
}

/// What libpq programs read instead of a URL, so that the password does not show in the list of processes.
pub fn libpq_variables(url: &Url) -> Vec<(&'static str, String)> {
    let decode = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
    vec![
        ("PGHOST", url.host_str().unwrap_or("127.0.0.1").to_owned()),
        ("PGPORT", url.port().unwrap_or(5432).to_string()),
        ("PGUSER", decode(url.username())),
        ("PGPASSWORD", decode(url.password().unwrap_or_default())),
        ("PGDATABASE", decode(url.path().trim_start_matches('/'))),
    ]
}

fn with_database(url: &Url, database: &str) -> Url {
    let mut url = url.clone();
    url.set_path(database);
    url
}

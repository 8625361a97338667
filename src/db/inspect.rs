//! What the database says of itself, for the start of the server and for `memtide doctor`.

use std::str::FromStr;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection, PgConnection};

use super::error::is_passing;
use super::{Db, SCHEMA_VERSION, schema_version};
use crate::config::{self, Secret};
use crate::error::{Error, Result};

/// How long a server waits for its database: a stack that starts as a whole needs a moment.
const PATIENCE: Duration = Duration::from_secs(4);

/// What a database looks like to the service.
#[derive(Debug)]
pub struct Inspection {
    /// The version of Postgres.
    pub server_version: String,
    /// The version of pgvector, if it is there.
    pub vector_version: Option<String>,
    /// Whether the service can work across tenants.
    pub may_operate: bool,
    /// Tables of tenants that row level security does not protect.
    pub unprotected: Vec<String>,
    /// The time.
    pub now: DateTime<Utc>,
}

/// Waits a moment for the database, and says which one does not answer and why. Never shows a password.
pub async fn reach(config: &config::Database) -> Result<()> {
    let connection = open("DATABASE_URL", &config.url, "memtide").await?;
    // What is left open is closed anyway.
    let _ = connection.close().await;
    Ok(())
}

/// A connection to the database that a variable names.
pub(super) async fn open(variable: &'static str, url: &Secret, program: &str) -> Result<PgConnection> {
    let options = PgConnectOptions::from_str(url.expose())
        .map_err(|error| Error::invalid(variable, error.to_string()))?
        .application_name(program);
    let place = format!(
        "{}:{}/{} as {}",
        options.get_host(),
        options.get_port(),
        options.get_database().unwrap_or_default(),
        options.get_username()
    );
    let start = Instant::now();
    loop {
        let left = PATIENCE.saturating_sub(start.elapsed());
        let reason = match tokio::time::timeout(left, options.connect()).await {
            Ok(Ok(connection)) => return Ok(connection),
            Ok(Err(error)) if is_passing(&error) && start.elapsed() < PATIENCE => {
                tokio::time::sleep(Duration::from_millis(200)).await;
                if start.elapsed() < PATIENCE {
                    continue;
                }
                error.to_string()
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer in time".to_owned(),
        };
        return Err(Error::invalid(
            variable,
            format!("names Postgres at {place}, which cannot be used: {reason}"),
        ));
    }
}

/// Refuses a schema that this program does not know.
pub async fn check_schema(db: &Db) -> Result<()> {
    let (found, known) = (schema_version(db).await?, *SCHEMA_VERSION);
    let refusal = match found.cmp(&known) {
        std::cmp::Ordering::Equal => return Ok(()),
        std::cmp::Ordering::Less => {
            format!("the schema is at version {found}, {known} is needed: run `memtide migrate`")
        }
        std::cmp::Ordering::Greater => format!(
            "the schema is at version {found}, and this program knows {known}: use a newer one. Nothing was changed"
        ),
    };
    Err(Error::Conflict(refusal.into()))
}

/// Looks at the database.
pub async fn inspect(db: &Db) -> Result<Inspection> {
    let mut session = db.look().await?;
    let seen = sqlx::query!(
        r#"SELECT current_setting('server_version') AS "server_version!",
             (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS vector_version,
             coalesce((SELECT pg_has_role(current_user, oid, 'SET') FROM pg_roles
               WHERE rolname = 'memtide_operator'), false) AS "may_operate!",
             clock_timestamp() AS "now!""#
    )
    .fetch_one(&mut *session)
    .await?;
    let unprotected = sqlx::query_scalar!(
        r#"SELECT c.relname::text AS "name!"
           FROM pg_class c
           JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped
           WHERE c.relkind IN ('r', 'p')
             AND c.relnamespace = 'public'::regnamespace
             AND NOT (c.relrowsecurity AND c.relforcerowsecurity
               AND EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid))
           ORDER BY c.relname"#
    )
    .fetch_all(&mut *session)
    .await?;
    Ok(Inspection {
        server_version: seen.server_version,
        vector_version: seen.vector_version,
        may_operate: seen.may_operate,
        unprotected,
        now: seen.now,
    })
}

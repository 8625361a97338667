//! Making and checking the database: roles, extension, migrations. Works as a superuser, never as the service.

use std::str::FromStr;
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::Db;
use crate::MIGRATOR;
use crate::config;
use crate::error::{Error, Result};

/// The newest migration this program knows.
pub static SCHEMA_VERSION: std::sync::LazyLock<i64> =
    std::sync::LazyLock::new(|| MIGRATOR.iter().map(|migration| migration.version).max().unwrap_or(0));

/// Makes the roles and the extension, and brings the schema up to date.
///
/// Safe to run again, and by several processes at once: they take turns.
pub async fn migrate(config: &config::Database) -> Result<()> {
    let admin_url = config.admin_url.as_ref().ok_or_else(|| {
        Error::invalid(
            "DATABASE_ADMIN_URL",
            "is needed: roles and the vector extension are made by a superuser",
        )
    })?;
    let app = PgConnectOptions::from_str(config.url.expose())
        .map_err(|error| Error::invalid("DATABASE_URL", error.to_string()))?;
    let mut connection = super::inspect::open("DATABASE_ADMIN_URL", admin_url, "memtide migrate").await?;
    take_turn(&mut connection).await?;
    create_roles(&mut connection, &app, config.url.expose()).await?;
    sqlx::raw_sql("SET ROLE memtide_owner").execute(&mut connection).await?;
    MIGRATOR.run_direct(None, &mut connection, false).await.map_err(migrate_error)?;
    // The service tells from it whether it fits the schema.
    sqlx::raw_sql("GRANT SELECT ON _sqlx_migrations TO memtide_app").execute(&mut connection).await?;
    connection.close().await?;
    Ok(())
}

/// Makes the HNSW index of an embedding model, while the table is being used. Says whether it could: it takes a
/// superuser.
///
/// Safe to run again after it was interrupted.
pub async fn create_vector_index(config: &config::Database, model: i16, dimensions: usize) -> Result<bool> {
    let Some(admin_url) = &config.admin_url else { return Ok(false) };
    let mut connection = super::inspect::open("DATABASE_ADMIN_URL", admin_url, "memtide reembed").await?;
    take_turn(&mut connection).await?;
    let index = format!("memory_vectors_hnsw_{model}");
    for sql in [
        "SET ROLE memtide_owner".to_owned(),
        // What an interrupted run left is there, is written to, and is never searched.
        format!(
            "DO $$ BEGIN
               IF EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass('{index}') AND NOT indisvalid) THEN
                 DROP INDEX {index};
               END IF;
             END $$"
        ),
        format!(
            "CREATE INDEX CONCURRENTLY IF NOT EXISTS {index} ON memory_vectors
             USING hnsw ((embedding::halfvec({dimensions})) halfvec_cosine_ops) WITH (m = 16, ef_construction = 64)
             WHERE model = {model} AND indexed"
        ),
    ] {
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await?;
    }
    connection.close().await?;
    Ok(true)
}

/// Waits until nobody else changes the schema of this database, and keeps others out until the connection is closed.
///
/// Asks again and again: whoever waits inside a statement is waited for by `CREATE INDEX CONCURRENTLY`.
async fn take_turn(connection: &mut PgConnection) -> Result<()> {
    loop {
        let is_ours = sqlx::query_scalar!("SELECT pg_try_advisory_lock(7236821) AS \"is_ours!\"")
            .fetch_one(&mut *connection)
            .await?;
        if is_ours {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn migrate_error(error: sqlx::migrate::MigrateError) -> Error {
    match error {
        sqlx::migrate::MigrateError::VersionMissing(version) => Error::Conflict(
            format!(
                "the database has migration {version}, which this program does not know: use a newer one"
            )
            .into(),
        ),
        other => Error::internal(other),
    }
}

/// Roles are shared by all databases of a server. An advisory lock is not: those who set up another database are kept
/// waiting by a lock on the table of roles itself.
const ROLES: &str = "
SET LOCAL client_min_messages = warning;
LOCK TABLE pg_authid IN SHARE ROW EXCLUSIVE MODE;
DO $$
DECLARE
  role text;
BEGIN
  FOREACH role IN ARRAY ARRAY['memtide_owner', 'memtide_operator', 'memtide_backup', 'memtide_app'] LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) THEN
      EXECUTE format('CREATE ROLE %I NOLOGIN', role);
    END IF;
  END LOOP;
  -- The service reads across tenants only after it has taken this role on in a transaction.
  GRANT memtide_operator TO memtide_app WITH INHERIT FALSE, SET TRUE;
  ALTER ROLE memtide_backup BYPASSRLS;
  GRANT pg_read_all_data TO memtide_backup;
END
$$;
CREATE EXTENSION IF NOT EXISTS vector;
GRANT CREATE, USAGE ON SCHEMA public TO memtide_owner;
GRANT USAGE ON SCHEMA public TO memtide_app, memtide_operator;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
";

async fn create_roles(connection: &mut PgConnection, app: &PgConnectOptions, app_url: &str) -> Result<()> {
    if app.get_username() != "memtide_app" {
        return Err(Error::invalid("DATABASE_URL", "must name the role memtide_app, which is no superuser"));
    }
    let database = quote_identifier(app.get_database().unwrap_or("memtide"));
    let password =
        password_of(app_url).map_or_else(|| "NULL".to_owned(), |password| quote_literal(&password));
    // One text is one transaction, so that the lock taken at its start is held to its end.
    let sql = format!(
        "{ROLES}
        REVOKE TEMPORARY ON DATABASE {database} FROM PUBLIC;
        ALTER ROLE memtide_app LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE PASSWORD {password};"
    );
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await?;
    Ok(())
}

fn quote_identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn quote_literal(text: &str) -> String {
    format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// The password in a URL, which sqlx keeps to itself once it has parsed it.
fn password_of(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let (authority, _) = rest.split_once('/').unwrap_or((rest, ""));
    let (user_info, _) = authority.rsplit_once('@')?;
    let (_, password) = user_info.split_once(':')?;
    Some(percent_encoding::percent_decode_str(password).decode_utf8_lossy().into_owned())
}

/// The newest migration the database has had; 0 when it has had none.
pub async fn schema_version(db: &Db) -> Result<i64> {
    let mut session = db.look().await?;
    let version = sqlx::query_scalar!("SELECT max(version) FROM _sqlx_migrations WHERE success")
        .fetch_one(&mut *session)
        .await;
    match version {
        Ok(version) => Ok(version.unwrap_or(0)),
        // 42P01: no such table. The database was never set up.
        Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some("42P01") => Ok(0),
        Err(error) => Err(error.into()),
    }
}

/// Refuses a role for which row level security would not hold.
pub async fn check_role(db: &Db) -> Result<()> {
    let mut session = db.look().await?;
    let role = sqlx::query!(
        "SELECT current_user::text AS \"name!\", rolsuper AS \"superuser!\", rolbypassrls AS \"bypass!\"
         FROM pg_roles
         WHERE rolname = current_user"
    )
    .fetch_one(&mut *session)
    .await?;
    if role.superuser || role.bypass {
        let rule = format!("must not name {}: a superuser skips row level security", role.name);
        return Err(Error::invalid("DATABASE_URL", rule));
    }
    Ok(())
}

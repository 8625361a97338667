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
    create_roles(&mut connection, &app, config.url.expose()).await?;
    sqlx::raw_sql("SET ROLE memtide_owner").execute(&mut connection).await?;
    MIGRATOR.run_direct(None, &mut connection, false).await.map_err(migrate_error)?;
    // The service tells from it whether it fits the schema.
    sqlx::raw_sql("GRANT SELECT ON _sqlx_migrations TO memtide_app").execute(&mut connection).await?;
    connection.close().await?;
    Ok(())
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

/// How often roles are set up again when the set-up of another database got in the way.
const ROLE_ATTEMPTS: u32 = 20;

/// Two set-ups of one database take turns.
const ROLES: &str = "
SET LOCAL client_min_messages = warning;
DO $$
DECLARE
  role text;
BEGIN
  PERFORM pg_advisory_xact_lock(7236821);
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
    let mut attempt = 1;
    loop {
        match sqlx::raw_sql(AssertSqlSafe(sql.clone())).execute(&mut *connection).await {
            Ok(_) => return Ok(()),
            Err(error) if attempt < ROLE_ATTEMPTS && is_collision(&error) => {
                tokio::time::sleep(Duration::from_millis(50 * u64::from(attempt))).await;
                attempt += 1;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Whether two transactions changed the same role. Roles are shared by all databases of a server, locks are not: one
/// of the two fails, on the row itself or on its name.
fn is_collision(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| match error.code().as_deref() {
        Some("23505" | "42710") => true,
        Some("XX000") => error.message().contains("concurrently"),
        _ => false,
    })
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
    let version = sqlx::query_scalar!("SELECT max(version) FROM _sqlx_migrations WHERE success")
        .fetch_one(&db.pool)
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
    let role = sqlx::query!(
        "SELECT current_user::text AS \"name!\", rolsuper AS \"superuser!\", rolbypassrls AS \"bypass!\"
         FROM pg_roles
         WHERE rolname = current_user"
    )
    .fetch_one(&db.pool)
    .await?;
    if role.superuser || role.bypass {
        let rule = format!("must not name {}: a superuser skips row level security", role.name);
        return Err(Error::invalid("DATABASE_URL", rule));
    }
    Ok(())
}

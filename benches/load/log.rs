//! The statements behind a request.
//!
//! They are not written down here, where they would grow old: the server makes the request once while Postgres logs
//! what it executes.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use reqwest::Url;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

/// How long the log may lag behind the answer of a request.
const LOG_LAG: Duration = Duration::from_millis(100);

/// What stands for a line break while the log is cut into lines.
const CONTINUED: &str = "\u{1F}";

/// How a transaction for a client starts.
const TENANT_TRANSACTION: &str = "BEGIN; SELECT set_config('memtide.tenant'";

/// The log of a Postgres that logs every statement of the server.
pub struct Log {
    path: PathBuf,
    /// Tells the types of parameters, which are not in the log.
    database: PgConnection,
}

struct Statement<'a> {
    connection: &'a str,
    sql: String,
    literals: Vec<String>,
}

impl Log {
    /// Opens a log; the URL is that of the database whose statements it holds.
    pub async fn open(path: PathBuf, database: &Url) -> Result<Self> {
        Ok(Self { path, database: PgConnection::connect(database.as_str()).await? })
    }

    /// Makes a request and writes its statements into a script for pgbench.
    pub async fn record(
        &mut self,
        script: PathBuf,
        request: impl Future<Output = Result<()>>,
    ) -> Result<PathBuf> {
        let before = fs::metadata(&self.path)?.len();
        request.await?;
        tokio::time::sleep(LOG_LAG).await;
        let log = fs::read(&self.path)?;
        // A message of several lines goes on behind a tab.
        let new = String::from_utf8_lossy(&log[usize::try_from(before)?..]).replace("\n\t", CONTINUED);
        let statements = statements(&new);
        ensure!(!statements.is_empty(), "{} shows no statement of the server", self.path.display());
        let mut text = String::new();
        for statement in statements {
            let types = self.parameter_types(&statement).await?;
            text += with_parameters(&statement, &types).trim_end_matches(';');
            text += ";\n";
        }
        fs::write(&script, text)?;
        Ok(script)
    }

    /// What Postgres takes the parameters for: a literal alone may be taken for something else.
    async fn parameter_types(&mut self, statement: &Statement<'_>) -> Result<Vec<String>> {
        if statement.literals.is_empty() {
            return Ok(Vec::new());
        }
        let prepare = format!("PREPARE recorded AS {}", statement.sql);
        sqlx::raw_sql(AssertSqlSafe(prepare)).execute(&mut self.database).await?;
        let types = "SELECT parameter_types::text[] FROM pg_prepared_statements WHERE name = 'recorded'";
        let types = sqlx::query_scalar(types).fetch_one(&mut self.database).await?;
        sqlx::raw_sql("DEALLOCATE recorded").execute(&mut self.database).await?;
        Ok(types)
    }
}

/// The statements of clients' transactions in a log, connection by connection.
fn statements(log: &str) -> Vec<Statement<'_>> {
    let mut found = Vec::<Statement>::new();
    for line in log.lines() {
        let connection =
            line.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or("", |(pid, _)| pid);
        let simple = line.split_once("LOG:  statement: ").map(|(_, sql)| sql);
        let prepared = line.split_once("LOG:  execute ").and_then(|(_, execute)| execute.split_once(": "));
        if let Some(sql) = simple.or(prepared.map(|(_, sql)| sql)) {
            found.push(Statement { connection, sql: sql.replace(CONTINUED, "\n"), literals: Vec::new() });
        } else if let Some((_, parameters)) = line.split_once("DETAIL:  Parameters: ")
            && let Some(last) = found.last_mut()
        {
            last.literals = literals(&parameters.replace(CONTINUED, "\n"));
        }
    }
    // Two connections of one request work side by side; their transactions must not mix in one script.
    found.sort_by_key(|statement| statement.connection);
    // The rest is what the server does by itself, such as looking for new keys, or the end of an earlier request.
    let mut is_tenants = false;
    found.retain(|statement| {
        let is_end = matches!(statement.sql.as_str(), "COMMIT" | "ROLLBACK");
        is_tenants |= statement.sql.starts_with(TENANT_TRANSACTION);
        let keeps = is_tenants;
        is_tenants &= !is_end;
        keeps
    });
    found
}

/// The literals in `$1 = 'it''s', $2 = NULL`, as they stand.
fn literals(mut parameters: &str) -> Vec<String> {
    let mut literals = Vec::new();
    while let Some((_, value)) = parameters.split_once(" = ") {
        let end = if value.starts_with('\'') { 1 + end_of_string(&value[1..]) } else { end_of_word(value) };
        literals.push(value[..end].to_owned());
        parameters = &value[end..];
    }
    literals
}

/// Where a string ends, behind the closing quote. A doubled quote is one in the string.
fn end_of_string(text: &str) -> usize {
    let mut at = 0;
    while let Some(quote) = text[at..].find('\'') {
        at += quote + 1;
        if !text[at..].starts_with('\'') {
            return at;
        }
        at += 1;
    }
    text.len()
}

fn end_of_word(text: &str) -> usize {
    text.find([',', '\n']).unwrap_or(text.len())
}

fn with_parameters(statement: &Statement, types: &[String]) -> String {
    let mut parts = statement.sql.split('$');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        let (number, rest) = part.split_at(digits);
        let index = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        match index.and_then(|index| statement.literals.get(index).zip(types.get(index))) {
            Some((literal, of_type)) => text.extend(["(", literal, "::", of_type, ")", rest]),
            None => text.extend(["$", part]),
        }
    }
    text
}

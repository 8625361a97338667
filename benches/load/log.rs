//! The statements behind a request.
//!
//! They are not written down here, where they would grow old: the server makes the request once while Postgres logs
//! what it executes.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};

/// How long the log may lag behind the answer of a request.
const LOG_LAG: Duration = Duration::from_millis(100);

/// What stands for a line break while the log is cut into lines.
const CONTINUED: &str = "\u{1F}";

/// How a transaction for a client starts.
const TENANT_TRANSACTION: &str = "BEGIN; SELECT set_config('memtide.tenant'";

/// The log of a Postgres that logs every statement of the server.
pub struct Log {
    path: PathBuf,
    /// The different statements with parameters; pgbench knows each by its place here.
    prepared: Vec<String>,
}

struct Statement<'a> {
    connection: &'a str,
    sql: String,
    /// Whether the server prepared it, which it does once for each connection.
    is_prepared: bool,
    parameters: String,
}

impl Log {
    /// The log in a file.
    pub fn new(path: PathBuf) -> Self {
        Self { path, prepared: Vec::new() }
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
        let lines: Vec<String> = statements.iter().map(|statement| self.line(statement)).collect();
        fs::write(&script, lines.concat())?;
        Ok(script)
    }

    /// The variables by which each client of pgbench remembers what it has still to prepare.
    pub fn variables(&self) -> impl Iterator<Item = String> {
        (0..self.prepared.len()).map(|number| format!("--define=new{number}=1"))
    }

    fn line(&mut self, statement: &Statement) -> String {
        let Statement { sql, is_prepared, parameters, .. } = statement;
        if !is_prepared {
            return format!("{sql};\n");
        }
        let known = self.prepared.iter().position(|prepared| prepared == sql);
        let number = known.unwrap_or_else(|| {
            self.prepared.push(sql.clone());
            self.prepared.len() - 1
        });
        let values = literals(parameters).join(", ");
        let values = if values.is_empty() { values } else { format!("({values})") };
        format!(
            "\\if :new{number}\nPREPARE s{number} AS {sql};\n\\set new{number} 0\n\\endif\nEXECUTE s{number}{values};\n"
        )
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
            let sql = sql.replace(CONTINUED, "\n").trim().trim_end_matches(';').to_owned();
            let is_prepared = prepared.is_some();
            found.push(Statement { connection, sql, is_prepared, parameters: String::new() });
        } else if let Some((_, parameters)) = line.split_once("DETAIL:  Parameters: ")
            && let Some(last) = found.last_mut()
        {
            last.parameters = parameters.replace(CONTINUED, "\n");
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
fn literals(mut parameters: &str) -> Vec<&str> {
    let mut literals = Vec::new();
    while let Some((_, value)) = parameters.split_once(" = ") {
        let end = match value.strip_prefix('\'') {
            Some(text) => 1 + end_of_string(text),
            None => end_of_word(value),
        };
        literals.push(&value[..end]);
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

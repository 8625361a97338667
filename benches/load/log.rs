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

/// The log of a Postgres that logs every statement of the server.
pub struct Log(pub PathBuf);

impl Log {
    /// Makes a request and writes its statements into a script for pgbench.
    pub async fn record(
        &self,
        script: PathBuf,
        request: impl Future<Output = Result<()>>,
    ) -> Result<PathBuf> {
        let before = fs::metadata(&self.0)?.len();
        request.await?;
        tokio::time::sleep(LOG_LAG).await;
        let log = fs::read(&self.0)?;
        let new = String::from_utf8_lossy(&log[usize::try_from(before)?..]);
        let statements = statements(&new);
        ensure!(!statements.is_empty(), "{} shows no statement of the server", self.0.display());
        fs::write(&script, statements.join(";\n") + ";\n")?;
        Ok(script)
    }
}

/// The statements in a log, with their parameters put in, connection by connection.
fn statements(log: &str) -> Vec<String> {
    let mut found = Vec::<(&str, String)>::new();
    // A message of several lines goes on behind a tab.
    let messages = log.replace("\n\t", "\u{1F}");
    let mut lines: Vec<String> = messages.lines().map(|line| line.replace('\u{1F}', "\n")).collect();
    lines.retain(|line| line.contains("LOG:  ") || line.contains("DETAIL:  "));
    for line in &lines {
        let connection =
            line.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or("", |(pid, _)| pid);
        if let Some((_, sql)) = line.split_once("LOG:  statement: ") {
            found.push((connection, sql.to_owned()));
        } else if let Some((_, execute)) = line.split_once("LOG:  execute ") {
            found.extend(execute.split_once(": ").map(|(_, sql)| (connection, sql.to_owned())));
        } else if let Some((_, parameters)) = line.split_once("DETAIL:  Parameters: ")
            && let Some((_, sql)) = found.last_mut()
        {
            *sql = with_parameters(sql, &literals(parameters));
        }
    }
    // Two connections of one request work side by side; their transactions must not mix in one script.
    found.sort_by_key(|(connection, _)| *connection);
    found.into_iter().map(|(_, sql)| sql.trim_end_matches(';').to_owned()).collect()
}

/// The literals in `$1 = 'it''s', $2 = NULL`, as they stand.
fn literals(mut parameters: &str) -> Vec<&str> {
    let mut literals = Vec::new();
    while let Some((_, value)) = parameters.split_once(" = ") {
        let end = if value.starts_with('\'') { 1 + end_of_string(&value[1..]) } else { end_of_word(value) };
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

fn with_parameters(sql: &str, literals: &[&str]) -> String {
    let mut parts = sql.split('$');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        let (number, rest) = part.split_at(digits);
        let literal = number.parse::<usize>().ok().and_then(|number| literals.get(number.checked_sub(1)?));
        match literal {
            Some(literal) => text.extend([literal, rest]),
            None => text.extend(["$", part]),
        }
    }
    text
}

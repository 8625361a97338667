//! The statements behind a request, and what Postgres does of them without a server in front of it.
//!
//! They are not written down here, where they would grow old: the server makes the request once while Postgres logs
//! what it executes, and pgbench replays that.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use reqwest::Url;

use crate::phase::Phase;
use crate::postgres::libpq_variables;

/// How long a replay lasts.
const REPLAY_SECONDS: &str = "5";

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

/// Makes sure that pgbench is there, before minutes are spent.
pub fn check(pgbench: &Path) -> Result<()> {
    let output = Command::new(pgbench).arg("--version").output();
    output.with_context(|| format!("cannot run {}: see --pgbench", pgbench.display()))?;
    Ok(())
}

/// Replays scripts in random order. Each statement is planned anew, as it is for the server.
pub fn replay(pgbench: &Path, database: &Url, scripts: &[PathBuf], clients: usize) -> Result<Phase> {
    let folder = scripts.first().and_then(|script| script.parent()).context("there is nothing to replay")?;
    let times = folder.join("times");
    fs::remove_dir_all(&times).ok();
    fs::create_dir(&times)?;
    let output = Command::new(pgbench)
        .envs(libpq_variables(database))
        .env("PGOPTIONS", "-c jit=off")
        .args(["--no-vacuum", "--log", "--jobs=1", "--time", REPLAY_SECONDS])
        .arg(format!("--client={clients}"))
        .arg(format!("--log-prefix={}", times.join("client").display()))
        .args(scripts.iter().map(|script| format!("--file={}", script.display())))
        .output()
        .with_context(|| format!("cannot run {}", pgbench.display()))?;
    ensure!(output.status.success(), "pgbench: {}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stdout);
    let per_second =
        said.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
    Ok(Phase {
        per_second: per_second.with_context(|| format!("pgbench prints {said}"))?,
        p50_ms: median_ms(&times)?,
        server_cpu_ms: 0.0,
        postgres_cpu_ms: 0.0,
    })
}

/// The third number of each line is how long a transaction took, in microseconds.
fn median_ms(folder: &Path) -> Result<f64> {
    let mut micros = Vec::<u32>::new();
    for file in fs::read_dir(folder)? {
        let text = fs::read_to_string(file?.path())?;
        micros.extend(text.lines().filter_map(|line| line.split(' ').nth(2)?.parse::<u32>().ok()));
    }
    micros.sort_unstable();
    Ok(micros.get(micros.len() / 2).map_or(0.0, |&micros| f64::from(micros) / 1e3))
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

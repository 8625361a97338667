//! What Postgres does of the same statements without a server in front of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use memtide::db::SESSION;
use reqwest::Url;

use crate::log::Log;
use crate::phase::Phase;
use crate::postgres::libpq_variables;

/// How long a replay lasts.
const REPLAY_SECONDS: &str = "5";

/// Makes sure that pgbench is there, before minutes are spent.
pub fn check(pgbench: &Path) -> Result<()> {
    let output = Command::new(pgbench).arg("--version").output();
    output.with_context(|| format!("cannot run {}: see --pgbench", pgbench.display()))?;
    Ok(())
}

/// Replays scripts in random order, on connections that are set as the server's.
pub fn replay(
    pgbench: &Path,
    database: &Url,
    log: &Log,
    scripts: &[PathBuf],
    clients: usize,
) -> Result<Phase> {
    let folder = scripts.first().and_then(|script| script.parent()).context("there is nothing to replay")?;
    let times = folder.join("times");
    fs::remove_dir_all(&times).ok();
    fs::create_dir(&times)?;
    let output = Command::new(pgbench)
        .envs(libpq_variables(database))
        .env("PGOPTIONS", SESSION.map(|(name, value)| format!("-c {name}={value}")).join(" "))
        .args(["--no-vacuum", "--log", "--jobs=1", "--time", REPLAY_SECONDS])
        .arg(format!("--client={clients}"))
        .arg(format!("--log-prefix={}", times.join("client").display()))
        .args(log.variables())
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

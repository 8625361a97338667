//! The floor: a program that does the same work in the plainest way, and prints what it reached.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::phase::{Figures, Phase};
use crate::postgres::{self, Postgres, libpq_variables};
use crate::text::Counts;

/// A phase in the floor's own words.
#[derive(Deserialize)]
struct Reached {
    errors: usize,
    per_s: f64,
    p50: f64,
    app_cpu_ms: f64,
    pg_cpu_ms: f64,
}

/// Longer than any phase takes: one cut short would have other texts than the product's.
const CAP_SECONDS: &str = "600";

/// Runs the floor once, on a scratch database, with the model that the product uses.
pub fn round(program: &Path, postgres: &Postgres, model_dir: &Path, counts: Counts) -> Result<Figures> {
    let output = Command::new("bash")
        .arg(program)
        .envs(libpq_variables(&postgres.admin_url(postgres::FLOOR)))
        .env("PGDATA_DIR", &postgres.data_folder)
        .env("MODEL_DIR", model_dir)
        .env("N", counts.memories.to_string())
        .env("N1", counts.first_memories().to_string())
        .env("NQ", counts.queries.to_string())
        .env("CAP", CAP_SECONDS)
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run {}", program.display()))?;
    ensure!(output.status.success(), "the floor fails: {}", output.status);
    let text = String::from_utf8_lossy(&output.stdout);
    let said: BTreeMap<String, Value> =
        serde_json::from_str(text.trim()).with_context(|| format!("the floor prints {text}"))?;
    let phase = |name: &str| -> Result<(String, Phase)> {
        let said = said.get(name).with_context(|| format!("the floor says nothing about {name}"))?;
        let reached = Reached::deserialize(said)?;
        ensure!(reached.errors == 0, "the floor made errors: {said}");
        Ok((name.to_owned(), reached.into()))
    };
    ["add_c1", "add_c8", "search_c1", "search_c8"].into_iter().map(phase).collect()
}

impl From<Reached> for Phase {
    fn from(reached: Reached) -> Self {
        Self {
            per_second: reached.per_s,
            p50_ms: reached.p50,
            server_cpu_ms: reached.app_cpu_ms,
            postgres_cpu_ms: reached.pg_cpu_ms,
        }
    }
}

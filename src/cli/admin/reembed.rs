//! `memtide admin reembed`.

use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::json;

use super::{find_tenant, print};
use crate::app::App;
use crate::auth::OperatorPermit;
use crate::db;
use crate::memory::reembed::{Progress, reembed};

/// How often it is told how far it is.
const TOLD_EVERY: Duration = Duration::from_secs(1);

/// Moves a tenant to the model of this configuration, and tells how far it is.
pub(super) async fn run(app: &App, permit: &OperatorPermit, tenant: &str) -> anyhow::Result<()> {
    let tenant = find_tenant(app, permit, tenant).await?;
    let model = app.embedder.model().context("MEMTIDE_EMBEDDER is off: there is no model to move to")?;
    if !db::create_vector_index(&app.config.database, app.db.model(), model.dimensions).await? {
        eprintln!(
            "DATABASE_ADMIN_URL is not set, so that no index is made for {}: searches of large namespaces are slow \
             until one is",
            model.name
        );
    }
    let mut told = Instant::now();
    let tell = |progress: Progress| {
        if told.elapsed() >= TOLD_EVERY {
            told = Instant::now();
            println!("{}", json!({ "embedded": progress.embedded, "left": progress.left }));
        }
    };
    let done = reembed(app, permit, tenant, tell).await?;
    print(
        &json!({ "tenant_id": tenant, "model": model.name, "embedded": done.embedded, "without_vector": done.left }),
    )
}

//! `memtide migrate`.

use crate::config::Config;
use crate::db;

/// Makes roles and extension, and brings the schema up to date.
pub async fn run(config: &Config) -> anyhow::Result<()> {
    db::migrate(&config.database).await?;
    println!("the schema is at version {}", *db::SCHEMA_VERSION);
    Ok(())
}

//! `memtide admin`: what the operator's API does, for somebody who holds the database's password. Prints one line of
//! JSON for each thing.

mod job;
mod key;
mod operator;
mod reembed;
mod tenant;
mod token;

use std::sync::Arc;

use anyhow::Context;
use serde::Serialize;

use crate::app::App;
use crate::auth::{self, Action, Area, OperatorPermit, Rights};
use crate::clock::Clock;
use crate::config::Config;
use crate::embed::{EmbedConfig, Embedder};
use crate::id::TenantId;
use crate::page::{Page, PageRequest};
use crate::{db, telemetry};

/// What is to be done.
#[derive(Debug, clap::Subcommand)]
pub enum Admin {
    /// Tenants
    #[command(subcommand)]
    Tenant(tenant::Command),
    /// API keys of a tenant
    #[command(subcommand)]
    Key(key::Command),
    /// Personal tokens of a tenant
    #[command(subcommand)]
    Token(token::Command),
    /// Keys for the operator's API
    #[command(subcommand)]
    OperatorKey(operator::Command),
    /// Jobs of all tenants
    #[command(subcommand)]
    Job(job::Command),
    /// Keys that sign capabilities
    #[command(subcommand)]
    SigningKey(SigningKey),
    /// Give a tenant's memory vectors of the model that is configured here, and search it with them from then on
    Reembed {
        /// Id or short name of the tenant
        tenant: String,
    },
}

/// What is to be done with the keys that sign capabilities.
#[derive(Debug, clap::Subcommand)]
pub enum SigningKey {
    /// Make a new key; the one before verifies until the last capability it signed has ended
    Rotate,
}

impl Admin {
    /// Does it.
    pub async fn run(self, mut config: Config) -> anyhow::Result<()> {
        if !matches!(self, Self::Tenant(tenant::Command::Create { .. }) | Self::Reembed { .. }) {
            config.embedding = EmbedConfig::Off;
        }
        let app = connect(config).await?;
        let permit = OperatorPermit::command_line();
        match self {
            Self::Tenant(command) => command.run(&app, &permit).await,
            Self::Key(command) => command.run(&app, &permit).await,
            Self::Token(command) => command.run(&app, &permit).await,
            Self::OperatorKey(command) => command.run(&app, &permit).await,
            Self::Job(command) => command.run(&app, &permit).await,
            Self::SigningKey(SigningKey::Rotate) => print(&auth::rotate(&app, &permit).await?),
            Self::Reembed { tenant } => reembed::run(&app, &permit, &tenant).await,
        }
    }
}

/// The app without what only a server needs. A new tenant is given the embedding model of this deployment.
async fn connect(config: Config) -> anyhow::Result<App> {
    db::reach(&config.database).await?;
    let embedder = Embedder::connect(config.embedding.clone()).await.context("the embedder")?;
    let app = App::new(config, Arc::new(embedder), telemetry::metrics()?, Clock::default())?;
    db::check_schema(&app.db).await?;
    if let Some(model) = app.embedder.model() {
        app.db.register_model(&model.name, model.dimensions).await?;
    }
    Ok(app)
}

/// The tenant that an id or a short name means.
async fn find_tenant(app: &App, permit: &OperatorPermit, text: &str) -> anyhow::Result<TenantId> {
    if let Ok(id) = text.parse() {
        return Ok(id);
    }
    let found = crate::tenant::find_by_slug(app, permit, text).await?;
    Ok(found.with_context(|| format!("there is no tenant {text}"))?.id)
}

/// The first page, or the one after.
fn page_after(cursor: Option<String>) -> PageRequest {
    PageRequest { limit: None, cursor }
}

/// Prints the things on a page, and says what to ask for next.
fn print_page<T: Serialize>(page: &Page<T>) -> anyhow::Result<Option<String>> {
    page.items.iter().try_for_each(print)?;
    Ok(page.next_cursor.clone())
}

fn print(thing: &impl Serialize) -> anyhow::Result<()> {
    println!("{}", serde_json::to_string(thing)?);
    Ok(())
}

/// Reads a right such as `memory.durable:read`.
fn parse_right(text: &str) -> Result<(Area, Action), String> {
    let pair = text.split_once(':').ok_or("a right is written area:action")?;
    let (area, action) = serde_json::to_value(pair)
        .and_then(serde_json::from_value::<(Area, Action)>)
        .map_err(|error| error.to_string())?;
    Rights::of([(area, action)]).check("right").map_err(|error| error.to_string())?;
    Ok((area, action))
}

/// The rights given, or all when none is.
fn rights_or_all(rights: Vec<(Area, Action)>) -> Rights {
    if rights.is_empty() { Rights::all() } else { Rights::of(rights) }
}

//! `memtide admin key`.

use serde_json::json;

use super::{find_tenant, page_after, parse_right, print, print_page, rights_or_all};
use crate::app::App;
use crate::auth::key::{NewKey, usual_sensitivity};
use crate::auth::{self, Action, Actor, Area, NamespacePattern, OperatorPermit};
use crate::id::KeyId;

/// What is to be done with a tenant's API keys.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Make an API key, and print its secret once
    Create {
        /// Id or short name of the tenant
        tenant: String,
        /// What it is called
        #[arg(long)]
        name: String,
        /// A namespace, the start of names and a `*`, or `*` for every one; may be repeated
        #[arg(long = "namespace", required = true, value_parser = parse_pattern)]
        namespaces: Vec<NamespacePattern>,
        /// A right such as `memory.durable:read`; may be repeated; all when left out
        #[arg(long = "right", value_parser = parse_right)]
        rights: Vec<(Area, Action)>,
        /// Let its capabilities change the tenant's configuration
        #[arg(long)]
        control: bool,
    },
    /// List a tenant's API keys
    List {
        /// Id or short name of the tenant
        tenant: String,
    },
    /// Revoke an API key and every capability made with it
    Revoke {
        /// Id or short name of the tenant
        tenant: String,
        /// Id of the key
        key: KeyId,
    },
}

impl Command {
    pub(super) async fn run(self, app: &App, permit: &OperatorPermit) -> anyhow::Result<()> {
        match self {
            Self::Create { tenant, name, namespaces, rights, control } => {
                let new = NewKey {
                    name,
                    namespaces,
                    capabilities: rights_or_all(rights),
                    sensitivity: usual_sensitivity(),
                    control,
                    actor: Actor::default(),
                    expires_at: None,
                };
                let tenant = find_tenant(app, permit, &tenant).await?;
                let (key, bearer) = auth::create_key(app, permit, tenant, new).await?;
                print(&json!({ "key": key, "secret": bearer.expose() }))
            }
            Self::List { tenant } => list(app, permit, &tenant).await,
            Self::Revoke { tenant, key } => {
                let tenant = find_tenant(app, permit, &tenant).await?;
                print(&auth::revoke_key(app, permit, tenant, key).await?)
            }
        }
    }
}

async fn list(app: &App, permit: &OperatorPermit, tenant: &str) -> anyhow::Result<()> {
    let tenant = find_tenant(app, permit, tenant).await?;
    let mut cursor = None;
    loop {
        cursor = print_page(&auth::list_keys(app, permit, tenant, &page_after(cursor)).await?)?;
        if cursor.is_none() {
            return Ok(());
        }
    }
}

fn parse_pattern(text: &str) -> Result<NamespacePattern, String> {
    text.to_owned().try_into()
}

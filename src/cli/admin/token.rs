//! `memtide admin token`.

use serde_json::json;

use super::{find_tenant, page_after, parse_right, print, print_page, rights_or_all};
use crate::app::App;
use crate::auth::key::{NewToken, usual_sensitivity};
use crate::auth::{self, Action, Actor, Area, Namespace, OperatorPermit};
use crate::id::KeyId;

/// What is to be done with a tenant's personal tokens.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Make a personal token, and print its secret once
    Create {
        /// Id or short name of the tenant
        tenant: String,
        /// What it is called
        #[arg(long)]
        name: String,
        /// The one namespace it reaches
        #[arg(long)]
        namespace: Namespace,
        /// A right such as `memory.durable:read`; may be repeated; all when left out
        #[arg(long = "right", value_parser = parse_right)]
        rights: Vec<(Area, Action)>,
    },
    /// List a tenant's personal tokens
    List {
        /// Id or short name of the tenant
        tenant: String,
    },
    /// Revoke a personal token and every capability made from it
    Revoke {
        /// Id or short name of the tenant
        tenant: String,
        /// Id of the token
        token: KeyId,
    },
}

impl Command {
    pub(super) async fn run(self, app: &App, permit: &OperatorPermit) -> anyhow::Result<()> {
        match self {
            Self::Create { tenant, name, namespace, rights } => {
                let new = NewToken {
                    name,
                    namespace,
                    capabilities: rights_or_all(rights),
                    scopes: None,
                    sensitivity: usual_sensitivity(),
                    actor: Actor::default(),
                    expires_at: None,
                };
                let tenant = find_tenant(app, permit, &tenant).await?;
                let (token, bearer) = auth::create_token(app, permit, tenant, new).await?;
                print(&json!({ "token": token, "secret": bearer.expose() }))
            }
            Self::List { tenant } => list(app, permit, &tenant).await,
            Self::Revoke { tenant, token } => {
                let tenant = find_tenant(app, permit, &tenant).await?;
                print(&auth::revoke_token(app, permit, tenant, token).await?)
            }
        }
    }
}

async fn list(app: &App, permit: &OperatorPermit, tenant: &str) -> anyhow::Result<()> {
    let tenant = find_tenant(app, permit, tenant).await?;
    let mut cursor = None;
    loop {
        cursor = print_page(&auth::list_tokens(app, permit, tenant, &page_after(cursor)).await?)?;
        if cursor.is_none() {
            return Ok(());
        }
    }
}

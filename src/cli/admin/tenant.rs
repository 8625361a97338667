//! `memtide admin tenant`.

use super::{find_tenant, page_after, print, print_page};
use crate::app::App;
use crate::auth::OperatorPermit;
use crate::tenant::{self, NewTenant, TenantChange, TenantStatus};

/// What is to be done with tenants.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Make a tenant
    Create {
        /// Its short name
        slug: String,
        /// Its full name; the short one unless told
        #[arg(long)]
        name: Option<String>,
    },
    /// List the tenants
    List,
    /// Refuse a tenant's tokens until it is resumed
    Suspend {
        /// Id or short name
        tenant: String,
    },
    /// Let a tenant's tokens in again
    Resume {
        /// Id or short name
        tenant: String,
    },
    /// End every capability and personal token of a tenant
    RevokeAll {
        /// Id or short name
        tenant: String,
    },
    /// Erase a tenant and everything it has
    Delete {
        /// Id or short name
        tenant: String,
        /// The tenant's short name, to show that this is meant
        #[arg(long)]
        confirm: String,
    },
}

impl Command {
    pub(super) async fn run(self, app: &App, permit: &OperatorPermit) -> anyhow::Result<()> {
        match self {
            Self::Create { slug, name } => {
                let name = name.unwrap_or_else(|| slug.clone());
                let new = NewTenant { slug, name, ..NewTenant::default() };
                print(&tenant::create(app, permit, new).await?)
            }
            Self::List => list(app, permit).await,
            Self::Suspend { tenant } => set_status(app, permit, &tenant, TenantStatus::Suspended).await,
            Self::Resume { tenant } => set_status(app, permit, &tenant, TenantStatus::Active).await,
            Self::RevokeAll { tenant } => {
                let id = find_tenant(app, permit, &tenant).await?;
                print(&tenant::revoke_all(app, permit, id).await?)
            }
            Self::Delete { tenant, confirm } => {
                let id = find_tenant(app, permit, &tenant).await?;
                tenant::delete(app, permit, id, &confirm).await?;
                println!("erased {id}");
                Ok(())
            }
        }
    }
}

async fn list(app: &App, permit: &OperatorPermit) -> anyhow::Result<()> {
    let mut cursor = None;
    loop {
        cursor = print_page(&tenant::list(app, permit, &page_after(cursor)).await?)?;
        if cursor.is_none() {
            return Ok(());
        }
    }
}

async fn set_status(
    app: &App,
    permit: &OperatorPermit,
    tenant: &str,
    status: TenantStatus,
) -> anyhow::Result<()> {
    let id = find_tenant(app, permit, tenant).await?;
    let change = TenantChange { status: Some(status), ..TenantChange::default() };
    print(&tenant::change(app, permit, id, change).await?)
}

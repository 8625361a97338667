//! Tenants: made, listed, suspended, limited and erased by an operator.
//!
//! What is erased is gone from every table but for a row that says so, which keeps the id from being anybody's again
//! and makes every node refuse the tenant's tokens.

mod limits;
mod store;

use std::str::FromStr;

use chrono::TimeDelta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

pub use limits::Limits;

use crate::app::App;
use crate::auth::OperatorPermit;
use crate::candidate::policy::CandidatePolicy;
use crate::db::OperatorTx;
use crate::error::{Error, Result};
use crate::id::TenantId;
use crate::limit;
use crate::memory::check_identifier;
use crate::memory::text::holds_nul;
use crate::page::{CursorScope, Page, PageRequest};
use crate::time::UnixTime;
use crate::working;

/// The largest `settings`, in bytes of JSON.
const MAX_SETTINGS_BYTES: usize = 16 * 1024;

/// What the audit log calls the end of a tenant.
const DELETED: &str = "tenant.delete";

/// How long after its end a tenant is looked after: longer than a request takes, and than a node may not have heard.
const SWEPT_FOR: TimeDelta = TimeDelta::minutes(10);

/// A customer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tenant {
    /// The tenant's id.
    pub id: TenantId,
    /// Its short name, by which operators know it.
    pub slug: String,
    /// Its full name.
    pub name: String,
    /// Whether its tokens are let in.
    pub status: TenantStatus,
    /// What it may use; null is no limit.
    pub limits: Limits,
    /// Settings of its own.
    pub settings: Map<String, Value>,
    /// When it was made.
    pub created_at: UnixTime,
    /// When it last changed.
    pub updated_at: UnixTime,
}

/// Whether a tenant's tokens are let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TenantStatus {
    /// They are.
    Active,
    /// They are refused until the tenant is resumed.
    Suspended,
    /// The tenant was erased. Operators do not see it any more.
    #[serde(skip)]
    Deleted,
}

/// What a new tenant is to be.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTenant {
    /// Its short name: 1 to 63 lower case letters, digits and hyphens, not in use by another tenant.
    #[schemars(regex(pattern = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"))]
    pub slug: String,
    /// Its full name: 1 to 256 bytes.
    pub name: String,
    /// What it may use; what the deployment gives new tenants unless told.
    #[serde(default)]
    pub limits: Option<Limits>,
    /// Settings of its own: at most 16,384 bytes of JSON. `candidate_policy` holds thresholds and switches (XC-35).
    #[serde(default)]
    pub settings: Map<String, Value>,
}

/// What is to change about a tenant. What is left out stays; `limits` and `settings` are replaced whole.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TenantChange {
    /// The new full name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `suspended` refuses its tokens, `active` lets them in again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<TenantStatus>,
    /// The new limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// The new settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Map<String, Value>>,
}

impl TenantStatus {
    /// The status as it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Suspended => "suspended",
            Self::Deleted => "deleted",
        }
    }
}

impl FromStr for TenantStatus {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = [Self::Active, Self::Suspended, Self::Deleted];
        let found = known.into_iter().find(|status| status.as_str() == text);
        found.ok_or_else(|| format!("{text:?} is no status of a tenant"))
    }
}

impl NewTenant {
    fn check(&self) -> Result<()> {
        let legal = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        let slug = self.slug.as_str();
        let has_form = (1..=63).contains(&slug.len()) && slug.bytes().all(legal);
        if !has_form || slug.starts_with('-') || slug.ends_with('-') {
            let rule = "must be 1 to 63 lower case letters, digits and hyphens, no hyphen at either end";
            return Err(Error::invalid("slug", rule));
        }
        check_name(&self.name)?;
        self.limits.map_or(Ok(()), |limits| limits.check())?;
        check_settings(&self.settings)
    }
}

impl TenantChange {
    fn check(&self) -> Result<()> {
        self.name.as_deref().map_or(Ok(()), check_name)?;
        self.limits.map_or(Ok(()), |limits| limits.check())?;
        self.settings.as_ref().map_or(Ok(()), check_settings)
    }
}

fn check_name(name: &str) -> Result<()> {
    check_identifier(name, 256).map_err(|error| error.inside("name"))
}

fn check_settings(settings: &Map<String, Value>) -> Result<()> {
    if holds_nul(settings) {
        return Err(Error::invalid("settings", "holds U+0000"));
    }
    let size = serde_json::to_vec(settings).map_err(Error::internal)?.len();
    if size > MAX_SETTINGS_BYTES {
        let rule = format!("is larger than {MAX_SETTINGS_BYTES} bytes of JSON");
        return Err(Error::over_limit("settings", rule, MAX_SETTINGS_BYTES as u64, size as u64));
    }
    match settings.get("candidate_policy") {
        Some(policy) => {
            let policy: CandidatePolicy = serde_json::from_value(policy.clone())
                .map_err(|error| Error::invalid("settings.candidate_policy", error.to_string()))?;
            policy.check().map_err(|error| error.inside("settings"))
        }
        None => Ok(()),
    }
}

/// Makes a tenant.
pub async fn create(app: &App, permit: &OperatorPermit, new: NewTenant) -> Result<Tenant> {
    new.check()?;
    let now = app.clock.now();
    let mut tx = app.db.begin_operator(permit).await?;
    let model = match app.db.model() {
        0 => store::first_model(&mut tx).await?,
        model => model,
    };
    let limits = new.limits.unwrap_or(app.config.tenant_limits);
    let tenant = store::insert(&mut tx, &new, limits, model, now).await?;
    tx.audit(permit, Some(tenant.id), "tenant.create", &tenant.id.to_string(), now).await?;
    if limits != Limits::default() {
        store::notify(&mut tx).await?;
    }
    tx.commit().await?;
    Ok(tenant)
}

/// The tenants, oldest first.
pub async fn list(app: &App, permit: &OperatorPermit, request: &PageRequest) -> Result<Page<Tenant>> {
    let scope = CursorScope::new(TenantId::from_uuid(Uuid::nil()), "tenants", &())?;
    let after = match &request.cursor {
        Some(cursor) => scope.place(&app.seal, app.clock.now(), cursor)?,
        None => Uuid::nil(),
    };
    let mut tx = app.db.begin_operator(permit).await?;
    let rows = store::list(&mut tx, after, request.rows()).await?;
    tx.commit().await?;
    request.page(rows, |last| scope.cursor(&app.seal, app.clock.now(), &last.id.uuid()))
}

/// A tenant.
pub async fn get(app: &App, permit: &OperatorPermit, id: TenantId) -> Result<Tenant> {
    let mut tx = app.db.begin_operator(permit).await?;
    let tenant = require(&mut tx, id).await?;
    tx.commit().await?;
    Ok(tenant)
}

/// The tenant with this short name.
pub async fn find_by_slug(app: &App, permit: &OperatorPermit, slug: &str) -> Result<Option<Tenant>> {
    let mut tx = app.db.begin_operator(permit).await?;
    let tenant = store::find_by_slug(&mut tx, slug).await?;
    tx.commit().await?;
    Ok(tenant)
}

/// The tenant, which is not erased before this transaction ends.
pub async fn require(tx: &mut OperatorTx, id: TenantId) -> Result<Tenant> {
    store::find(tx, id).await?.ok_or(Error::NotFound("tenant"))
}

/// Changes a tenant: suspends, resumes, renames it, sets its limits and settings.
pub async fn change(
    app: &App,
    permit: &OperatorPermit,
    id: TenantId,
    change: TenantChange,
) -> Result<Tenant> {
    change.check()?;
    let now = app.clock.now();
    let mut tx = app.db.begin_operator(permit).await?;
    let tenant = store::update(&mut tx, id, &change, now).await?.ok_or(Error::NotFound("tenant"))?;
    let action = match change.status {
        Some(TenantStatus::Suspended) => "tenant.suspend",
        Some(TenantStatus::Active) => "tenant.resume",
        _ => "tenant.change",
    };
    tx.audit(permit, Some(id), action, &id.to_string(), now).await?;
    store::notify(&mut tx).await?;
    tx.commit().await?;
    app.auth.reload(app).await;
    limit::reload(app).await;
    Ok(tenant)
}

/// Ends every capability and personal token that the tenant has. Its API keys stay, and buy new capabilities.
pub async fn revoke_all(app: &App, permit: &OperatorPermit, id: TenantId) -> Result<Tenant> {
    let now = app.clock.now();
    let mut tx = app.db.begin_operator(permit).await?;
    let tenant = store::raise_epoch(&mut tx, id, now).await?.ok_or(Error::NotFound("tenant"))?;
    crate::auth::revoke_all_tokens(&mut tx, id, now).await?;
    tx.audit(permit, Some(id), "tenant.revoke_all", &id.to_string(), now).await?;
    store::notify(&mut tx).await?;
    tx.commit().await?;
    app.auth.reload(app).await;
    Ok(tenant)
}

/// Erases a tenant and everything it has. `confirm` must be its short name.
///
/// Goes on to the end even when the caller goes away: it may take longer than a request is waited for.
pub async fn delete(app: &App, permit: &OperatorPermit, id: TenantId, confirm: &str) -> Result<()> {
    let (app, permit, confirm) = (app.clone(), permit.clone(), confirm.to_owned());
    let work = async move { erase(&app, &permit, id, &confirm).await };
    tokio::spawn(work).await.map_err(Error::internal)?
}

async fn erase(app: &App, permit: &OperatorPermit, id: TenantId, confirm: &str) -> Result<()> {
    let now = app.clock.now();
    let mut tx = app.db.begin_operator(permit).await?;
    let tenant = store::lock(&mut tx, id).await?.ok_or(Error::NotFound("tenant"))?;
    if tenant.slug != confirm {
        return Err(Error::invalid("confirm", "must be the tenant's slug: everything it has will be erased"));
    }
    store::erase(&mut tx, id).await?;
    // Before the end is written down, so that a tenant of which slots may be left is not called erased.
    working::erase(app, id).await?;
    store::mark_deleted(&mut tx, id, now).await?;
    tx.audit(permit, Some(id), DELETED, &id.to_string(), now).await?;
    store::notify(&mut tx).await?;
    tx.commit().await?;
    app.db.forget_namespaces(id);
    app.auth.reload(app).await;
    Ok(())
}

/// Erases what requests left behind that were under way when their tenant was erased. Gives how many rows.
pub async fn sweep(app: &App) -> Result<u64> {
    let mut tx = app.db.begin_operator(&OperatorPermit::service()).await?;
    let mut rows = 0;
    let erased = store::erased_since(&mut tx, app.clock.now() - SWEPT_FOR).await?;
    for &id in &erased {
        rows += store::erase(&mut tx, id).await?;
    }
    tx.commit().await?;
    for id in erased {
        rows += working::erase(app, id).await?;
    }
    Ok(rows)
}

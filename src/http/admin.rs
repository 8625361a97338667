//! The operator's API: tenants and signing keys. A tenant's keys and tokens are in `admin_key.rs`.

use axum::extract::State;
use axum::http::{Method, StatusCode};
use axum::routing::{delete, get, patch, post};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::caller::OperatorCaller;
use super::extract::{Json, Path, Query};
use super::route::{Needs, Route};
use crate::app::App;
use crate::auth::{self, Rotated};
use crate::error::{Error, Result};
use crate::id::{Id, Kind, TenantId};
use crate::page::{Page, PageRequest};
use crate::tenant::{self, NewTenant, Tenant, TenantChange};

/// The routes of this file.
pub const ROUTES: &[Route] = &[
    Route::new(Method::POST, "/v1/admin/tenants", Needs::Operator, "Make a tenant", || post(create))
        .takes::<NewTenant>()
        .gives::<TenantReply>()
        .with_status(201),
    Route::new(Method::GET, "/v1/admin/tenants", Needs::Operator, "List the tenants", || get(list))
        .asks::<PageRequest>()
        .gives::<Page<Tenant>>(),
    Route::new(Method::GET, "/v1/admin/tenants/{id}", Needs::Operator, "Get a tenant", || get(find))
        .gives::<TenantReply>(),
    Route::new(
        Method::PATCH,
        "/v1/admin/tenants/{id}",
        Needs::Operator,
        "Suspend, resume, rename or limit a tenant",
        || patch(change),
    )
    .takes::<TenantChange>()
    .gives::<TenantReply>(),
    Route::new(
        Method::DELETE,
        "/v1/admin/tenants/{id}",
        Needs::Operator,
        "Erase a tenant and everything it has",
        || delete(erase),
    )
    .asks::<Confirm>()
    .gives::<Erased>(),
    Route::new(
        Method::POST,
        "/v1/admin/tenants/{id}/revoke_all",
        Needs::Operator,
        "End every capability and personal token of a tenant",
        || post(revoke_all),
    )
    .gives::<TenantReply>(),
    Route::new(
        Method::POST,
        "/v1/admin/signing_keys/rotate",
        Needs::Operator,
        "Make a new key that signs capabilities",
        || post(rotate),
    )
    .gives::<Rotated>(),
];

/// A tenant.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct TenantReply {
    /// The tenant.
    pub tenant: Tenant,
}

/// Says that an erasure is meant.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Confirm {
    /// The tenant's slug.
    #[serde(default)]
    pub confirm: String,
}

/// What was erased.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Erased {
    /// Always true.
    pub ok: bool,
    /// The tenant that was.
    pub id: TenantId,
}

/// Reads an id from a path. One that is no id of the wanted kind is of nothing that exists.
pub(super) fn id<K: Kind>(text: &str) -> Result<Id<K>> {
    text.parse().map_err(|_| Error::NotFound(K::NAME))
}

async fn create(
    State(app): State<App>,
    OperatorCaller(permit): OperatorCaller,
    Json(new): Json<NewTenant>,
) -> Result<(StatusCode, Json<TenantReply>)> {
    let tenant = tenant::create(&app, &permit, new).await?;
    Ok((StatusCode::CREATED, Json(TenantReply { tenant })))
}

async fn list(
    State(app): State<App>,
    OperatorCaller(permit): OperatorCaller,
    Query(request): Query<PageRequest>,
) -> Result<Json<Page<Tenant>>> {
    tenant::list(&app, &permit, &request).await.map(Json)
}

async fn find(
    State(app): State<App>,
    OperatorCaller(permit): OperatorCaller,
    Path(tenant): Path<String>,
) -> Result<Json<TenantReply>> {
    let tenant = tenant::get(&app, &permit, id(&tenant)?).await?;
    Ok(Json(TenantReply { tenant }))
}

async fn change(
    State(app): State<App>,
    OperatorCaller(permit): OperatorCaller,
    Path(tenant): Path<String>,
    Json(change): Json<TenantChange>,
) -> Result<Json<TenantReply>> {
    let tenant = tenant::change(&app, &permit, id(&tenant)?, change).await?;
    Ok(Json(TenantReply { tenant }))
}

async fn erase(
    State(app): State<App>,
    OperatorCaller(permit): OperatorCaller,
    Path(tenant): Path<String>,
    Query(sure): Query<Confirm>,
) -> Result<Json<Erased>> {
    let id = id(&tenant)?;
    tenant::delete(&app, &permit, id, &sure.confirm).await?;
    Ok(Json(Erased { ok: true, id }))
}

async fn revoke_all(
    State(app): State<App>,
    OperatorCaller(permit): OperatorCaller,
    Path(tenant): Path<String>,
) -> Result<Json<TenantReply>> {
    let tenant = tenant::revoke_all(&app, &permit, id(&tenant)?).await?;
    Ok(Json(TenantReply { tenant }))
}

async fn rotate(State(app): State<App>, OperatorCaller(permit): OperatorCaller) -> Result<Json<Rotated>> {
    auth::rotate(&app, &permit).await.map(Json)
}

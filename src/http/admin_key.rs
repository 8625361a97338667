//! The operator's API: a tenant's API keys and personal tokens.

use axum::extract::State;
use axum::http::{Method, StatusCode};
use axum::routing::{delete, get, post};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::admin::id;
use super::caller::OperatorCaller;
use super::extract::{Json, Path, Query};
use super::route::{Needs, Route};
use crate::app::App;
use crate::auth;
use crate::auth::key::{ApiKey, NewKey, NewToken, PersonalToken};
use crate::error::Result;
use crate::page::{Page, PageRequest};

/// The routes of this file.
pub const ROUTES: &[Route] = &[
    Route::new(Method::POST, "/v1/admin/tenants/{id}/keys", Needs::Operator, "Make an API key", || {
        post(create_key)
    })
    .takes::<NewKey>()
    .gives::<CreatedKey>()
    .with_status(201),
    Route::new(Method::GET, "/v1/admin/tenants/{id}/keys", Needs::Operator, "List API keys", || {
        get(list_keys)
    })
    .asks::<PageRequest>()
    .gives::<Page<ApiKey>>(),
    Route::new(
        Method::DELETE,
        "/v1/admin/tenants/{id}/keys/{key_id}",
        Needs::Operator,
        "Revoke an API key and every capability made with it",
        || delete(revoke_key),
    )
    .gives::<KeyReply>(),
    Route::new(
        Method::POST,
        "/v1/admin/tenants/{id}/tokens",
        Needs::Operator,
        "Make a personal token",
        || post(create_token),
    )
    .takes::<NewToken>()
    .gives::<CreatedToken>()
    .with_status(201),
    Route::new(Method::GET, "/v1/admin/tenants/{id}/tokens", Needs::Operator, "List personal tokens", || {
        get(list_tokens)
    })
    .asks::<PageRequest>()
    .gives::<Page<PersonalToken>>(),
    Route::new(
        Method::DELETE,
        "/v1/admin/tenants/{id}/tokens/{token_id}",
        Needs::Operator,
        "Revoke a personal token",
        || delete(revoke_token),
    )
    .gives::<TokenReply>(),
];

/// A new API key. The secret is not shown again.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct CreatedKey {
    /// The key.
    pub key: ApiKey,
    /// What its holder sends as bearer: `mt_key_…`.
    pub secret: String,
}

/// An API key.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct KeyReply {
    /// The key.
    pub key: ApiKey,
}

/// A new personal token. The secret is not shown again.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct CreatedToken {
    /// The token.
    pub token: PersonalToken,
    /// What its holder sends as bearer: `mt_pat_…`.
    pub secret: String,
}

/// A personal token.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct TokenReply {
    /// The token.
    pub token: PersonalToken,
}

async fn create_key(
    State(app): State<App>,
    OperatorCaller(permit): OperatorCaller,
    Path(tenant): Path<String>,
    Json(new): Json<NewKey>,
) -> Result<(StatusCode, Json<CreatedKey>)> {
    let (key, bearer) = auth::create_key(&app, &permit, id(&tenant)?, new).await?;
    Ok((StatusCode::CREATED, Json(CreatedKey { key, secret: bearer.expose().to_owned() })))
}

async fn list_keys(
    State(app): State<App>,
    OperatorCaller(permit): OperatorCaller,
    Path(tenant): Path<String>,
    Query(request): Query<PageRequest>,
) -> Result<Json<Page<ApiKey>>> {
    auth::list_keys(&app, &permit, id(&tenant)?, &request).await.map(Json)
}

async fn revoke_key(
    State(app): State<App>,
    OperatorCaller(permit): OperatorCaller,
    Path((tenant, key)): Path<(String, String)>,
) -> Result<Json<KeyReply>> {
    let key = auth::revoke_key(&app, &permit, id(&tenant)?, id(&key)?).await?;
    Ok(Json(KeyReply { key }))
}

async fn create_token(
    State(app): State<App>,
    OperatorCaller(permit): OperatorCaller,
    Path(tenant): Path<String>,
    Json(new): Json<NewToken>,
) -> Result<(StatusCode, Json<CreatedToken>)> {
    let (token, bearer) = auth::create_token(&app, &permit, id(&tenant)?, new).await?;
    Ok((StatusCode::CREATED, Json(CreatedToken { token, secret: bearer.expose().to_owned() })))
}

async fn list_tokens(
    State(app): State<App>,
    OperatorCaller(permit): OperatorCaller,
    Path(tenant): Path<String>,
    Query(request): Query<PageRequest>,
) -> Result<Json<Page<PersonalToken>>> {
    auth::list_tokens(&app, &permit, id(&tenant)?, &request).await.map(Json)
}

async fn revoke_token(
    State(app): State<App>,
    OperatorCaller(permit): OperatorCaller,
    Path((tenant, token)): Path<(String, String)>,
) -> Result<Json<TokenReply>> {
    let token = auth::revoke_token(&app, &permit, id(&tenant)?, id(&token)?).await?;
    Ok(Json(TokenReply { token }))
}

//! What an operator does with keys and tokens: make, list, revoke. The secret is shown once.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::OperatorPermit;
use super::key::{ApiKey, NewKey, NewOperatorKey, NewToken, OperatorKey, PersonalToken};
use super::secret::{Bearer, Sort};
use super::store::{self, key as keys, operator as operators, personal as tokens};
use crate::app::App;
use crate::db::OperatorTx;
use crate::error::{Error, Result};
use crate::id::{KeyId, TenantId};
use crate::page::{CursorScope, Page, PageRequest};
use crate::tenant;

/// Makes an API key. The bearer is what its holder needs; it cannot be had again.
pub async fn create_key(
    app: &App,
    permit: &OperatorPermit,
    tenant: TenantId,
    new: NewKey,
) -> Result<(ApiKey, Bearer)> {
    let now = app.clock.now();
    new.check(now)?;
    let bearer = Bearer::new(Sort::ApiKey)?;
    let hash = app.auth.hasher.hash(&bearer).await?;
    let mut tx = app.db.begin_operator(permit).await?;
    tenant::require(&mut tx, tenant).await?;
    let key = keys::insert(&mut tx, tenant, &new, bearer.lookup(), &hash, now).await?;
    tx.audit(permit, Some(tenant), "key.create", &key.id.to_string(), now).await?;
    tx.commit().await?;
    app.auth.remember(&bearer, tenant, &key);
    Ok((key, bearer))
}

/// A tenant's API keys, oldest first, the revoked ones too.
pub async fn list_keys(
    app: &App,
    permit: &OperatorPermit,
    tenant: TenantId,
    request: &PageRequest,
) -> Result<Page<ApiKey>> {
    let (scope, after) = place(app, tenant, "keys", request)?;
    let mut tx = app.db.begin_operator(permit).await?;
    tenant::require(&mut tx, tenant).await?;
    let rows = keys::list(&mut tx, tenant, after, request.rows()).await?;
    tx.commit().await?;
    request.page(rows, |last| scope.cursor(&app.seal, app.clock.now(), &last.id.uuid()))
}

/// Revokes an API key and every capability made with it.
pub async fn revoke_key(app: &App, permit: &OperatorPermit, tenant: TenantId, key: KeyId) -> Result<ApiKey> {
    let now = app.clock.now();
    let mut tx = app.db.begin_operator(permit).await?;
    tenant::require(&mut tx, tenant).await?;
    let key = keys::revoke(&mut tx, tenant, key, now).await?.ok_or(Error::NotFound("key"))?;
    tx.audit(permit, Some(tenant), "key.revoke", &key.id.to_string(), now).await?;
    store::notify(&mut tx).await?;
    tx.commit().await?;
    app.auth.reload(app).await;
    Ok(key)
}

/// Makes a personal token. The bearer is what its holder needs; it cannot be had again.
pub async fn create_token(
    app: &App,
    permit: &OperatorPermit,
    tenant: TenantId,
    new: NewToken,
) -> Result<(PersonalToken, Bearer)> {
    let now = app.clock.now();
    new.check(now)?;
    let bearer = Bearer::new(Sort::PersonalToken)?;
    let mut tx = app.db.begin_operator(permit).await?;
    tenant::require(&mut tx, tenant).await?;
    let token = tokens::insert(&mut tx, tenant, &new, bearer.lookup(), &bearer.digest(), now).await?;
    tx.audit(permit, Some(tenant), "token.create", &token.id.to_string(), now).await?;
    tx.commit().await?;
    Ok((token, bearer))
}

/// A tenant's personal tokens, oldest first, the revoked ones too.
pub async fn list_tokens(
    app: &App,
    permit: &OperatorPermit,
    tenant: TenantId,
    request: &PageRequest,
) -> Result<Page<PersonalToken>> {
    let (scope, after) = place(app, tenant, "tokens", request)?;
    let mut tx = app.db.begin_operator(permit).await?;
    tenant::require(&mut tx, tenant).await?;
    let rows = tokens::list(&mut tx, tenant, after, request.rows()).await?;
    tx.commit().await?;
    request.page(rows, |last| scope.cursor(&app.seal, app.clock.now(), &last.id.uuid()))
}

/// Revokes a personal token and every capability attenuated from it.
pub async fn revoke_token(
    app: &App,
    permit: &OperatorPermit,
    tenant: TenantId,
    token: KeyId,
) -> Result<PersonalToken> {
    let now = app.clock.now();
    let mut tx = app.db.begin_operator(permit).await?;
    tenant::require(&mut tx, tenant).await?;
    let token = tokens::revoke(&mut tx, tenant, token, now).await?.ok_or(Error::NotFound("key"))?;
    tx.audit(permit, Some(tenant), "token.revoke", &token.id.to_string(), now).await?;
    store::notify(&mut tx).await?;
    tx.commit().await?;
    app.auth.reload(app).await;
    Ok(token)
}

/// Revokes every personal token of a tenant, as part of a transaction that ends all its tokens.
pub async fn revoke_all_tokens(tx: &mut OperatorTx, tenant: TenantId, now: DateTime<Utc>) -> Result<()> {
    tokens::revoke_all(tx, tenant, now).await
}

/// Makes an operator key. The bearer is what its holder needs; it cannot be had again.
pub async fn create_operator_key(
    app: &App,
    permit: &OperatorPermit,
    new: NewOperatorKey,
) -> Result<(OperatorKey, Bearer)> {
    let now = app.clock.now();
    new.check()?;
    let bearer = Bearer::new(Sort::OperatorKey)?;
    let hash = app.auth.hasher.hash(&bearer).await?;
    let mut tx = app.db.begin_operator(permit).await?;
    let key = operators::insert(&mut tx, &new.name, bearer.lookup(), &hash, now).await?;
    tx.audit(permit, None, "operator_key.create", &key.id.to_string(), now).await?;
    tx.commit().await?;
    Ok((key, bearer))
}

/// Every operator key, oldest first, the revoked ones too.
pub async fn list_operator_keys(app: &App, permit: &OperatorPermit) -> Result<Vec<OperatorKey>> {
    let mut tx = app.db.begin_operator(permit).await?;
    let keys = operators::list(&mut tx).await?;
    tx.commit().await?;
    Ok(keys)
}

/// Revokes an operator key at once: it is looked up for every request.
pub async fn revoke_operator_key(app: &App, permit: &OperatorPermit, key: KeyId) -> Result<OperatorKey> {
    let now = app.clock.now();
    let mut tx = app.db.begin_operator(permit).await?;
    let key = operators::revoke(&mut tx, key, now).await?.ok_or(Error::NotFound("key"))?;
    tx.audit(permit, None, "operator_key.revoke", &key.id.to_string(), now).await?;
    tx.commit().await?;
    Ok(key)
}

fn place(app: &App, tenant: TenantId, list: &str, request: &PageRequest) -> Result<(CursorScope, Uuid)> {
    let scope = CursorScope::new(tenant, list, &())?;
    let after = match &request.cursor {
        Some(cursor) => scope.place(&app.seal, app.clock.now(), cursor)?,
        None => Uuid::nil(),
    };
    Ok((scope, after))
}

//! Headers in, callers out (R-13a, R-33).
//!
//! | `x-akasha-capability` | `Authorization: Bearer` | the authority |
//! |---|---|---|
//! | a capability | nothing, or the deployment's token | the capability |
//! | a capability | an API key or personal token of the same tenant | the capability |
//! | nothing | a capability or a personal token | the bearer |
//! | nothing | an API key | none but on `/v1/auth/token` |
//! | anything | an operator key | none but on `/v1/admin` |

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use subtle::ConstantTimeEq;

use super::extract::header_once;
use super::limit;
use super::once::IDEMPOTENCY_KEY;
use crate::app::App;
use crate::auth::key::KnownKey;
use crate::auth::secret::{Bearer, Sort};
use crate::auth::{Caller, OperatorPermit};
use crate::error::{Error, Result};

/// The header that carries a capability.
const CAPABILITY: &str = "x-akasha-capability";

const NONE: &str = "a token is needed: a capability in the x-akasha-capability header, or a capability or personal token as \
    Authorization: Bearer";
const NOT_OURS: &str = "the bearer is not one of ours";
const ELSEWHERE: &str = "an operator key works on /v1/admin only";

/// What the `Authorization` header holds.
enum Authorization<'h> {
    Secret(Bearer),
    Deployment,
    /// Anything else: a capability, or nothing of ours.
    Token(&'h str),
}

impl FromRequestParts<App> for Caller {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        let authorization = authorization(app, &parts.headers)?;
        let caller = match header_once(&parts.headers, CAPABILITY)? {
            Some(capability) => with_capability(app, capability, authorization).await?,
            None => with_bearer(app, authorization).await?,
        };
        limit::admit(parts, app, caller.claims().tenant)?;
        Ok(caller)
    }
}

async fn with_capability(
    app: &App,
    capability: &str,
    authorization: Option<Authorization<'_>>,
) -> Result<Caller> {
    let caller = app.auth.capability(app, capability.trim()).await?;
    let tenant = match authorization {
        None if app.config.http.access_token.is_some() => return Err(Error::Unauthorized(NOT_OURS)),
        None | Some(Authorization::Deployment) => return Ok(caller),
        Some(Authorization::Token(token)) if token == capability => return Ok(caller),
        Some(Authorization::Token(other)) => {
            app.auth.capability(app, other).await.map_err(|_| Error::Unauthorized(NOT_OURS))?;
            return Err(Error::invalid(CAPABILITY, "is another capability than the bearer"));
        }
        Some(Authorization::Secret(bearer)) => match bearer.sort {
            Sort::ApiKey => app.auth.tenant_of_key(app, &bearer).await?,
            Sort::PersonalToken => app.auth.personal_token(app, &bearer).await?.claims().tenant,
            Sort::OperatorKey => return refuse_operator(app, &bearer).await,
        },
    };
    if tenant == caller.claims().tenant { Ok(caller) } else { Err(Error::DatabaseMismatch) }
}

async fn with_bearer(app: &App, authorization: Option<Authorization<'_>>) -> Result<Caller> {
    match authorization {
        None | Some(Authorization::Deployment) => Err(Error::Unauthorized(NONE)),
        Some(Authorization::Token(token)) => app.auth.capability(app, token).await,
        Some(Authorization::Secret(bearer)) => match bearer.sort {
            Sort::PersonalToken => app.auth.personal_token(app, &bearer).await,
            Sort::ApiKey => Err(Error::Unauthorized(
                "an API key is no authority by itself: exchange it for a capability at /v1/auth/token",
            )),
            Sort::OperatorKey => refuse_operator(app, &bearer).await,
        },
    }
}

/// A good operator key is 403, a bad one 401.
async fn refuse_operator<T>(app: &App, bearer: &Bearer) -> Result<T> {
    app.auth.operator(app, bearer).await?;
    Err(Error::Forbidden(ELSEWHERE.into()))
}

/// An operator, by the key in the `Authorization` header.
pub struct OperatorCaller(pub OperatorPermit);

impl FromRequestParts<App> for OperatorCaller {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        let wrong_sort = || Error::Forbidden("this needs an operator key".into());
        match authorization(app, &parts.headers)? {
            Some(Authorization::Secret(bearer)) => match bearer.sort {
                Sort::OperatorKey => {
                    let permit = app.auth.operator(app, &bearer).await?;
                    refuse_key(parts).map(|()| Self(permit))
                }
                Sort::ApiKey => app.auth.tenant_of_key(app, &bearer).await.and(Err(wrong_sort())),
                Sort::PersonalToken => app.auth.personal_token(app, &bearer).await.and(Err(wrong_sort())),
            },
            Some(Authorization::Token(token)) => app.auth.capability(app, token).await.and(Err(wrong_sort())),
            None | Some(Authorization::Deployment) => match header_once(&parts.headers, CAPABILITY)? {
                Some(token) => app.auth.capability(app, token.trim()).await.and(Err(wrong_sort())),
                None => Err(Error::Unauthorized("an operator key is needed, as bearer")),
            },
        }
    }
}

/// Refuses an idempotency key where it would have no effect, lest somebody rely on it.
fn refuse_key(parts: &Parts) -> Result<()> {
    if parts.method == Method::POST && parts.headers.contains_key(IDEMPOTENCY_KEY) {
        return Err(Error::invalid(
            IDEMPOTENCY_KEY,
            "is not taken here: this route has its effect every time",
        ));
    }
    Ok(())
}

/// The holder of an API key, which is to be exchanged.
pub struct ApiKeyBearer(pub KnownKey);

impl FromRequestParts<App> for ApiKeyBearer {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        match authorization(app, &parts.headers)? {
            Some(Authorization::Secret(bearer)) if bearer.sort == Sort::ApiKey => {
                let key = app.auth.api_key(app, &bearer).await?;
                limit::admit(parts, app, key.tenant)?;
                refuse_key(parts).map(|()| Self(key))
            }
            Some(Authorization::Secret(bearer)) if bearer.sort == Sort::OperatorKey => {
                refuse_operator(app, &bearer).await
            }
            _ => Err(Error::Unauthorized("an API key is needed, as bearer")),
        }
    }
}

fn authorization<'h>(app: &App, headers: &'h HeaderMap) -> Result<Option<Authorization<'h>>> {
    let Some(value) = header_once(headers, "authorization")? else { return Ok(None) };
    let (scheme, token) = value.trim().split_once(' ').ok_or(Error::Unauthorized(NOT_OURS))?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(Error::Unauthorized("the Authorization header must hold a bearer"));
    }
    let token = token.trim();
    let access_token = app.config.http.access_token.as_ref().map(|token| token.expose().as_bytes());
    if access_token.is_some_and(|wanted| token.as_bytes().ct_eq(wanted).into()) {
        return Ok(Some(Authorization::Deployment));
    }
    Ok(Some(Bearer::parse(token).map_or(Authorization::Token(token), Authorization::Secret)))
}

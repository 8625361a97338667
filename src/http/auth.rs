//! Capabilities over HTTP.

use axum::extract::State;
use axum::http::Method;
use axum::routing::{get, post};

use super::caller::ApiKeyBearer;
use super::extract::Json;
use super::once::Once;
use super::route::{Needs, Route};
use crate::app::App;
use crate::auth::{self, Caller, Capability, PublicKeys, Revoke, Revoked, TokenRequest, WhoAmI};
use crate::error::Result;
use crate::idempotency::Answer;

/// The routes of this file.
pub const ROUTES: &[Route] = &[
    Route::new(Method::POST, "/v1/auth/token", Needs::ApiKey, "Exchange an API key for a capability", || {
        post(exchange)
    })
    .takes::<TokenRequest>()
    .gives::<Capability>(),
    Route::new(
        Method::POST,
        "/v1/auth/attenuate",
        Needs::Capability,
        "Make a narrower capability from the caller's",
        || post(attenuate),
    )
    .takes::<TokenRequest>()
    .gives::<Capability>()
    .once(),
    Route::new(
        Method::POST,
        "/v1/auth/revoke",
        Needs::Capability,
        "End a capability and all made from it",
        || post(revoke),
    )
    .takes::<Revoke>()
    .gives::<Revoked>(),
    Route::new(Method::GET, "/v1/auth/whoami", Needs::Capability, "What the caller's token says", || {
        get(whoami)
    })
    .gives::<WhoAmI>(),
    Route::new(
        Method::GET,
        "/.well-known/jwks.json",
        Needs::Nothing,
        "The public keys that verify capabilities",
        || get(jwks),
    )
    .gives::<PublicKeys>(),
];

async fn exchange(
    State(app): State<App>,
    ApiKeyBearer(key): ApiKeyBearer,
    Json(request): Json<TokenRequest>,
) -> Result<Json<Capability>> {
    auth::exchange(&app, &key, &request).map(Json)
}

async fn attenuate(
    State(app): State<App>,
    caller: Caller,
    once: Once<TokenRequest>,
) -> Result<Answer<Capability>> {
    auth::attenuate(&app, &caller, &once.body, once.key).await
}

async fn revoke(
    State(app): State<App>,
    caller: Caller,
    Json(request): Json<Revoke>,
) -> Result<Json<Revoked>> {
    auth::revoke(&app, &caller, &request).await.map(Json)
}

async fn whoami(State(app): State<App>, caller: Caller) -> Json<WhoAmI> {
    Json(auth::whoami(&app, &caller))
}

async fn jwks(State(app): State<App>) -> Json<PublicKeys> {
    Json(auth::public_keys(&app))
}

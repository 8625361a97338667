//! Capabilities: bought with a key, attenuated, looked at, revoked.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use chrono::{DateTime, TimeDelta, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

use super::grant::{self, Ceiling, TokenRequest};
use super::key::KnownKey;
use super::store::{self, personal as tokens, revocation};
use super::{Actor, Caller, Claims, Namespace, OperatorPermit, Rights};
use crate::app::App;
use crate::error::{Error, Result};
use crate::id::{CapabilityId, TenantId};
use crate::idempotency::{self, Answer, Key};
use crate::memory::{Scope, Sensitivity};
use crate::time::UnixTime;

/// A capability and what it grants.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Capability {
    /// The token, for the `x-akasha-capability` header.
    pub capability: String,
    /// When it ends.
    pub expires_at: UnixTime,
    /// The namespace it reaches.
    pub namespace: Namespace,
    /// What it may do.
    pub capabilities: Rights,
    /// Whose memory it may touch; all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<Scope>>,
    /// Whether it may change the tenant's configuration.
    pub control: bool,
}

/// Which capability to revoke.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Revoke {
    /// Its id; the caller's own when left out. Another one needs control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jti: Option<CapabilityId>,
}

/// What was revoked.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Revoked {
    /// Always true.
    pub ok: bool,
    /// The capability that ended, and all that were attenuated from it; absent when it was a personal token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jti: Option<CapabilityId>,
}

/// What the caller's token says.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct WhoAmI {
    /// The tenant.
    pub tenant: TenantId,
    /// The namespace.
    pub namespace: Namespace,
    /// What may be done.
    pub capabilities: Rights,
    /// Whose memory may be touched; all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<Scope>>,
    /// The records that exist for this token.
    pub sensitivity: BTreeSet<Sensitivity>,
    /// Whether the tenant's configuration may be changed.
    pub control: bool,
    /// In whose name is written.
    pub actor: Actor,
    /// The capability's id; absent for a personal token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jti: Option<CapabilityId>,
    /// When the token ends; absent when it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<UnixTime>,
    /// The model that vectors must be of; absent when this deployment has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedding: Option<EmbeddingModel>,
}

/// A space that vectors are in.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct EmbeddingModel {
    /// The model's name.
    pub model: String,
    /// How many numbers a vector has.
    pub dimensions: usize,
}

/// How long a capability may live: an hour, 30 days in a local stack.
pub fn max_ttl(app: &App) -> TimeDelta {
    if app.config.local { TimeDelta::days(30) } else { TimeDelta::hours(1) }
}

/// Makes a capability: what is asked for, cut to what the key may give.
pub fn exchange(app: &App, known: &KnownKey, request: &TokenRequest) -> Result<Capability> {
    request.check(max_ttl(app))?;
    let now = app.clock.now();
    let ceiling = Ceiling {
        namespaces: known.key.namespaces.clone(),
        rights: known.key.capabilities.clone(),
        scopes: None,
        sensitivity: known.key.sensitivity.clone(),
        control: known.key.control,
        ends: known.key.expires_at.map(|time| time.0),
    };
    let grant = grant::cut(&ceiling, request, now)?;
    let claims = Claims {
        tenant: known.tenant,
        namespace: grant.namespace,
        key: known.key.id,
        jti: Some(CapabilityId::new()),
        rights: grant.rights,
        scopes: grant.scopes,
        sensitivity: grant.sensitivity,
        control: grant.control,
        actor: known.key.actor.clone(),
        expires_at: Some(grant.expires_at),
        ancestors: Vec::new(),
        epochs: known.epochs,
    };
    sign(app, claims, grant.expires_at, now)
}

/// Makes a child of the caller's token, which is never wider.
pub async fn attenuate(
    app: &App,
    caller: &Caller,
    request: &TokenRequest,
    key: Option<Key>,
) -> Result<Answer<Capability>> {
    let Some(key) = key else { return make_child(app, caller, request).map(Answer::ok) };
    // A token of the same holder that may do less must not be given the child of one that may do more.
    let key = key.held_by(&caller.claims().jti)?;
    let permit = &caller.permit_for_itself();
    let kept = idempotency::run(app, permit, Some(key), |claim| async move {
        let child = make_child(app, caller, request)?;
        let answer = Answer::ok(SealedChild::close(app, &child)?);
        let mut tx = app.db.begin(permit).await?;
        claim.settle(&mut tx, permit, &answer).await?;
        tx.commit().await?;
        Ok(answer)
    })
    .await?;
    Ok(Answer { body: kept.body.open(app)?, status: kept.status, replayed: kept.replayed })
}

/// A child as it is kept for repeated requests: whoever reads the database can do nothing with it.
#[derive(Debug, Serialize, Deserialize)]
struct SealedChild(String);

impl SealedChild {
    const PURPOSE: &[u8] = b"an attenuated capability";

    fn close(app: &App, child: &Capability) -> Result<Self> {
        let child = serde_json::to_vec(child).map_err(Error::internal)?;
        Ok(Self(BASE64_URL_SAFE_NO_PAD.encode(app.seal.close(&child, Self::PURPOSE)?)))
    }

    fn open(&self, app: &App) -> Result<Capability> {
        let sealed = BASE64_URL_SAFE_NO_PAD.decode(&self.0).map_err(Error::internal)?;
        let child = app.seal.open(&sealed, Self::PURPOSE);
        let child =
            child.ok_or_else(|| Error::internal("a kept capability was sealed with another secret"))?;
        serde_json::from_slice(&child).map_err(Error::internal)
    }
}

fn make_child(app: &App, caller: &Caller, request: &TokenRequest) -> Result<Capability> {
    request.check(max_ttl(app))?;
    caller.require_recent()?;
    let now = app.clock.now();
    let claims = grant::attenuate(caller.claims(), request, CapabilityId::new(), now)?;
    let expires_at = claims.expires_at.unwrap_or(now);
    sign(app, claims, expires_at, now)
}

fn sign(app: &App, claims: Claims, expires_at: DateTime<Utc>, now: DateTime<Utc>) -> Result<Capability> {
    Ok(Capability {
        capability: app.auth.signing.mint(&claims, now)?,
        expires_at: expires_at.into(),
        namespace: claims.namespace,
        capabilities: claims.rights,
        scopes: claims.scopes,
        control: claims.control,
    })
}

/// Ends a capability and all that were attenuated from it: the caller's own, or with control any of the tenant.
pub async fn revoke(app: &App, caller: &Caller, request: &Revoke) -> Result<Revoked> {
    let claims = caller.claims();
    let now = app.clock.now();
    match request.jti.or(claims.jti) {
        Some(jti) => {
            if Some(jti) != claims.jti {
                caller.require_control()?;
            }
            let own_end = claims.expires_at.filter(|_| Some(jti) == claims.jti);
            let until = own_end.unwrap_or(now + max_ttl(app)) + super::token::LEEWAY;
            let permit = caller.permit_for_itself();
            let mut tx = app.db.begin(&permit).await?;
            revocation::insert(&mut tx, jti, now, until).await?;
            tx.audit(&permit, "capability.revoke", &jti.to_string(), now).await?;
            tx.commit().await?;
        }
        None => revoke_personal_token(app, claims, now).await?,
    }
    app.auth.reload(app).await;
    Ok(Revoked { ok: true, jti: request.jti.or(claims.jti) })
}

async fn revoke_personal_token(app: &App, claims: &Claims, now: DateTime<Utc>) -> Result<()> {
    let permit = OperatorPermit::operator(claims.key);
    let mut tx = app.db.begin_operator(&permit).await?;
    tokens::revoke(&mut tx, claims.tenant, claims.key, now).await?.ok_or(Error::NotFound("key"))?;
    tx.audit(&permit, Some(claims.tenant), "token.revoke", &claims.key.to_string(), now).await?;
    store::notify(&mut tx).await?;
    tx.commit().await
}

/// What the caller's token says.
pub fn whoami(app: &App, caller: &Caller) -> WhoAmI {
    let claims = caller.claims();
    WhoAmI {
        tenant: claims.tenant,
        namespace: claims.namespace.clone(),
        capabilities: claims.rights.clone(),
        scopes: claims.scopes.clone(),
        sensitivity: claims.sensitivity.clone(),
        control: claims.control,
        actor: claims.actor.clone(),
        jti: claims.jti,
        expires_at: claims.expires_at.map(Into::into),
        embedding: app
            .embedder
            .model()
            .map(|model| EmbeddingModel { model: model.name.clone(), dimensions: model.dimensions }),
    }
}

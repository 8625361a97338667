//! Capabilities as signed tokens: JWT, `EdDSA` only, of a type of their own.
//!
//! Whatever is wrong with a token, the answer is the same. The key is found by `kid` among those of this deployment,
//! in memory; what else a header may say (`jku`, `jwk`, `x5u`) is not looked at.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, LazyLock};

use chrono::{DateTime, TimeDelta, Utc};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};

use super::{Actor, Claims, Epochs, Namespace, Rights};
use crate::error::{Error, Result};
use crate::id::{CapabilityId, KeyId, TenantId};
use crate::memory::{Scope, Sensitivity};

/// The longest token, in bytes.
pub const MAX_BYTES: usize = 4_096;

/// How far the clocks of two servers may be apart.
pub const LEEWAY: TimeDelta = TimeDelta::seconds(5);

/// What every refused token is answered, so that the answer does not tell why.
pub const REFUSED: &str = "the capability is not valid";

const ISSUER: &str = "memtide";
const AUDIENCE: &str = "memtide-api";
const TYPE: &str = "akc+jwt";

/// What a token carries.
#[derive(Debug, Serialize, Deserialize)]
struct Payload {
    iss: String,
    aud: String,
    sub: KeyId,
    tid: TenantId,
    ns: Namespace,
    cap: Rights,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scp: Option<Vec<Scope>>,
    sen: BTreeSet<Sensitivity>,
    ctl: bool,
    act: Actor,
    iat: i64,
    nbf: i64,
    exp: i64,
    jti: CapabilityId,
    ep: (i64, i64),
    anc: Vec<CapabilityId>,
}

/// A key that signs, and its name.
pub struct Signer {
    /// The `kid`.
    pub kid: String,
    /// The private part.
    pub key: EncodingKey,
}

/// The keys that verify, by name.
pub type Verifiers = HashMap<String, DecodingKey>;

/// A verified token: what it says, and from when.
#[derive(Debug)]
pub struct Verified {
    /// What it says.
    pub claims: Arc<Claims>,
    /// From when it may be used.
    pub not_before: DateTime<Utc>,
}

impl Verified {
    /// Refuses the token outside of its time.
    pub fn check_time(&self, now: DateTime<Utc>) -> Result<()> {
        let has_ended = self.claims.expires_at.is_none_or(|end| end + LEEWAY < now);
        if has_ended || self.not_before > now + LEEWAY {
            return Err(Error::Unauthorized(REFUSED));
        }
        Ok(())
    }
}

/// Signs claims, which must have a `jti` and an end.
pub fn mint(signer: &Signer, claims: &Claims, now: DateTime<Utc>) -> Result<String> {
    let (Some(jti), Some(expires_at)) = (claims.jti, claims.expires_at) else {
        return Err(Error::internal("a capability needs an id and an end"));
    };
    let payload = Payload {
        iss: ISSUER.to_owned(),
        aud: AUDIENCE.to_owned(),
        sub: claims.key,
        tid: claims.tenant,
        ns: claims.namespace.clone(),
        cap: claims.rights.clone(),
        scp: claims.scopes.clone(),
        sen: claims.sensitivity.clone(),
        ctl: claims.control,
        act: claims.actor.clone(),
        iat: now.timestamp(),
        nbf: now.timestamp(),
        exp: expires_at.timestamp(),
        jti,
        ep: (claims.epochs.tenant, claims.epochs.key),
        anc: claims.ancestors.clone(),
    };
    let mut header = Header::new(Algorithm::EdDSA);
    header.typ = Some(TYPE.to_owned());
    header.kid = Some(signer.kid.clone());
    let token = jsonwebtoken::encode(&header, &payload, &signer.key).map_err(Error::internal)?;
    if token.len() > MAX_BYTES {
        let rule = format!("make the capability longer than {MAX_BYTES} bytes: name fewer or shorter scopes");
        return Err(Error::over_limit("scopes", rule, MAX_BYTES as u64, token.len() as u64));
    }
    Ok(token)
}

/// The name of the key that a token says it was signed with, if the token has our form.
pub fn kid(token: &str) -> Result<String> {
    let refused = || Error::Unauthorized(REFUSED);
    if token.len() > MAX_BYTES {
        return Err(refused());
    }
    let header = jsonwebtoken::decode_header(token).map_err(|_| refused())?;
    if header.alg != Algorithm::EdDSA || header.typ.as_deref() != Some(TYPE) {
        return Err(refused());
    }
    header.kid.ok_or_else(refused)
}

/// Verifies all of a token but its time and whether it was revoked. One that lives longer than this deployment lets any
/// live is refused: what is known of revocations goes back no further.
pub fn verify(verifiers: &Verifiers, token: &str, longest: TimeDelta) -> Result<Verified> {
    let refused = || Error::Unauthorized(REFUSED);
    let key = verifiers.get(&kid(token)?).ok_or_else(refused)?;
    let payload = jsonwebtoken::decode::<Payload>(token, key, &VALIDATION).map_err(|_| refused())?.claims;
    if payload.exp.saturating_sub(payload.iat.min(payload.nbf)) > longest.num_seconds() {
        return Err(refused());
    }
    let time = |seconds| DateTime::from_timestamp(seconds, 0).ok_or_else(refused);
    let claims = Claims {
        tenant: payload.tid,
        namespace: payload.ns,
        key: payload.sub,
        jti: Some(payload.jti),
        rights: payload.cap,
        scopes: payload.scp,
        sensitivity: payload.sen,
        control: payload.ctl,
        actor: payload.act,
        expires_at: Some(time(payload.exp)?),
        ancestors: payload.anc,
        epochs: Epochs { tenant: payload.ep.0, key: payload.ep.1 },
    };
    Ok(Verified { claims: Arc::new(claims), not_before: time(payload.nbf)? })
}

/// The library checks form, signature, issuer and audience. It reads the system's clock itself, so that the times are
/// checked by [`Verified::check_time`] instead.
static VALIDATION: LazyLock<Validation> = LazyLock::new(|| {
    let mut validation = Validation::new(Algorithm::EdDSA);
    validation.set_required_spec_claims(&["exp", "nbf", "iss", "aud", "sub"]);
    validation.set_issuer(&[ISSUER]);
    validation.set_audience(&[AUDIENCE]);
    validation.validate_exp = false;
    validation.validate_nbf = false;
    validation
});

#[cfg(test)]
mod tests;

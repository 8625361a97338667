//! The keys that sign capabilities.
//!
//! They lie in Postgres, the private part sealed with the deployment secret. A new key is published first and signs
//! only [`LEARNING_TIME`] later: by then every node has learned it, so that a rotation fails no request. The key it
//! replaces verifies until the last token it signed has ended.

use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use chrono::{DateTime, TimeDelta, Utc};
use jsonwebtoken::jwk::{AlgorithmParameters, Jwk};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::store::{self, signing as keys};
use super::token::{Signer, Verifiers};
use super::{Claims, OperatorPermit, max_ttl, token};
use crate::app::App;
use crate::db::OperatorTx;
use crate::error::{Error, Result};
use crate::time::UnixTime;

/// How long a new key is known before it signs. Nodes look every two seconds.
const LEARNING_TIME: TimeDelta = TimeDelta::seconds(10);

/// A name that no key has makes a node look for new keys, but not more often than this.
const RELOAD_PAUSE: Duration = Duration::from_secs(1);

/// What the sealed private parts are bound to.
const PURPOSE: &[u8] = b"signing key";

/// The signing keys a node knows.
#[derive(Default)]
pub struct Signing {
    known: RwLock<Arc<Known>>,
    looked_at: Mutex<Option<Instant>>,
}

#[derive(Default)]
struct Known {
    /// Newest first, each with the time from which it signs.
    signers: Vec<(DateTime<Utc>, Signer)>,
    verifiers: Verifiers,
    published: Vec<PublicKey>,
}

/// The public keys of this deployment, as a JWK set (RFC 7517).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PublicKeys {
    /// The keys, newest first.
    pub keys: Vec<PublicKey>,
}

/// A public Ed25519 key (RFC 8037).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PublicKey {
    /// Always `OKP`.
    pub kty: String,
    /// Always `Ed25519`.
    pub crv: String,
    /// The key, in base64url.
    pub x: String,
    /// Its name in the header of a token.
    pub kid: String,
    /// Always `EdDSA`.
    pub alg: String,
    /// Always `sig`.
    #[serde(rename = "use")]
    pub purpose: String,
}

/// A key that a rotation has made.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Rotated {
    /// The new key's name.
    pub kid: String,
    /// From when it signs.
    pub signs_from: UnixTime,
}

impl Signing {
    /// Signs claims with the newest key that every node knows.
    pub fn mint(&self, claims: &Claims, now: DateTime<Utc>) -> Result<String> {
        let known = self.known();
        // The very first key signs at once: there is nobody who knows another.
        let signer = known.signers.iter().find(|(from, _)| *from <= now).or(known.signers.last());
        let (_, signer) = signer.ok_or_else(|| Error::unavailable("the signing key"))?;
        token::mint(signer, claims, now)
    }

    /// Verifies a token but for its time. A name that is not known yet makes the node look for new keys.
    pub async fn verify(&self, app: &App, token: &str) -> Result<token::Verified> {
        let kid = token::kid(token)?;
        if !self.known().verifiers.contains_key(&kid) && is_kid(&kid) && self.may_look() {
            self.reload(app).await?;
        }
        token::verify(&self.known().verifiers, token, max_ttl(app))
    }

    /// Reads the keys, and makes the first one if there is none.
    pub async fn load(&self, app: &App) -> Result<()> {
        self.reload(app).await?;
        if self.known().signers.is_empty() {
            let mut tx = app.db.begin_operator(&OperatorPermit::service()).await?;
            keys::lock(&mut tx).await?;
            // Another server may have been first.
            if keys::list(&mut tx, app.clock.now()).await?.is_empty() {
                add_key(app, &mut tx, app.clock.now()).await?;
                store::notify(&mut tx).await?;
            }
            tx.commit().await?;
            self.reload(app).await?;
        }
        if self.known().signers.is_empty() {
            return Err(Error::invalid(
                "MEMTIDE_SECRET",
                "does not open the signing keys in the database: give the secret they were made with, or make a new \
                 key with `memtide admin signing-key rotate`",
            ));
        }
        Ok(())
    }

    /// Reads the keys again.
    pub async fn reload(&self, app: &App) -> Result<()> {
        let oldest = app.clock.now() - max_ttl(app) - token::LEEWAY;
        let mut tx = app.db.begin_operator(&OperatorPermit::service()).await?;
        let rows = keys::list(&mut tx, oldest).await?;
        tx.commit().await?;
        let known = Arc::new(Known::from_rows(app, rows));
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = known;
        Ok(())
    }

    fn known(&self) -> Arc<Known> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn may_look(&self) -> bool {
        let mut looked_at = self.looked_at.lock().unwrap_or_else(PoisonError::into_inner);
        let may = looked_at.is_none_or(|at| at.elapsed() >= RELOAD_PAUSE);
        if may {
            *looked_at = Some(Instant::now());
        }
        may
    }
}

impl Known {
    fn from_rows(app: &App, rows: Vec<keys::Row>) -> Self {
        let mut known = Self::default();
        for row in rows {
            known.verifiers.insert(row.kid.clone(), DecodingKey::from_ed_der(&row.public_key));
            known.published.push(PublicKey {
                kty: "OKP".to_owned(),
                crv: "Ed25519".to_owned(),
                x: BASE64_URL_SAFE_NO_PAD.encode(&row.public_key),
                kid: row.kid.clone(),
                alg: "EdDSA".to_owned(),
                purpose: "sig".to_owned(),
            });
            let Some(private) = app.seal.open(&row.private_key, PURPOSE) else {
                // Said at the start if it matters; here it would be said every two seconds.
                tracing::debug!(
                    kid = row.kid,
                    "a signing key was sealed with another secret and cannot sign"
                );
                continue;
            };
            let key = EncodingKey::from_ed_der(&private);
            known.signers.push((row.created_at + LEARNING_TIME, Signer { kid: row.kid, key }));
        }
        known
    }
}

/// The public keys, which others may verify capabilities with.
pub fn public_keys(app: &App) -> PublicKeys {
    PublicKeys { keys: app.auth.signing.known().published.clone() }
}

/// Makes a new key, which signs once every node knows it; the one before verifies on.
pub async fn rotate(app: &App, permit: &OperatorPermit) -> Result<Rotated> {
    let now = app.clock.now();
    let signs_from = now + LEARNING_TIME;
    let mut tx = app.db.begin_operator(permit).await?;
    keys::lock(&mut tx).await?;
    keys::retire(&mut tx, signs_from).await?;
    keys::purge(&mut tx, now - max_ttl(app) - LEARNING_TIME).await?;
    let kid = add_key(app, &mut tx, now).await?;
    tx.audit(permit, None, "signing_key.rotate", &kid, now).await?;
    store::notify(&mut tx).await?;
    tx.commit().await?;
    app.auth.signing.reload(app).await?;
    Ok(Rotated { kid, signs_from: signs_from.into() })
}

async fn add_key(app: &App, tx: &mut OperatorTx, now: DateTime<Utc>) -> Result<String> {
    let (private, public, kid) = new_key()?;
    keys::insert(tx, &kid, &public, &app.seal.close(&private, PURPOSE)?, now).await?;
    Ok(kid)
}

/// What stands before the 32 random bytes of a private Ed25519 key in PKCS #8 (RFC 8410).
const PKCS8_HEAD: [u8; 16] =
    [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];

/// A new key: the private part in PKCS #8, the public part, and a name made from it.
pub fn new_key() -> Result<(Vec<u8>, Vec<u8>, String)> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|error| Error::internal(error.to_string()))?;
    let private = [PKCS8_HEAD.as_slice(), &seed].concat();
    let jwk = Jwk::from_encoding_key(&EncodingKey::from_ed_der(&private), Algorithm::EdDSA)
        .map_err(Error::internal)?;
    let AlgorithmParameters::OctetKeyPair(pair) = jwk.algorithm else {
        return Err(Error::internal("an Ed25519 key is an octet key pair"));
    };
    let public = BASE64_URL_SAFE_NO_PAD.decode(&pair.x).map_err(Error::internal)?;
    let hash: [u8; 32] = Sha256::digest(&public).into();
    let kid = hash[..16].iter().fold(String::new(), |kid, byte| format!("{kid}{byte:02x}"));
    Ok((private, public, kid))
}

/// Whether a name could be one of ours; any other is not worth a look at the database.
fn is_kid(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

impl std::fmt::Debug for Signing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Signing")
    }
}

//! Authentication on one node: bearers in, callers out.
//!
//! A capability costs a signature check the first time and a look into memory after that. A key's secret goes through
//! argon2 at its first exchange; when it comes along with a capability (R-13a), its SHA-256 is then found among those
//! proven lately, so that no data route pays for argon2 but the first on a node. Whatever is remembered is compared to
//! the list of exceptions ([`super::state`]) every time, so that a revocation is never waited for.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use moka::sync::Cache;
use sha2::{Digest, Sha256};

use super::key::{ApiKey, KnownKey};
use super::secret::{Bearer, Hasher};
use super::signing::Signing;
use super::state::State;
use super::store::{self, key as keys, operator as operators, personal as tokens, revocation};
use super::token::{self, REFUSED, Verified};
use super::{Caller, Claims, Epochs, OperatorPermit, max_ttl};
use crate::app::App;
use crate::db::Follower;
use crate::error::{Error, Result};
use crate::id::{KeyId, TenantId};

/// How often exceptions and signing keys are looked for, when no word of a change came.
const POLL: Duration = Duration::from_secs(2);

/// A look that takes longer asks a database that is gone. The next one may find its successor.
const READ_TIMEOUT: Duration = Duration::from_secs(3);

/// How often revocations are forgotten whose capabilities have ended anyway.
const PURGE: Duration = Duration::from_hours(1);

/// What a key that is not known, wrong, revoked or expired is answered.
const BAD_KEY: &str = "the key is not valid";

type Hash = [u8; 32];

/// What a node remembers in order to authenticate.
#[derive(Debug)]
pub struct Auth {
    pub(in crate::auth) signing: Signing,
    pub(in crate::auth) hasher: Hasher,
    state: State,
    /// Tokens whose signature was checked. About 1.5 kB each.
    verified: Cache<Hash, Arc<Verified>>,
    /// Personal tokens as they were looked up.
    personal: Cache<Hash, Arc<Claims>>,
    /// Keys whose secret argon2 has confirmed.
    proven: Cache<Hash, Proven>,
}

/// A key that was proven by its secret.
#[derive(Debug, Clone, Copy)]
pub(in crate::auth) struct Proven {
    tenant: Option<TenantId>,
    key: KeyId,
    ends: Option<DateTime<Utc>>,
}

impl Auth {
    /// A node that knows nothing yet, and lets nobody in until [`Auth::start`].
    pub fn new() -> Self {
        let cache = |entries, life| Cache::builder().max_capacity(entries).time_to_live(life);
        Self {
            signing: Signing::default(),
            hasher: Hasher::new(),
            state: State::default(),
            verified: cache(20_000, Duration::from_mins(10)).build(),
            personal: Cache::builder().max_capacity(10_000).time_to_live(Duration::from_secs(5)).build(),
            proven: Cache::builder().max_capacity(10_000).time_to_live(Duration::from_mins(10)).build(),
        }
    }

    /// Reads signing keys and exceptions, makes the first signing key, and follows changes until the app stops.
    pub async fn start(app: &App) -> Result<()> {
        app.auth.signing.load(app).await?;
        app.auth.read_exceptions(app).await?;
        tokio::spawn(follow(app.clone()));
        Ok(())
    }

    /// Reads everything again after a change made here. If that fails, the next look comes within seconds.
    pub(crate) async fn reload(&self, app: &App) {
        if let Err(error) = self.read(app).await {
            tracing::warn!(%error, "revocations and signing keys could not be read");
        }
    }

    async fn read(&self, app: &App) -> Result<()> {
        let read = async {
            self.read_exceptions(app).await?;
            self.signing.reload(app).await
        };
        let in_time = tokio::time::timeout(READ_TIMEOUT, read).await;
        in_time.unwrap_or_else(|_| Err(Error::unavailable("the database")))
    }

    async fn read_exceptions(&self, app: &App) -> Result<()> {
        let as_of = Instant::now();
        let since = app.clock.now() - max_ttl(app) - token::LEEWAY;
        let mut tx = app.db.begin_operator(&OperatorPermit::service()).await?;
        let snapshot = revocation::load(&mut tx, since).await?;
        tx.commit().await?;
        self.state.replace(snapshot, as_of);
        Ok(())
    }

    /// The caller that a capability stands for.
    pub async fn capability(&self, app: &App, token: &str) -> Result<Caller> {
        if token.len() > token::MAX_BYTES {
            return Err(Error::Unauthorized(REFUSED));
        }
        let hash: Hash = Sha256::digest(token).into();
        let verified = if let Some(verified) = self.verified.get(&hash) {
            verified
        } else {
            let verified = Arc::new(self.signing.verify(app, token).await?);
            self.verified.insert(hash, Arc::clone(&verified));
            verified
        };
        verified.check_time(app.clock.now())?;
        self.admit(Arc::clone(&verified.claims))
    }

    /// The caller that a personal token stands for.
    pub async fn personal_token(&self, app: &App, bearer: &Bearer) -> Result<Caller> {
        let hash = bearer.digest();
        let claims = if let Some(claims) = self.personal.get(&hash) {
            claims
        } else {
            let claims = Arc::new(find_personal_token(app, bearer).await?);
            self.personal.insert(hash, Arc::clone(&claims));
            claims
        };
        if claims.expires_at.is_some_and(|end| end <= app.clock.now()) {
            return Err(Error::Unauthorized(BAD_KEY));
        }
        self.admit(claims)
    }

    /// The same caller as of now, for connections that outlive a request; refused once the token has ended.
    pub fn readmit(&self, app: &App, caller: &Caller) -> Result<Caller> {
        if caller.claims.expires_at.is_some_and(|end| end <= app.clock.now()) {
            return Err(Error::Unauthorized(REFUSED));
        }
        self.admit(Arc::clone(&caller.claims))
    }

    fn admit(&self, claims: Arc<Claims>) -> Result<Caller> {
        let refusal = |error| {
            let jti = claims.jti.map(|jti| jti.to_string());
            tracing::info!(tenant.id = %claims.tenant, key.id = %claims.key, capability.id = jti, %error, "refused");
            error
        };
        self.state.snapshot()?.check(&claims).map_err(refusal)?;
        Ok(Caller { claims, may_write: self.state.is_recent() })
    }

    /// The API key with this secret, as it is now.
    pub async fn api_key(&self, app: &App, bearer: &Bearer) -> Result<KnownKey> {
        let mut tx = app.db.begin_operator(&OperatorPermit::service()).await?;
        let found = keys::find(&mut tx, bearer.lookup()).await?;
        tx.commit().await?;
        let key = found.as_ref().map(|known| (known.key.id, known.secret_hash.clone()));
        self.prove(bearer, key).await?;
        let known = found.ok_or(Error::Unauthorized(BAD_KEY))?;
        self.check_key(app, self.remember(bearer, known.tenant, &known.key))?;
        Ok(known)
    }

    /// The tenant of the API key with this secret, which comes along with a capability.
    pub async fn tenant_of_key(&self, app: &App, bearer: &Bearer) -> Result<TenantId> {
        if let Some(proven) = self.proven.get(&bearer.digest()) {
            self.check_key(app, proven)?;
            return proven.tenant.ok_or(Error::Unauthorized(BAD_KEY));
        }
        Ok(self.api_key(app, bearer).await?.tenant)
    }

    /// What an operator key with this secret permits.
    pub async fn operator(&self, app: &App, bearer: &Bearer) -> Result<OperatorPermit> {
        let mut tx = app.db.begin_operator(&OperatorPermit::service()).await?;
        let found = operators::find(&mut tx, bearer.lookup()).await?;
        tx.commit().await?;
        let id = found.as_ref().map(|key| key.id);
        self.prove(bearer, found.map(|key| (key.id, key.secret_hash))).await?;
        let id = id.ok_or(Error::Unauthorized(BAD_KEY))?;
        self.proven.insert(bearer.digest(), Proven { tenant: None, key: id, ends: None });
        Ok(OperatorPermit::operator(id))
    }

    /// Remembers the secret of a key that was made here, so that its first use costs nothing.
    pub(in crate::auth) fn remember(&self, bearer: &Bearer, tenant: TenantId, key: &ApiKey) -> Proven {
        let ends = key.expires_at.map(|time| time.0);
        let proven = Proven { tenant: Some(tenant), key: key.id, ends };
        self.proven.insert(bearer.digest(), proven);
        proven
    }

    /// Refuses a bearer that is not the secret of this key. An unknown key takes as long as a wrong secret.
    async fn prove(&self, bearer: &Bearer, key: Option<(KeyId, String)>) -> Result<()> {
        let (id, hash) = key.unzip();
        if id.is_some() && self.proven.get(&bearer.digest()).map(|proven| proven.key) == id {
            return Ok(());
        }
        if self.hasher.verify(bearer, hash).await? { Ok(()) } else { Err(Error::Unauthorized(BAD_KEY)) }
    }

    fn check_key(&self, app: &App, proven: Proven) -> Result<()> {
        if proven.ends.is_some_and(|end| end <= app.clock.now()) {
            return Err(Error::Unauthorized(BAD_KEY));
        }
        let Some(tenant) = proven.tenant else { return Ok(()) };
        self.state.snapshot()?.check_key(tenant, proven.key)
    }
}

impl Default for Auth {
    fn default() -> Self {
        Self::new()
    }
}

async fn find_personal_token(app: &App, bearer: &Bearer) -> Result<Claims> {
    let mut tx = app.db.begin_operator(&OperatorPermit::service()).await?;
    let found = tokens::find(&mut tx, bearer.lookup()).await?;
    tx.commit().await?;
    let known = found.filter(|known| bearer.has_digest(&known.secret_sha256));
    let known = known.ok_or(Error::Unauthorized(BAD_KEY))?;
    Ok(Claims {
        tenant: known.tenant,
        namespace: known.token.namespace,
        key: known.token.id,
        jti: None,
        rights: known.token.capabilities,
        scopes: known.token.scopes,
        sensitivity: known.token.sensitivity,
        control: false,
        actor: known.token.actor,
        expires_at: known.token.expires_at.map(|time| time.0),
        ancestors: Vec::new(),
        epochs: Epochs { tenant: known.tenant_epoch, key: 0 },
    })
}

/// Reads again on every word of a change and every two seconds, until the app stops.
async fn follow(app: App) {
    let mut changes = Follower::new(store::CHANNEL, POLL);
    let mut purged = Instant::now();
    loop {
        tokio::select! {
            () = app.stopped() => return,
            () = changes.next(&app.db) => {}
        }
        if let Err(error) = app.auth.read(&app).await {
            tracing::warn!(%error, "revocations and signing keys could not be read");
            // It may hang on a connection that is gone too, and would never say so.
            changes.restart();
        }
        if purged.elapsed() > PURGE {
            purged = Instant::now();
            if let Err(error) = purge(&app).await {
                tracing::warn!(%error, "old revocations could not be forgotten");
            }
        }
    }
}

async fn purge(app: &App) -> Result<()> {
    let mut tx = app.db.begin_operator(&OperatorPermit::service()).await?;
    revocation::purge(&mut tx, app.clock.now()).await?;
    tx.commit().await
}

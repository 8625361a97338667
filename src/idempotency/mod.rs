//! One effect for one idempotency key.
//!
//! A request first claims its key in a transaction of its own. The operation then settles the claim in the same
//! transaction as its effect, so that after a crash either both are there or neither. A claim that was not settled
//! within `LEASE` belongs to a process that died, and may be taken over.

mod store;

use chrono::TimeDelta;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::app::App;
use crate::auth::{OperatorPermit, Permit};
use crate::db::TenantTx;
use crate::error::{Error, ErrorReport, KeptError, Result};
use crate::id::EventId;

/// How long an answer is kept.
pub const KEPT_FOR: TimeDelta = TimeDelta::hours(24);

/// How long a claim is respected: no request lasts longer than ten seconds, and clocks may differ by five.
const LEASE: TimeDelta = TimeDelta::seconds(15);

/// How many answers one statement drops, so that none is long.
const ROUND: i64 = 1_000;

/// The longest key, in bytes.
pub const MAX_KEY_BYTES: usize = 255;

/// The key of a request, with what it was used for.
#[derive(Debug, Clone)]
pub struct Key {
    name: String,
    route: String,
    body_hash: [u8; 32],
}

impl Key {
    /// The key of a request to a route (for JSON-RPC, a method) with this body, members in any order.
    pub fn new(key: &str, route: &str, body: &serde_json::Value) -> Result<Self> {
        // serde_json keeps the members of an object sorted, which makes this the canonical form.
        let body = serde_json::to_vec(body).map_err(Error::internal)?;
        Ok(Self { name: key.to_owned(), route: route.to_owned(), body_hash: Sha256::digest(&body).into() })
    }

    /// Refuses a name that is empty, too long or unprintable. Asked once the right to the operation is proven.
    fn check(&self) -> Result<()> {
        let length = self.name.len();
        if length > MAX_KEY_BYTES {
            let rule = format!("is longer than {MAX_KEY_BYTES} bytes");
            return Err(Error::over_limit("idempotency_key", rule, MAX_KEY_BYTES as u64, length as u64));
        }
        if self.name.is_empty() || self.name.chars().any(char::is_control) {
            return Err(Error::invalid("idempotency_key", "is empty or holds a control character"));
        }
        Ok(())
    }

    /// The same key for one holder only: to any other it counts as used with another body.
    pub fn held_by(mut self, holder: &impl Serialize) -> Result<Self> {
        let holder = serde_json::to_vec(holder).map_err(Error::internal)?;
        self.body_hash = Sha256::new().chain_update(self.body_hash).chain_update(holder).finalize().into();
        Ok(self)
    }

    /// The same key for a token that reaches this far. An answer may show what another token of the same principal
    /// does not see: to that one the request counts as another.
    fn within(self, permit: &Permit) -> Result<Self> {
        self.held_by(&(permit.scopes(), permit.sensitivity()))
    }
}

/// What an operation answers: a status of the 2xx sort, and a body.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer<T> {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: T,
    /// Whether it was given before, to a request with the same key.
    pub replayed: bool,
}

impl<T> Answer<T> {
    /// Something was made: 201.
    pub fn created(body: T) -> Self {
        Self { status: 201, body, replayed: false }
    }

    /// Anything else: 200.
    pub fn ok(body: T) -> Self {
        Self { status: 200, body, replayed: false }
    }
}

/// The right to have the effect of a key, which no other request holds now. Empty for a request without a key.
#[derive(Debug)]
pub struct Claim(Option<Held>);

#[derive(Debug)]
struct Held {
    key: Key,
    claim: Uuid,
}

impl Claim {
    /// For a request without a key.
    pub fn none() -> Self {
        Self(None)
    }

    /// Keeps the answer, in the transaction that has the effect. The last thing before `commit`.
    pub async fn settle<T: Serialize>(
        &self,
        tx: &mut TenantTx,
        permit: &Permit,
        answer: &Answer<T>,
    ) -> Result<()> {
        let Some(held) = &self.0 else { return Ok(()) };
        let body = serde_json::to_string(&answer.body).map_err(Error::internal)?;
        if store::settle(tx, permit, &held.key, held.claim, answer.status, &body).await? {
            return Ok(());
        }
        // The lease ran out and another request took the claim over: its effect counts, not this one's.
        Err(Error::StillRunning)
    }
}

/// Runs an operation once for its key, or gives the answer it gave before.
pub async fn run<T, F, Fut>(app: &App, permit: &Permit, key: Option<Key>, operation: F) -> Result<Answer<T>>
where
    T: Serialize + DeserializeOwned,
    F: FnOnce(Claim) -> Fut,
    Fut: Future<Output = Result<Answer<T>>>,
{
    let Some(key) = key else { return operation(Claim::none()).await };
    key.check()?;
    let key = key.within(permit)?;
    let now = app.clock.now();
    let claim = EventId::new().uuid();
    let mut tx = app.db.begin(permit).await?;
    if !store::claim(&mut tx, permit, &key, claim, now, now - LEASE, now - KEPT_FOR).await? {
        let earlier = store::find(&mut tx, permit, &key).await?;
        return replay(earlier, &key);
    }
    tx.commit().await?;
    let mut unfinished = Unfinished { app, permit, held: Some(Held { key: key.clone(), claim }) };
    let result = operation(Claim(Some(Held { key: key.clone(), claim }))).await;
    // What the client is told is how the operation ended, whatever becomes of the key.
    if let Err(error) = &result
        && let Err(fault) = give_back(app, permit, &key, claim, error).await
    {
        tracing::warn!(error = %fault, "an idempotency key stays taken for a while");
    }
    unfinished.held = None;
    result
}

/// A request under way. Its key is free again when it is given up: its client hung up, or its time was over.
struct Unfinished<'a> {
    app: &'a App,
    permit: &'a Permit,
    held: Option<Held>,
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        let Some(Held { key, claim }) = self.held.take() else { return };
        let (app, permit) = (self.app.clone(), self.permit.clone());
        tokio::spawn(async move {
            if let Err(error) = give_back(&app, &permit, &key, claim, &Error::StillRunning).await {
                tracing::warn!(%error, "an idempotency key stays taken for a while");
            }
        });
    }
}

fn replay<T: DeserializeOwned>(earlier: Option<store::Kept>, key: &Key) -> Result<Answer<T>> {
    let earlier = earlier.ok_or(Error::StillRunning)?;
    if earlier.body_hash != key.body_hash {
        return Err(Error::IdempotencyMismatch);
    }
    let (Some(status), Some(body)) = (earlier.status, earlier.body) else { return Err(Error::StillRunning) };
    if status >= 400 {
        return Err(Error::Kept(serde_json::from_str(&body).map_err(Error::internal)?));
    }
    let body = serde_json::from_str(&body).map_err(Error::internal)?;
    Ok(Answer { status, body, replayed: true })
}

/// A failure that would be the same again is kept; after any other the key is free.
async fn give_back(app: &App, permit: &Permit, key: &Key, claim: Uuid, error: &Error) -> Result<()> {
    let mut tx = app.db.begin(permit).await?;
    match KeptError::of(error) {
        Some(kept) => {
            let body = serde_json::to_string(&kept).map_err(Error::internal)?;
            store::settle(&mut tx, permit, key, claim, kept.status, &body).await?;
        }
        None => store::release(&mut tx, permit, key, claim).await?,
    }
    tx.commit().await
}

/// Takes records and candidates that are erased out of the answers that are kept: the same request is answered 404
/// from now on.
pub async fn erase(tx: &mut TenantTx, ids: Vec<String>) -> Result<()> {
    let report = ErrorReport::new(&Error::NotFound("memory"));
    let kept = serde_json::to_string(&KeptError { status: 404, report }).map_err(Error::internal)?;
    store::replace(tx, &ids, 404, &kept).await
}

/// Drops answers of all tenants that were kept long enough. Gives how many.
pub async fn purge(app: &App) -> Result<u64> {
    let before = app.clock.now() - KEPT_FOR;
    let mut dropped = 0;
    loop {
        let mut tx = app.db.begin_operator(&OperatorPermit::service()).await?;
        let rows = store::purge(&mut tx, before, ROUND).await?;
        tx.commit().await?;
        dropped += rows;
        if rows == 0 || app.is_stopping() {
            return Ok(dropped);
        }
    }
}

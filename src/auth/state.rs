//! What a node knows of tokens that ended before their time.
//!
//! Only exceptions are held: revoked capabilities and keys, raised epochs, tenants that are not simply active. Every
//! node loads them at the start, again whenever one is told of a change, and every two seconds in any case.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

use super::Claims;
use super::token::REFUSED;
use crate::error::{Error, Result};
use crate::id::{CapabilityId, KeyId, TenantId};
use crate::tenant::TenantStatus;

/// Beyond this age what is known is too old to write on: a revoked token might still be let in.
const MAX_AGE: Duration = Duration::from_secs(30);

/// The exceptions, as of one moment.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// Revoked capabilities. The tenant stands with them, so that nobody revokes another tenant's.
    pub revoked: HashSet<(TenantId, CapabilityId)>,
    /// Keys and personal tokens that are revoked (none), or whose epoch was raised.
    pub keys: HashMap<KeyId, Option<i64>>,
    /// Tenants that are suspended, deleted, or whose epoch was raised.
    pub tenants: HashMap<TenantId, TenantState>,
}

/// What is out of the ordinary about a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TenantState {
    /// Whether it is active.
    pub status: TenantStatus,
    /// Tokens with a smaller epoch have ended.
    pub epoch: i64,
}

impl Snapshot {
    /// Refuses claims that have ended, whatever ended them.
    pub fn check(&self, claims: &Claims) -> Result<()> {
        let mut lineage = claims.jti.iter().chain(&claims.ancestors);
        if lineage.any(|&jti| self.revoked.contains(&(claims.tenant, jti))) {
            return Err(Error::Unauthorized(REFUSED));
        }
        let key = self.keys.get(&claims.key);
        if key.is_some_and(|epoch| epoch.is_none_or(|epoch| epoch > claims.epochs.key)) {
            return Err(Error::Unauthorized(REFUSED));
        }
        self.check_tenant(claims.tenant, claims.epochs.tenant)
    }

    /// Refuses a key that was revoked or whose tenant is not active.
    pub fn check_key(&self, tenant: TenantId, key: KeyId) -> Result<()> {
        if self.keys.get(&key) == Some(&None) {
            return Err(Error::Unauthorized("the key is not valid"));
        }
        self.check_tenant(tenant, i64::MAX)
    }

    fn check_tenant(&self, tenant: TenantId, epoch: i64) -> Result<()> {
        let Some(state) = self.tenants.get(&tenant) else { return Ok(()) };
        match state.status {
            TenantStatus::Deleted => Err(Error::Unauthorized(REFUSED)),
            _ if state.epoch > epoch => Err(Error::Unauthorized(REFUSED)),
            TenantStatus::Suspended => Err(Error::TenantSuspended),
            TenantStatus::Active => Ok(()),
        }
    }
}

/// The latest snapshot, and its age.
#[derive(Debug, Default)]
pub struct State {
    latest: RwLock<Option<Latest>>,
}

#[derive(Debug, Clone)]
struct Latest {
    snapshot: Arc<Snapshot>,
    as_of: Instant,
}

impl State {
    /// Puts a newer snapshot in place, which was read from `as_of` on. An older one is dropped.
    pub fn replace(&self, snapshot: Snapshot, as_of: Instant) {
        let mut latest = self.latest.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        if latest.as_ref().is_none_or(|latest| latest.as_of <= as_of) {
            *latest = Some(Latest { snapshot: Arc::new(snapshot), as_of });
        }
    }

    /// The latest snapshot. Without any, nothing can be let in: 503.
    pub fn snapshot(&self) -> Result<Arc<Snapshot>> {
        self.latest()
            .map(|latest| latest.snapshot)
            .ok_or_else(|| Error::unavailable("the list of revoked tokens"))
    }

    /// Whether what is known is recent enough to write on.
    pub fn is_recent(&self) -> bool {
        self.latest().is_some_and(|latest| latest.as_of.elapsed() < MAX_AGE)
    }

    fn latest(&self) -> Option<Latest> {
        self.latest.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::{Actor, Epochs, Rights};

    fn claims() -> Claims {
        Claims {
            tenant: TenantId::new(),
            namespace: "default".parse().expect("a name"),
            key: KeyId::new(),
            jti: Some(CapabilityId::new()),
            rights: Rights::all(),
            scopes: None,
            sensitivity: std::collections::BTreeSet::new(),
            control: false,
            actor: Actor::default(),
            expires_at: None,
            ancestors: vec![CapabilityId::new(), CapabilityId::new()],
            epochs: Epochs { tenant: 1, key: 1 },
        }
    }

    #[test]
    fn each_exception_ends_the_tokens_it_means_and_no_others() {
        let (claims, other) = (claims(), claims());
        let tenant = |status, epoch| Snapshot {
            tenants: HashMap::from([(claims.tenant, TenantState { status, epoch })]),
            ..Snapshot::default()
        };
        let key = |epoch| Snapshot { keys: HashMap::from([(claims.key, epoch)]), ..Snapshot::default() };
        let revoked =
            |tenant, jti| Snapshot { revoked: HashSet::from([(tenant, jti)]), ..Snapshot::default() };
        let jti = claims.jti.expect("set above");
        let cases = [
            (Snapshot::default(), None),
            (revoked(claims.tenant, jti), Some("unauthorized")),
            (revoked(claims.tenant, claims.ancestors[0]), Some("unauthorized")),
            (revoked(claims.tenant, claims.ancestors[1]), Some("unauthorized")),
            (revoked(other.tenant, jti), None),
            (key(None), Some("unauthorized")),
            (key(Some(2)), Some("unauthorized")),
            (key(Some(1)), None),
            (tenant(TenantStatus::Active, 1), None),
            (tenant(TenantStatus::Active, 2), Some("unauthorized")),
            (tenant(TenantStatus::Suspended, 0), Some("tenant_suspended")),
            (tenant(TenantStatus::Suspended, 2), Some("unauthorized")),
            (tenant(TenantStatus::Deleted, 0), Some("unauthorized")),
        ];
        for (snapshot, expected) in cases {
            assert_eq!(
                snapshot.check(&claims).err().map(|error| error.code().to_owned()),
                expected.map(str::to_owned),
                "{snapshot:?}"
            );
            assert!(snapshot.check(&other).is_ok());
        }
    }

    #[test]
    fn without_a_snapshot_nothing_is_let_in_and_an_old_one_closes_writes() {
        let state = State::default();
        assert!(matches!(state.snapshot(), Err(Error::Unavailable { .. })) && !state.is_recent());
        let now = Instant::now();
        let long_ago = now.checked_sub(MAX_AGE).expect("the machine has been up for longer than that");
        state.replace(Snapshot::default(), long_ago);
        assert!(state.snapshot().is_ok() && !state.is_recent());
        state.replace(Snapshot::default(), now);
        assert!(state.is_recent());
        state.replace(Snapshot::default(), long_ago);
        assert!(state.is_recent(), "an older snapshot does not take a newer one's place");
    }
}

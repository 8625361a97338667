//! Who calls, and what they may do.
//!
//! A [`Caller`] is what a verified token says. A [`Permit`] is one right of a caller, proven; data is reached only
//! through one. Rights are denied by default: an empty list matches nothing, a missing claim grants nothing.

mod exchange;
mod grant;
mod issue;
pub mod key;
mod node;
mod right;
pub mod secret;
mod signing;
mod state;
mod store;
mod token;

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

pub use exchange::{Capability, Revoke, Revoked, WhoAmI, attenuate, exchange, max_ttl, revoke, whoami};
pub use grant::TokenRequest;
pub use issue::{
    create_key, create_operator_key, create_token, list_keys, list_operator_keys, list_tokens,
    revoke_all_tokens, revoke_key, revoke_operator_key, revoke_token,
};
pub use node::Auth;
pub use right::{Action, Actor, ActorKind, Area, Namespace, NamespacePattern, Rights};
pub use signing::{PublicKey, PublicKeys, Rotated, public_keys, rotate};
pub use store::CHANNEL;

use crate::error::{Error, Result};
use crate::id::{CapabilityId, KeyId, TenantId};
use crate::memory::{Scope, Sensitivity};

/// What a verified capability or personal token says. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Caller {
    claims: Arc<Claims>,
    /// Whether this node knows of revocations recent enough to let the caller change something.
    may_write: bool,
}

/// The content of a capability, whatever form it came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    /// The only tenant the token reaches.
    pub tenant: TenantId,
    /// The only namespace the token reaches.
    pub namespace: Namespace,
    /// The key or personal token the rights come from; the principal of idempotency keys and of the audit log.
    pub key: KeyId,
    /// The capability's own id; absent for a personal token.
    pub jti: Option<CapabilityId>,
    /// What may be done to which sort of memory.
    pub rights: Rights,
    /// Whose memory may be touched; absent means everybody's in the namespace.
    pub scopes: Option<Vec<Scope>>,
    /// Which records exist for this token.
    pub sensitivity: BTreeSet<Sensitivity>,
    /// Whether the tenant's configuration may be changed. Grants no memory right.
    pub control: bool,
    /// In whose name writes are made.
    pub actor: Actor,
    /// When the token ends; a personal token may have no end.
    pub expires_at: Option<DateTime<Utc>>,
    /// The capabilities this one was attenuated from, outermost first.
    pub ancestors: Vec<CapabilityId>,
    /// The epochs of tenant and key at the time the token was made.
    pub epochs: Epochs,
}

/// Numbers that rise when every token made so far is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Epochs {
    /// The tenant's.
    pub tenant: i64,
    /// The key's.
    pub key: i64,
}

impl Caller {
    /// What the token says.
    pub fn claims(&self) -> &Claims {
        &self.claims
    }

    /// Proves that the caller may do this, or refuses with 403.
    ///
    /// A change is answered 503 while this node does not hear of revocations.
    pub fn permit(&self, action: Action, area: Area) -> Result<Permit> {
        if !self.claims.rights.allows(area, action) {
            return Err(Error::Forbidden(format!("the capability does not grant {action} on {area}").into()));
        }
        if action != Action::Read {
            self.require_recent()?;
        }
        Ok(Permit { claims: Arc::clone(&self.claims), action })
    }

    /// Proves that the caller may see or change the tenant's own settings, or refuses with 403. Grants no memory right.
    pub fn control(&self, action: Action) -> Result<Permit> {
        self.require_control()?;
        if action != Action::Read {
            self.require_recent()?;
        }
        // A permit to write would make the namespace, which settings do not belong to.
        Ok(Permit { claims: Arc::clone(&self.claims), action: Action::Read })
    }

    /// The right to what any token may do with itself: make a child of it, or end it. There is no right to ask for.
    pub(in crate::auth) fn permit_for_itself(&self) -> Permit {
        Permit { claims: Arc::clone(&self.claims), action: Action::Delete }
    }

    fn require_recent(&self) -> Result<()> {
        if self.may_write { Ok(()) } else { Err(Error::unavailable("the list of revoked tokens")) }
    }

    /// Proves that the caller may change the tenant's configuration, or refuses with 403.
    pub fn require_control(&self) -> Result<()> {
        if self.claims.control {
            Ok(())
        } else {
            Err(Error::Forbidden("the capability does not grant control".into()))
        }
    }
}

/// One right of a caller, proven: the key to a tenant's data.
#[derive(Debug, Clone)]
pub struct Permit {
    claims: Arc<Claims>,
    action: Action,
}

impl Permit {
    /// The tenant whose data may be reached.
    pub fn tenant(&self) -> TenantId {
        self.claims.tenant
    }

    /// The namespace within the tenant.
    pub fn namespace(&self) -> &Namespace {
        &self.claims.namespace
    }

    /// What may be done.
    pub fn action(&self) -> Action {
        self.action
    }

    /// The same reach, to look only: a permit to write would make the namespace.
    #[must_use]
    pub fn to_read(&self) -> Self {
        Self { claims: Arc::clone(&self.claims), action: Action::Read }
    }

    /// The key or personal token behind the request.
    pub fn key(&self) -> KeyId {
        self.claims.key
    }

    /// In whose name writes are made.
    pub fn actor(&self) -> &Actor {
        &self.claims.actor
    }

    /// The only scopes that may be touched, if the token is limited to some.
    pub fn scopes(&self) -> Option<&[Scope]> {
        self.claims.scopes.as_deref()
    }

    /// Which records exist for this token.
    pub fn sensitivity(&self) -> &BTreeSet<Sensitivity> {
        &self.claims.sensitivity
    }

    /// How far it reaches, to be kept with work that is done later in its name.
    pub fn reach(&self) -> Reach {
        let Claims { key, scopes, sensitivity, .. } = &*self.claims;
        Reach { key: *key, scopes: scopes.clone(), sensitivity: sensitivity.clone() }
    }

    /// Whether a record of this scope and sensitivity exists for this token.
    pub fn sees(&self, scope: &Scope, sensitivity: Sensitivity) -> bool {
        let in_scope = self.claims.scopes.as_ref().is_none_or(|scopes| scopes.contains(scope));
        in_scope && self.claims.sensitivity.contains(&sensitivity)
    }

    /// Refuses a write outside of the token's scopes or above its sensitivity.
    pub fn require(&self, scope: &Scope, sensitivity: Sensitivity) -> Result<()> {
        if self.sees(scope, sensitivity) {
            return Ok(());
        }
        if self.claims.sensitivity.contains(&sensitivity) {
            return Err(Error::Forbidden("the capability does not reach this scope".into()));
        }
        Err(Error::Forbidden(format!("the capability does not reach {sensitivity} records").into()))
    }
}

/// How far a token reached when it asked for something that is done later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reach {
    key: KeyId,
    scopes: Option<Vec<Scope>>,
    sensitivity: BTreeSet<Sensitivity>,
}

/// The right to work across tenants.
#[derive(Debug, Clone)]
pub struct OperatorPermit {
    actor: String,
}

impl OperatorPermit {
    /// The service itself: housekeeping, and looking up a token before its tenant is known.
    pub(crate) fn service() -> Self {
        Self { actor: "service".to_owned() }
    }

    /// Somebody who runs this program with the database's password, and could do anything anyway.
    pub fn command_line() -> Self {
        Self { actor: "command line".to_owned() }
    }

    /// An operator whose key was verified. Only `auth` verifies.
    pub(in crate::auth) fn operator(key: KeyId) -> Self {
        Self { actor: key.to_string() }
    }

    /// The right to work within one tenant's namespace, in the name of the system: everything, in every scope.
    pub fn within(&self, tenant: TenantId, namespace: Namespace) -> Permit {
        Permit { claims: self.caller_within(tenant, namespace).claims, action: Action::Write }
    }

    /// A caller who holds every right within one tenant's namespace, in the name of the system.
    pub fn caller_within(&self, tenant: TenantId, namespace: Namespace) -> Caller {
        let sensitivity = Sensitivity::ALL.into_iter().collect();
        let claims = Claims {
            tenant,
            namespace,
            key: KeyId::from_uuid(uuid::Uuid::nil()),
            jti: None,
            rights: Rights::all(),
            scopes: None,
            sensitivity,
            control: true,
            actor: Actor { kind: ActorKind::System, id: None },
            expires_at: None,
            ancestors: Vec::new(),
            epochs: Epochs::default(),
        };
        Caller { claims: Arc::new(claims), may_write: true }
    }

    /// The right to write what somebody asked for earlier, as far as their token reached, in the name of this actor.
    pub fn on_behalf(&self, tenant: TenantId, namespace: Namespace, reach: Reach, actor: Actor) -> Permit {
        let Reach { key, scopes, sensitivity } = reach;
        let all = self.caller_within(tenant, namespace);
        let claims = Claims { key, scopes, sensitivity, actor, control: false, ..(*all.claims).clone() };
        Permit { claims: Arc::new(claims), action: Action::Write }
    }

    /// Who it is, for the audit log.
    pub fn actor(&self) -> &str {
        &self.actor
    }
}

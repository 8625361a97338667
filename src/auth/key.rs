//! API keys, personal tokens and operator keys: what they are, and what a new one may be.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Actor, Epochs, Namespace, NamespacePattern, Rights};
use crate::error::{Error, Result};
use crate::id::{KeyId, TenantId};
use crate::memory::{Scope, Sensitivity, check_identifier};
use crate::time::UnixTime;

/// How many namespace patterns a key may have, and how many scopes a personal token.
const MAX_LIST: usize = 64;

/// An API key, without its secret.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ApiKey {
    /// The key's id.
    pub id: KeyId,
    /// What it is called.
    pub name: String,
    /// The namespaces that its capabilities may reach.
    pub namespaces: Vec<NamespacePattern>,
    /// The most that its capabilities may do.
    pub capabilities: Rights,
    /// The records that exist for its capabilities.
    pub sensitivity: BTreeSet<Sensitivity>,
    /// Whether its capabilities may change the tenant's configuration.
    pub control: bool,
    /// In whose name its capabilities write.
    pub actor: Actor,
    /// When it was made.
    pub created_at: UnixTime,
    /// When it ends, and everything made with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<UnixTime>,
    /// When it was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<UnixTime>,
}

/// A personal token, without its secret: an authority by itself, for clients that hold only a fixed bearer (R-13b).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PersonalToken {
    /// The token's id.
    pub id: KeyId,
    /// What it is called.
    pub name: String,
    /// The one namespace it reaches.
    pub namespace: Namespace,
    /// What it may do.
    pub capabilities: Rights,
    /// Whose memory it may touch; all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<Scope>>,
    /// The records that exist for it.
    pub sensitivity: BTreeSet<Sensitivity>,
    /// In whose name it writes.
    pub actor: Actor,
    /// When it was made.
    pub created_at: UnixTime,
    /// When it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<UnixTime>,
    /// When it was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<UnixTime>,
}

/// An operator key, without its secret.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct OperatorKey {
    /// The key's id.
    pub id: KeyId,
    /// What it is called.
    pub name: String,
    /// When it was made.
    pub created_at: UnixTime,
    /// When it was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<UnixTime>,
}

/// What a new API key is to be.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewKey {
    /// What it is called: 1 to 256 bytes.
    pub name: String,
    /// The namespaces: names, starts of names followed by `*`, or `*` for every one.
    pub namespaces: Vec<NamespacePattern>,
    /// The most that its capabilities may do.
    pub capabilities: Rights,
    /// The records that exist for its capabilities; normal and personal ones unless told.
    #[serde(default = "usual_sensitivity")]
    pub sensitivity: BTreeSet<Sensitivity>,
    /// Whether its capabilities may change the tenant's configuration.
    #[serde(default)]
    pub control: bool,
    /// In whose name its capabilities write; a user unless told.
    #[serde(default)]
    pub actor: Actor,
    /// When it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<UnixTime>,
}

/// What a new personal token is to be.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// What it is called: 1 to 256 bytes.
    pub name: String,
    /// The one namespace it reaches.
    pub namespace: Namespace,
    /// What it may do.
    pub capabilities: Rights,
    /// Whose memory it may touch; all when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<Scope>>,
    /// The records that exist for it; normal and personal ones unless told.
    #[serde(default = "usual_sensitivity")]
    pub sensitivity: BTreeSet<Sensitivity>,
    /// In whose name it writes; a user unless told.
    #[serde(default)]
    pub actor: Actor,
    /// When it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<UnixTime>,
}

/// What a new operator key is to be.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewOperatorKey {
    /// What it is called: 1 to 256 bytes.
    pub name: String,
}

/// An API key as it was looked up by a bearer, with what its capabilities need.
#[derive(Debug)]
pub struct KnownKey {
    /// Whose it is.
    pub tenant: TenantId,
    /// The key.
    pub key: ApiKey,
    /// The epochs that its capabilities carry.
    pub epochs: Epochs,
    /// What the secret is compared to.
    pub secret_hash: String,
}

/// A personal token as it was looked up by a bearer.
#[derive(Debug)]
pub struct KnownToken {
    /// Whose it is.
    pub tenant: TenantId,
    /// The token.
    pub token: PersonalToken,
    /// The tenant's epoch when it was looked up.
    pub tenant_epoch: i64,
    /// What the secret is compared to.
    pub secret_sha256: Vec<u8>,
}

/// An operator key as it was looked up by a bearer.
#[derive(Debug)]
pub struct KnownOperator {
    /// The key's id.
    pub id: KeyId,
    /// What the secret is compared to.
    pub secret_hash: String,
}

/// The sensitivities that a key or token has unless told.
pub fn usual_sensitivity() -> BTreeSet<Sensitivity> {
    BTreeSet::from([Sensitivity::Normal, Sensitivity::Personal])
}

impl NewKey {
    /// Refuses what cannot be a key.
    pub fn check(&self, now: DateTime<Utc>) -> Result<()> {
        check_name(&self.name)?;
        if self.namespaces.is_empty() {
            return Err(Error::invalid("namespaces", "must name at least one namespace"));
        }
        check_count("namespaces", self.namespaces.len())?;
        check_authority(&self.capabilities, &self.sensitivity, &self.actor, self.expires_at, now)
    }
}

impl NewToken {
    /// Refuses what cannot be a token.
    pub fn check(&self, now: DateTime<Utc>) -> Result<()> {
        check_name(&self.name)?;
        if self.scopes.as_ref().is_some_and(Vec::is_empty) {
            return Err(Error::invalid("scopes", "must name at least one scope, or be left out"));
        }
        check_count("scopes", self.scopes.as_ref().map_or(0, Vec::len))?;
        for (index, scope) in self.scopes.iter().flatten().enumerate() {
            scope.check(&format!("scopes[{index}]"))?;
        }
        check_authority(&self.capabilities, &self.sensitivity, &self.actor, self.expires_at, now)
    }
}

impl NewOperatorKey {
    /// Refuses what cannot be a key.
    pub fn check(&self) -> Result<()> {
        check_name(&self.name)
    }
}

fn check_name(name: &str) -> Result<()> {
    check_identifier(name, 256).map_err(|error| error.inside("name"))
}

fn check_count(field: &'static str, count: usize) -> Result<()> {
    if count > MAX_LIST {
        let rule = format!("names more than {MAX_LIST}");
        return Err(Error::over_limit(field, rule, MAX_LIST as u64, count as u64));
    }
    Ok(())
}

fn check_authority(
    rights: &Rights,
    sensitivity: &BTreeSet<Sensitivity>,
    actor: &Actor,
    expires_at: Option<UnixTime>,
    now: DateTime<Utc>,
) -> Result<()> {
    rights.check("capabilities")?;
    if sensitivity.is_empty() {
        return Err(Error::invalid("sensitivity", "must name at least one sensitivity, or be left out"));
    }
    if let Some(id) = &actor.id {
        check_identifier(id, 256).map_err(|error| error.inside("actor.id"))?;
    }
    if expires_at.is_some_and(|time| time.0 <= now) {
        return Err(Error::invalid("expires_at", "must lie in the future"));
    }
    Ok(())
}

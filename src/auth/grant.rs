//! What a token may grant: always a part of what it is made from. Pure.

use std::collections::BTreeSet;

use chrono::{DateTime, SubsecRound, TimeDelta, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Claims, Namespace, NamespacePattern, Rights};
use crate::error::{Error, Fault, Result};
use crate::id::CapabilityId;
use crate::memory::{Scope, Sensitivity};

/// How long a capability lives unless told.
const DEFAULT_TTL: TimeDelta = TimeDelta::minutes(15);

/// The shortest life that can be asked for.
const MIN_TTL_SECONDS: u32 = 60;

/// How often a capability can be attenuated in a row.
const MAX_DEPTH: usize = 3;

/// What is asked for when a key is exchanged or a capability attenuated (R-13). What is left out is whatever the key
/// or the parent has, but for control, which must be asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenRequest {
    /// The one namespace that the capability reaches. A child may leave it out: it is its parent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Namespace>,
    /// What may be done to which sort of memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Rights>,
    /// Whose memory may be touched; all when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<Scope>>,
    /// Which records exist for the token (R-49).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitivity: Option<BTreeSet<Sensitivity>>,
    /// Whether the tenant's configuration may be changed.
    #[serde(default)]
    pub control: bool,
    /// How long it lives: 60 to 3,600 seconds, 900 unless told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 60))]
    pub ttl_seconds: Option<u32>,
}

/// The most that can be granted.
#[derive(Debug, Clone)]
pub struct Ceiling {
    /// The namespaces that may be chosen from.
    pub namespaces: Vec<NamespacePattern>,
    /// The rights.
    pub rights: Rights,
    /// The scopes; all when absent.
    pub scopes: Option<Vec<Scope>>,
    /// The sensitivities.
    pub sensitivity: BTreeSet<Sensitivity>,
    /// Whether control can be granted.
    pub control: bool,
    /// When everything granted ends.
    pub ends: Option<DateTime<Utc>>,
}

/// What is granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The namespace.
    pub namespace: Namespace,
    /// The rights.
    pub rights: Rights,
    /// The scopes; all when absent.
    pub scopes: Option<Vec<Scope>>,
    /// The sensitivities.
    pub sensitivity: BTreeSet<Sensitivity>,
    /// Control.
    pub control: bool,
    /// The end, in whole seconds.
    pub expires_at: DateTime<Utc>,
}

impl TokenRequest {
    /// Refuses a request that names nothing, something that does not exist, or a life outside of the limits (R-45).
    pub fn check(&self, max_ttl: TimeDelta) -> Result<()> {
        if let Some(rights) = &self.capabilities {
            rights.check("capabilities")?;
        }
        if self.scopes.as_ref().is_some_and(Vec::is_empty) {
            return Err(Error::invalid("scopes", "must name at least one scope, or be left out"));
        }
        for (index, scope) in self.scopes.iter().flatten().enumerate() {
            scope.check(&format!("scopes[{index}]"))?;
        }
        if self.sensitivity.as_ref().is_some_and(BTreeSet::is_empty) {
            return Err(Error::invalid("sensitivity", "must name at least one sensitivity, or be left out"));
        }
        match self.ttl_seconds {
            Some(ttl) if ttl < MIN_TTL_SECONDS || TimeDelta::seconds(ttl.into()) > max_ttl => {
                let (limit, most) = (max_ttl.num_seconds().unsigned_abs(), max_ttl.num_seconds());
                let rule = format!("must be {MIN_TTL_SECONDS} to {most}");
                Err(Error::over_limit("ttl_seconds", rule, limit, ttl.into()))
            }
            _ => Ok(()),
        }
    }
}

/// The part of the ceiling that is asked for. Refuses with 403 when nothing is left (R-13).
pub fn cut(ceiling: &Ceiling, request: &TokenRequest, now: DateTime<Utc>) -> Result<Grant> {
    let Some(namespace) = request.namespace.clone() else {
        return Err(Error::Unprocessable(Fault::new("namespace", "is missing")));
    };
    if !ceiling.namespaces.iter().any(|pattern| pattern.matches(&namespace)) {
        return Err(Error::Forbidden("this namespace is out of reach".into()));
    }
    let rights = match &request.capabilities {
        Some(rights) => rights.intersect(&ceiling.rights),
        None => ceiling.rights.clone(),
    };
    let scopes = cut_scopes(ceiling.scopes.as_deref(), request.scopes.as_deref());
    let sensitivity: BTreeSet<_> = match &request.sensitivity {
        Some(wanted) => wanted.intersection(&ceiling.sensitivity).copied().collect(),
        None => ceiling.sensitivity.clone(),
    };
    if rights.is_empty() || scopes.as_ref().is_some_and(Vec::is_empty) || sensitivity.is_empty() {
        return Err(Error::Forbidden("nothing of what is asked for can be granted".into()));
    }
    let ttl = request.ttl_seconds.map_or(DEFAULT_TTL, |ttl| TimeDelta::seconds(ttl.into()));
    let asked_end = (now + ttl).trunc_subsecs(0);
    Ok(Grant {
        namespace,
        rights,
        scopes,
        sensitivity,
        control: request.control && ceiling.control,
        expires_at: ceiling.ends.map_or(asked_end, |ends| asked_end.min(ends.trunc_subsecs(0))),
    })
}

fn cut_scopes(ceiling: Option<&[Scope]>, wanted: Option<&[Scope]>) -> Option<Vec<Scope>> {
    let (from, within) = match (ceiling, wanted) {
        (None, None) => return None,
        (Some(scopes), None) | (None, Some(scopes)) => (scopes, scopes),
        (Some(ceiling), Some(wanted)) => (wanted, ceiling),
    };
    let kept: BTreeSet<&Scope> = from.iter().filter(|scope| within.contains(scope)).collect();
    Some(kept.into_iter().cloned().collect())
}

/// The claims of a child: those of its parent, cut to what is asked for.
pub fn attenuate(
    parent: &Claims,
    request: &TokenRequest,
    jti: CapabilityId,
    now: DateTime<Utc>,
) -> Result<Claims> {
    if parent.ancestors.len() >= MAX_DEPTH {
        let refusal = format!("a capability can be attenuated {MAX_DEPTH} times in a row");
        return Err(Error::Forbidden(refusal.into()));
    }
    let ceiling = Ceiling {
        namespaces: vec![NamespacePattern::only(&parent.namespace)],
        rights: parent.rights.clone(),
        scopes: parent.scopes.clone(),
        sensitivity: parent.sensitivity.clone(),
        control: parent.control,
        ends: parent.expires_at,
    };
    let request = TokenRequest {
        namespace: request.namespace.clone().or_else(|| Some(parent.namespace.clone())),
        ..request.clone()
    };
    let grant = cut(&ceiling, &request, now)?;
    let ancestors = parent.ancestors.iter().copied().chain(parent.jti).collect();
    // The epochs are the parent's: whatever ends the parent from now on ends the child too.
    Ok(Claims {
        jti: Some(jti),
        namespace: grant.namespace,
        rights: grant.rights,
        scopes: grant.scopes,
        sensitivity: grant.sensitivity,
        control: grant.control,
        expires_at: Some(grant.expires_at),
        ancestors,
        ..parent.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::{Action, Actor, Area, Epochs};
    use crate::id::{KeyId, TenantId};
    use crate::memory::ScopeKind;
    use proptest::prelude::*;

    const SENSITIVITIES: [Sensitivity; 4] =
        [Sensitivity::Normal, Sensitivity::Personal, Sensitivity::SecretLike, Sensitivity::Regulated];
    const ACTIONS: [Action; 4] = [Action::Read, Action::Write, Action::Delete, Action::Review];

    fn scopes() -> Vec<Scope> {
        let scope = |(kind, key): (ScopeKind, &str)| Scope { kind, key: key.to_owned() };
        let keys = ["a", "A", "ab"];
        ScopeKind::ALL.into_iter().flat_map(|kind| keys.map(|key| (kind, key))).map(scope).collect()
    }

    /// Some of the things, chosen by bits; with two bits more, none at all may be said.
    fn choose<T: Clone>(things: &[T], bits: u32) -> Vec<T> {
        let chosen = things.iter().enumerate().filter(|(place, _)| bits >> place & 1 == 1);
        chosen.map(|(_, thing)| thing.clone()).collect()
    }

    fn rights(bits: u32) -> Rights {
        let pairs: Vec<_> =
            Area::ALL.into_iter().flat_map(|area| ACTIONS.map(|action| (area, action))).collect();
        Rights::of(choose(&pairs, bits))
    }

    fn request(bits: [u32; 4]) -> TokenRequest {
        let said = |bit: u32| bits[3] >> bit & 3 != 0;
        let namespaces = [None, Some("default"), Some("default"), Some("team-a")];
        TokenRequest {
            namespace: namespaces[(bits[3] >> 8 & 3) as usize].and_then(|name| name.parse().ok()),
            capabilities: said(0).then(|| rights(bits[0])),
            scopes: said(2).then(|| choose(&scopes(), bits[1])),
            sensitivity: said(4).then(|| choose(&SENSITIVITIES, bits[2]).into_iter().collect()),
            control: bits[3] >> 6 & 1 == 1,
            ttl_seconds: (bits[3] >> 7 & 1 == 1).then_some(bits[2] >> 8),
        }
    }

    fn root(bits: [u32; 4], now: DateTime<Utc>) -> Claims {
        Claims {
            tenant: TenantId::new(),
            namespace: "default".parse().expect("a name"),
            key: KeyId::new(),
            jti: Some(CapabilityId::new()),
            rights: rights(bits[0]),
            scopes: (bits[3] & 1 == 1).then(|| choose(&scopes(), bits[1])),
            sensitivity: choose(&SENSITIVITIES, bits[2]).into_iter().collect(),
            control: bits[3] & 2 == 2,
            actor: Actor::default(),
            expires_at: (bits[3] & 4 == 4).then(|| now + TimeDelta::milliseconds(i64::from(bits[2]))),
            ancestors: Vec::new(),
            epochs: Epochs { tenant: 3, key: 4 },
        }
    }

    /// Asks about every single thing that a token can grant, so that it shares no code with what it checks.
    fn assert_not_wider(child: &Claims, parent: &Claims) {
        for area in Area::ALL {
            for action in ACTIONS {
                assert!(!child.rights.allows(area, action) || parent.rights.allows(area, action));
            }
        }
        let reaches = |claims: &Claims, scope| claims.scopes.as_ref().is_none_or(|list| list.contains(scope));
        for scope in &scopes() {
            assert!(!reaches(child, scope) || reaches(parent, scope));
        }
        assert!(child.scopes.is_some() || parent.scopes.is_none());
        assert!(child.sensitivity.is_subset(&parent.sensitivity));
        assert!(!child.control || parent.control);
        assert!(parent.expires_at.is_none_or(|end| child.expires_at.is_some_and(|mine| mine <= end)));
        assert_eq!(child.namespace, parent.namespace);
        assert_eq!((child.tenant, child.key, &child.actor), (parent.tenant, parent.key, &parent.actor));
        assert_eq!(child.epochs, parent.epochs);
        assert!(parent.jti.is_none_or(|jti| child.ancestors.contains(&jti)));
        assert!(parent.ancestors.iter().all(|jti| child.ancestors.contains(jti)));
        assert!(child.ancestors.len() <= MAX_DEPTH);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 25_000, ..ProptestConfig::default() })]

        /// Four attenuations each, so 100,000 in all.
        #[test]
        fn a_child_is_never_wider_than_its_parent(start: [u32; 4], steps: [[u32; 4]; 4]) {
            let now = DateTime::UNIX_EPOCH;
            let mut parent = root(start, now);
            for bits in steps {
                match attenuate(&parent, &request(bits), CapabilityId::new(), now) {
                    Ok(child) => {
                        assert_not_wider(&child, &parent);
                        parent = child;
                    }
                    Err(error) => prop_assert_eq!(error.code(), "forbidden"),
                }
            }
        }
    }

    #[test]
    fn a_fourth_attenuation_is_refused() {
        let now = DateTime::UNIX_EPOCH;
        let mut claims = root([u32::MAX, u32::MAX, u32::MAX, 0], now);
        for _ in 0..3 {
            claims =
                attenuate(&claims, &TokenRequest::default(), CapabilityId::new(), now).expect("three times");
        }
        let refused = attenuate(&claims, &TokenRequest::default(), CapabilityId::new(), now);
        assert!(matches!(refused, Err(Error::Forbidden(_))));
    }

    #[test]
    fn requests_that_name_nothing_are_refused_r45() {
        let max = TimeDelta::hours(1);
        let check = |json: &str| {
            serde_json::from_str::<TokenRequest>(json).is_ok_and(|request| request.check(max).is_ok())
        };
        for good in [
            r#"{"namespace":"a"}"#,
            r#"{"ttl_seconds":60,"control":true}"#,
            r#"{"ttl_seconds":3600,"capabilities":{"memory.durable":["read"]}}"#,
        ] {
            assert!(check(good), "{good}");
        }
        for bad in [
            r#"{"namespace":""}"#,
            r#"{"capabilities":{}}"#,
            r#"{"capabilities":{"memory.durable":[]}}"#,
            r#"{"capabilities":{"memory.durable":["review"]}}"#,
            r#"{"capabilities":{"memory.other":["read"]}}"#,
            r#"{"capabilities":{"memory.durable":["own"]}}"#,
            r#"{"scopes":[]}"#,
            r#"{"scopes":[{"kind":"user","key":""}]}"#,
            r#"{"sensitivity":[]}"#,
            r#"{"ttl_seconds":59}"#,
            r#"{"ttl_seconds":3601}"#,
            r#"{"ttl_seconds":-1}"#,
            r#"{"unknown":1}"#,
        ] {
            assert!(!check(bad), "{bad}");
        }
    }
}

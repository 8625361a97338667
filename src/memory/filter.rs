//! Which records a question is about: what was asked for, as far as the token reaches.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Category, Record, Scope, ScopeKind, Sensitivity, Status};
use crate::auth::Permit;
use crate::error::Result;

/// Which sensitivities a search may return. It only narrows what the token sees (XC-12, R-49).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "the contract's shape")]
pub struct SensitivityPolicy {
    /// Whether normal records are returned.
    #[serde(default)]
    pub allow_normal: bool,
    /// Whether personal records are returned.
    #[serde(default)]
    pub allow_personal: bool,
    /// Whether records that look like secrets are returned.
    #[serde(default)]
    pub allow_secret_like: bool,
    /// Whether regulated records are returned.
    #[serde(default)]
    pub allow_regulated: bool,
}

impl SensitivityPolicy {
    fn allows(self, sensitivity: Sensitivity) -> bool {
        match sensitivity {
            Sensitivity::Normal => self.allow_normal,
            Sensitivity::Personal => self.allow_personal,
            Sensitivity::SecretLike => self.allow_secret_like,
            Sensitivity::Regulated => self.allow_regulated,
        }
    }
}

/// Which records a question is about. An empty list matches nothing; an absent one does not limit.
#[derive(Debug, Clone)]
pub struct Filter {
    /// The statuses wanted.
    pub statuses: Vec<Status>,
    /// The sensitivities the token sees, as far as they are wanted.
    pub sensitivities: Vec<Sensitivity>,
    /// The categories wanted.
    pub categories: Option<Vec<Category>>,
    /// The scopes wanted, as far as the token reaches them.
    pub scopes: Option<Vec<Scope>>,
    /// The one conversation of a client that they were saved in (D-012).
    pub conversation: Option<String>,
}

impl Filter {
    /// What was asked for, cut to what the token reaches.
    pub fn new(
        permit: &Permit,
        scopes: Option<&[Scope]>,
        categories: Option<&[Category]>,
        statuses: &[Status],
        policy: Option<SensitivityPolicy>,
    ) -> Result<Self> {
        for (place, scope) in scopes.unwrap_or_default().iter().enumerate() {
            scope.check(&format!("scopes[{place}]"))?;
        }
        let wanted = |sensitivity: &Sensitivity| policy.is_none_or(|policy| policy.allows(*sensitivity));
        Ok(Self {
            statuses: unique(statuses),
            sensitivities: permit.sensitivity().iter().copied().filter(wanted).collect(),
            categories: categories.map(unique),
            scopes: reachable(permit.scopes(), scopes),
            conversation: None,
        })
    }

    /// The same, of one conversation.
    #[must_use]
    pub fn within(self, conversation: Option<&str>) -> Self {
        Self { conversation: conversation.map(str::to_owned), ..self }
    }

    /// Whether it can match nothing at all.
    pub fn is_empty(&self) -> bool {
        self.statuses.is_empty()
            || self.sensitivities.is_empty()
            || self.categories.as_ref().is_some_and(Vec::is_empty)
            || self.scopes.as_ref().is_some_and(Vec::is_empty)
    }

    /// Whether a record is one of those meant, as far as it can tell itself: in which conversations it was saved never
    /// changes, so that what was found in one is still of it.
    pub fn passes(&self, record: &Record) -> bool {
        self.statuses.contains(&record.status)
            && self.sensitivities.contains(&record.sensitivity)
            && self.categories.as_ref().is_none_or(|categories| categories.contains(&record.category))
            && self.scopes.as_ref().is_none_or(|scopes| scopes.contains(&record.scope))
    }

    /// The scopes as two columns.
    pub fn scope_columns(&self) -> (Option<Vec<ScopeKind>>, Option<Vec<String>>) {
        let columns =
            |scopes: &Vec<Scope>| scopes.iter().map(|scope| (scope.kind, scope.key.clone())).unzip();
        self.scopes.as_ref().map(columns).unzip()
    }
}

fn reachable(reach: Option<&[Scope]>, wanted: Option<&[Scope]>) -> Option<Vec<Scope>> {
    match (reach, wanted) {
        (None, None) => None,
        (Some(scopes), None) | (None, Some(scopes)) => Some(unique(scopes)),
        (Some(reach), Some(wanted)) => {
            Some(unique(wanted).into_iter().filter(|scope| reach.contains(scope)).collect())
        }
    }
}

fn unique<T: Ord + Clone>(values: &[T]) -> Vec<T> {
    values.iter().cloned().collect::<BTreeSet<T>>().into_iter().collect()
}

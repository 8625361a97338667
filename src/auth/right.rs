//! The vocabulary of rights: areas, actions, namespaces, actors.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// What can be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// See.
    Read,
    /// Make and change.
    Write,
    /// Take away.
    Delete,
    /// Decide on candidates.
    Review,
}

impl Action {
    /// The action's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Delete => "delete",
            Self::Review => "review",
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A sort of memory, which the contract calls a domain (R-13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Area {
    /// Slots of the working memory.
    #[serde(rename = "memory.working")]
    Working,
    /// Durable records.
    #[serde(rename = "memory.durable")]
    Durable,
    /// Candidates for durable records.
    #[serde(rename = "memory.candidates")]
    Candidates,
    /// Cognitive sessions.
    #[serde(rename = "memory.cognitive")]
    Cognitive,
    /// The stream of changes.
    #[serde(rename = "memory.events")]
    Events,
}

impl Area {
    /// Every area.
    pub const ALL: [Self; 5] =
        [Self::Working, Self::Durable, Self::Candidates, Self::Cognitive, Self::Events];

    /// The area's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Working => "memory.working",
            Self::Durable => "memory.durable",
            Self::Candidates => "memory.candidates",
            Self::Cognitive => "memory.cognitive",
            Self::Events => "memory.events",
        }
    }

    /// The actions that mean something here (R-30).
    pub fn actions(self) -> &'static [Action] {
        match self {
            Self::Working | Self::Durable => &[Action::Read, Action::Write, Action::Delete],
            Self::Candidates => &[Action::Read, Action::Write, Action::Review],
            Self::Cognitive => &[Action::Read, Action::Write],
            Self::Events => &[Action::Read],
        }
    }
}

impl fmt::Display for Area {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Which actions are allowed in which area. Areas without an action are not in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Rights(BTreeMap<Area, BTreeSet<Action>>);

impl Rights {
    /// Every right there is.
    pub fn all() -> Self {
        Self(Area::ALL.iter().map(|&area| (area, area.actions().iter().copied().collect())).collect())
    }

    /// Just these rights.
    pub fn of(rights: impl IntoIterator<Item = (Area, Action)>) -> Self {
        let mut all = Self::default();
        for (area, action) in rights {
            all.0.entry(area).or_default().insert(action);
        }
        all
    }

    /// Whether the action is allowed in the area.
    pub fn allows(&self, area: Area, action: Action) -> bool {
        self.0.get(&area).is_some_and(|actions| actions.contains(&action))
    }

    /// What both allow.
    #[must_use]
    pub fn intersect(&self, other: &Self) -> Self {
        let both = self.iter().filter(|&(area, action)| other.allows(area, action));
        Self::of(both)
    }

    /// Whether nothing is allowed.
    pub fn is_empty(&self) -> bool {
        self.0.values().all(BTreeSet::is_empty)
    }

    /// Every allowed pair.
    pub fn iter(&self) -> impl Iterator<Item = (Area, Action)> {
        self.0.iter().flat_map(|(&area, actions)| actions.iter().map(move |&action| (area, action)))
    }

    /// Refuses an empty list and an action that its area does not know (R-30, R-45).
    pub fn check(&self, field: &'static str) -> Result<()> {
        if self.is_empty() {
            return Err(Error::invalid(field, "must name at least one right"));
        }
        match self.iter().find(|(area, action)| !area.actions().contains(action)) {
            Some((area, action)) => Err(Error::invalid(field, format!("{area} has no action {action}"))),
            None => Ok(()),
        }
    }
}

/// The name of a memory space within a tenant: 1 to 128 letters, digits and `-_.:/`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Namespace(#[schemars(regex(pattern = r"^[A-Za-z0-9._:/-]{1,128}$"))] String);

impl Namespace {
    /// The longest name, in bytes.
    pub const MAX_BYTES: usize = 128;

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Namespace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let legal = |b: u8| b.is_ascii_alphanumeric() || b"-_.:/".contains(&b);
        if text.is_empty() || text.len() > Self::MAX_BYTES || !text.bytes().all(legal) {
            return Err(format!("must be 1 to {} letters, digits and -_.:/", Self::MAX_BYTES));
        }
        Ok(Self(text.to_owned()))
    }
}

impl TryFrom<String> for Namespace {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Namespace> for String {
    fn from(namespace: Namespace) -> Self {
        namespace.0
    }
}

/// Which namespaces a key may choose from: a name, the start of names and a `*`, or `*` for all.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct NamespacePattern(#[schemars(regex(pattern = r"^[A-Za-z0-9._:/-]{0,128}\*?$"))] String);

impl NamespacePattern {
    /// The pattern that matches this namespace and no other.
    pub fn only(namespace: &Namespace) -> Self {
        Self(namespace.0.clone())
    }

    /// The pattern that matches every namespace.
    pub fn every() -> Self {
        Self("*".to_owned())
    }

    /// Whether the namespace is one of those meant.
    pub fn matches(&self, namespace: &Namespace) -> bool {
        match self.0.strip_suffix('*') {
            Some(start) => namespace.0.starts_with(start),
            None => self.0 == namespace.0,
        }
    }
}

impl TryFrom<String> for NamespacePattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let name = text.strip_suffix('*').unwrap_or(&text);
        if text != "*" {
            name.parse::<Namespace>()?;
        }
        Ok(Self(text))
    }
}

impl From<NamespacePattern> for String {
    fn from(pattern: NamespacePattern) -> Self {
        pattern.0
    }
}

/// In whose name something is written (R-39).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Actor {
    /// The sort of actor.
    pub kind: ActorKind,
    /// Which one, in the tenant's own terms. At most 256 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

impl Default for Actor {
    fn default() -> Self {
        Self { kind: ActorKind::User, id: None }
    }
}

/// The sorts of actors (PC-15).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActorKind {
    /// A person.
    User,
    /// A model.
    Assistant,
    /// A program that finds facts in text.
    Extractor,
    /// The deployment itself.
    System,
    /// A tool that an agent calls.
    Tool,
}

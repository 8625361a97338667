//! Whose memory a record is.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Whose memory a record is: a user's, a workspace's, an agent's, a thread's or a task's (C-041).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemoryScope")]
#[serde(deny_unknown_fields)]
pub struct Scope {
    /// The sort of owner.
    pub kind: ScopeKind,
    /// Which one, in the tenant's own terms: 1 to 256 bytes, compared byte by byte.
    #[schemars(length(min = 1, max = 256))]
    pub key: String,
}

/// The sorts of owners (C-042, PC-10).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, sqlx::Type,
)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum ScopeKind {
    /// A person.
    User,
    /// A project or team.
    Workspace,
    /// An agent.
    Agent,
    /// One conversation.
    Thread,
    /// One task.
    Task,
}

impl ScopeKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::User, Self::Workspace, Self::Agent, Self::Thread, Self::Task];

    /// The kind's name on the wire and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Workspace => "workspace",
            Self::Agent => "agent",
            Self::Thread => "thread",
            Self::Task => "task",
        }
    }
}

impl FromStr for ScopeKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|kind| kind.as_str() == text);
        found.ok_or_else(|| format!("{text:?} is none of user, workspace, agent, thread, task"))
    }
}

impl Scope {
    /// Refuses a key that is empty, over 256 bytes or holds control characters.
    pub fn check(&self, field: &str) -> Result<()> {
        check_identifier(&self.key, 256).map_err(|error| error.inside("key").inside(field))
    }
}

/// As in a query string: the kind, a colon, the key.
impl FromStr for Scope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, key) = text.split_once(':').ok_or("a scope is written kind:key")?;
        Ok(Self { kind: kind.parse()?, key: key.to_owned() })
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind.as_str(), self.key)
    }
}

/// Refuses an identifier that is empty or blank, over its limit, or holds characters that do not show or that turn
/// the direction of the text around them.
pub fn check_identifier(text: &str, max_bytes: usize) -> Result<()> {
    if text.len() > max_bytes {
        let rule = format!("is longer than {max_bytes} bytes");
        return Err(Error::over_limit("", rule, max_bytes as u64, text.len() as u64));
    }
    if super::text::is_blank(text) {
        return Err(Error::invalid("", "is empty or blank"));
    }
    let is_bidi = |c: char| matches!(c, '\u{200E}' | '\u{200F}' | '\u{061C}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    if text.chars().any(|c| c.is_control() || is_bidi(c)) {
        return Err(Error::invalid("", "holds a control character"));
    }
    Ok(())
}

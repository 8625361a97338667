//! The durable record as clients see it, and the vocabulary of its fields.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Scope;
use crate::auth::{Actor, Namespace};
use crate::id::MemoryId;
use crate::time::UnixTime;

/// A durable memory record, active or historical (C-040, PC-21).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemoryRecord")]
pub struct Record {
    /// The record's id.
    pub id: MemoryId,
    /// Whose memory it is.
    pub scope: Scope,
    /// The namespace it lies in, which is the token's.
    pub namespace: Namespace,
    /// What sort of thing it says.
    pub category: Category,
    /// The name under which its owner finds it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What it says.
    pub content: String,
    /// Whether it is current.
    pub status: Status,
    /// How sure the writer is, 0 to 1.
    pub confidence: f64,
    /// How much it matters, 0 to 1.
    pub importance: f64,
    /// How carefully it is to be shown.
    pub sensitivity: Sensitivity,
    /// Where it comes from. Left out of search hits unless asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// What sort of text it was taken from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_context_kind: Option<SourceContextKind>,
    /// Where in a conversation it stands.
    pub context: Context,
    /// Rises by one with each change, from 1.
    pub version: i64,
    /// When it was first remembered.
    pub created_at: UnixTime,
    /// When it last changed.
    pub updated_at: UnixTime,
    /// When it stops being active.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<UnixTime>,
    /// When a search or get last returned it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_accessed_at: Option<UnixTime>,
    /// How often a get returned it.
    pub access_count: i64,
    /// The record that took its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<MemoryId>,
    /// When it was forgotten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<UnixTime>,
    /// Why it was forgotten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delete_reason: Option<String>,
    /// The client's own data. At most 16 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<serde_json::Map<String, serde_json::Value>>,
}

/// Where in a conversation a record stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Context {
    /// The conversation, in the client's own terms. At most 256 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// The place in the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<i64>,
    /// Who said it. At most 256 bytes; part of what is searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speaker: Option<String>,
    /// When it was said or seen; the time of writing unless given. Part of what is searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_at: Option<UnixTime>,
}

/// Where a record comes from (PC-22).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemoryProvenance")]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The conversation it was taken from. At most 256 bytes, as the two below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_thread_id: Option<String>,
    /// The turn it was taken from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_turn_id: Option<String>,
    /// The item within the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_item_id: Option<String>,
    /// How it came to be (PC-40).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_kind: Option<SourceKind>,
    /// Who wrote it. Taken from the token; what a client sends is replaced (PC-06).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by: Option<Actor>,
}

impl fmt::Display for Sensitivity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What sort of thing a record says (PC-11).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, sqlx::Type,
)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Category {
    Identity,
    Preference,
    Biography,
    Relationship,
    RecurringInstruction,
    ProjectPolicy,
    ProjectFact,
    ProjectDecision,
    Procedure,
    Todo,
    Constraint,
    CommunicationStyle,
    Custom,
}

/// Whether a record is current (PC-12).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, sqlx::Type,
)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It is.
    Active,
    /// Another record took its place.
    Superseded,
    /// It was forgotten; recoverable for 30 days.
    Deleted,
    /// Its time is over.
    Expired,
}

/// How carefully a record is to be shown (PC-13).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, sqlx::Type,
)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Sensitivity {
    /// To anyone who may read.
    Normal,
    /// About a person.
    Personal,
    /// Looks like a key, a token or a password.
    SecretLike,
    /// Under a law of its own.
    Regulated,
}

/// What sort of text a record was taken from (PC-18). Unknown names become `unknown`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, sqlx::Type,
)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum SourceContextKind {
    DirectUserConversation,
    AssistantResponse,
    ToolResult,
    TaskRuntime,
    SystemRuntime,
    DeveloperInstruction,
    ConnectorContent,
    ImportedDocument,
    GeneratedSummary,
    #[serde(other)]
    Unknown,
}

/// How a record came to be (PC-40).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum SourceKind {
    ExplicitUserRequest,
    UserCorrection,
    AssistantInference,
    BackgroundExtractor,
    ToolObservation,
    Import,
    System,
}

/// What a change did to a record (XC-51).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum ChangeKind {
    Created,
    Updated,
    Superseded,
    Deleted,
    Restored,
    Expired,
}

impl Category {
    /// The name on the wire and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Preference => "preference",
            Self::Biography => "biography",
            Self::Relationship => "relationship",
            Self::RecurringInstruction => "recurring_instruction",
            Self::ProjectPolicy => "project_policy",
            Self::ProjectFact => "project_fact",
            Self::ProjectDecision => "project_decision",
            Self::Procedure => "procedure",
            Self::Todo => "todo",
            Self::Constraint => "constraint",
            Self::CommunicationStyle => "communication_style",
            Self::Custom => "custom",
        }
    }
}

impl Sensitivity {
    /// Every sensitivity.
    pub const ALL: [Self; 4] = [Self::Normal, Self::Personal, Self::SecretLike, Self::Regulated];

    /// The name on the wire and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Personal => "personal",
            Self::SecretLike => "secret_like",
            Self::Regulated => "regulated",
        }
    }
}

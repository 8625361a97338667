//! The vocabulary of semantic writes and candidates (PC-14 to PC-19).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What became of a candidate (C-050 to C-059, PC-14).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, sqlx::Type,
)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
#[schemars(rename = "MemoryCandidateStatus")]
#[serde(rename_all = "snake_case")]
pub enum CandidateStatus {
    /// Not decided.
    Pending,
    /// Kept silently for what may come.
    PendingSilent,
    /// May be brought up when it is relevant.
    AskOnUse,
    /// Wants a review.
    NeedsReview,
    /// Became an active record.
    Approved,
    /// A reviewer said no.
    Rejected,
    /// The policy said no, or a reviewer suppressed it and those like it.
    AutoRejected,
    /// Not sure enough, and nobody reviews.
    ReviewDisabledRejected,
    /// Merged into a record or another candidate.
    MergedDuplicate,
    /// Nobody decided in time.
    Expired,
    /// The record it became has given its place to another.
    Superseded,
}

impl CandidateStatus {
    /// Every status.
    pub const ALL: [Self; 11] = [
        Self::Pending,
        Self::PendingSilent,
        Self::AskOnUse,
        Self::NeedsReview,
        Self::Approved,
        Self::Rejected,
        Self::AutoRejected,
        Self::ReviewDisabledRejected,
        Self::MergedDuplicate,
        Self::Expired,
        Self::Superseded,
    ];

    /// Whether it can still be decided (PC-39).
    pub fn is_pending(self) -> bool {
        matches!(self, Self::Pending | Self::PendingSilent | Self::AskOnUse | Self::NeedsReview)
    }

    /// The name on the wire and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::PendingSilent => "pending_silent",
            Self::AskOnUse => "ask_on_use",
            Self::NeedsReview => "needs_review",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::AutoRejected => "auto_rejected",
            Self::ReviewDisabledRejected => "review_disabled_rejected",
            Self::MergedDuplicate => "merged_duplicate",
            Self::Expired => "expired",
            Self::Superseded => "superseded",
        }
    }
}

/// What the speaker wants done with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Intent {
    ExplicitStore,
    ExplicitForget,
    ExplicitNoMemory,
    ImplicitCandidate,
    None,
}

/// Whether it was said outright.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Explicitness {
    Explicit,
    Implicit,
    None,
    Unclear,
}

/// Whom or what it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Subject {
    CurrentUser,
    CurrentAgent,
    Workspace,
    Project,
    Person,
    Organization,
    Artifact,
    Custom,
}

/// What it says about the subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Attribute {
    Name,
    Birthday,
    PreferredLanguage,
    CommunicationStyle,
    MigrationPolicy,
    ReviewStyle,
    PhaseNaming,
    Custom,
}

/// Whose memory the writer takes it to be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum ScopeHint {
    UserGlobal,
    UserWorkspace,
    AgentGlobal,
    AgentWorkspace,
    ProjectWorkspace,
    #[default]
    Unknown,
}

/// How long it is likely to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Durability {
    LongLived,
    ProjectLifetime,
    SessionOnly,
    Transient,
    Unknown,
}

/// How carefully it is to be treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum SensitivityHint {
    None,
    Low,
    Personal,
    Regulated,
    Secret,
    Unknown,
}

/// How sure the writer is of having understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Certainty {
    High,
    Medium,
    Low,
}

/// How a write relates to what is known (PC-17).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// It is known: nothing new is stored but its evidence.
    Duplicate,
    /// It takes the place of another value, as it was asked to.
    CompatibleUpdate,
    /// Another value is known.
    Contradiction,
    /// Nothing is known of it.
    Novel,
    /// The same or the like was rejected, suppressed or forgotten.
    SuppressedByRejection,
}

/// What the writer asks the service to do (PC-17). The service has the last word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Disposition {
    /// Make it active, if it was said outright. Needs write on durable memory.
    AcceptActive,
    /// Make it a candidate for review.
    CreatePendingCandidate,
    /// Do not keep it.
    RejectSuppressed,
    /// Let the policy decide.
    #[default]
    RouteToCandidatePolicy,
}

/// How many values a canonical key can have (PC-17).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cardinality {
    /// One: another value contradicts.
    SingleValue,
    /// Several, each under a key of its own.
    MultiValue,
    /// A set of facts, each under a key of its own.
    SetMembership,
}

/// What a reviewer decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Decision {
    Approve,
    Reject,
    Expire,
}

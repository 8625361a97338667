//! The one error type of the crate: one variant for each thing a client can react to.
//!
//! It names no library. `db.rs` and `kv.rs` translate what their libraries report; `http/error.rs`
//! renders it on the wire and matches every variant, so that a new one does not compile until it has an answer.

use std::borrow::Cow;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result of every operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, as far as the caller may know it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The content of a request breaks a rule: 400.
    #[error("{0}")]
    Invalid(Fault),
    /// The JSON is well formed and does not fit the type: 422.
    #[error("{0}")]
    Unprocessable(Fault),
    /// No or bad credentials: 401.
    #[error("{0}")]
    Unauthorized(&'static str),
    /// Authenticated, and not allowed: 403.
    #[error("{0}")]
    Forbidden(Cow<'static, str>),
    /// The bearer belongs to another tenant than the capability: 403 (R-13a).
    #[error("the bearer and the capability belong to different tenants")]
    DatabaseMismatch,
    /// The tenant is suspended: 403.
    #[error("this tenant is suspended")]
    TenantSuspended,
    /// Does not exist, or belongs to somebody else, which must look the same: 404.
    #[error("{0} not found")]
    NotFound(&'static str),
    /// The state of the thing does not allow it: 409.
    #[error("{0}")]
    Conflict(Cow<'static, str>),
    /// There is no place left in the working memory, and nothing may be taken out for it: 409.
    #[error("{0}")]
    Capacity(&'static str),
    /// A slot would end after all time: 500, the one fault of ours whose words are told.
    #[error("working memory expiry overflow")]
    ExpiryOverflow,
    /// The candidate is decided already, and how: 409.
    #[error("the candidate is {0}, not pending")]
    NotPending(&'static str),
    /// The stream cannot go on from there: what followed is not kept any more: 410.
    #[error("what followed this number is not kept any more: start again without it, or with 0")]
    CursorExpired,
    /// An earlier request with the same idempotency key is still running: 409 with `Retry-After`.
    #[error("a request with this idempotency key is still running")]
    StillRunning,
    /// `If-Match` names another version than the current one: 412.
    #[error("the record is at version {current}")]
    Stale {
        /// The version the record has now.
        current: i64,
    },
    /// A body, a value or a content is too large: 413.
    #[error("{0}")]
    TooLarge(Fault),
    /// The failure that an earlier request with the same idempotency key was answered with.
    #[error("{}", .0.report.message)]
    Kept(Box<KeptError>),
    /// The idempotency key was used with another body: 422.
    #[error("this idempotency key was used with another body")]
    IdempotencyMismatch,
    /// The tenant asks for more than it may at the moment: 429 with `Retry-After`.
    #[error("the tenant is over its limit of {limit}: {what}")]
    RateLimited {
        /// The name of the limit.
        what: &'static str,
        /// The limit.
        limit: u32,
        /// When it is worth trying again.
        retry_after: Duration,
    },
    /// Something this request needs is out of reach or full: 503 with `Retry-After`.
    #[error("{what} is unavailable")]
    Unavailable {
        /// What is out of reach, in a word the caller may see.
        what: &'static str,
        /// When it is worth trying again.
        retry_after: Duration,
    },
    /// A fault of ours: 500. The source is logged once, at the edge, and never shown.
    #[error("internal error")]
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// A failure as it is shown to a client, the same on every wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorReport {
    /// The stable name of the error.
    pub code: String,
    /// What is wrong, for a person.
    pub message: String,
    /// The field at fault and the limit it broke.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<ErrorDetails>,
}

/// The field at fault and the limit it broke.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorDetails {
    /// The field, as a path such as `items[3].content`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub field: String,
    /// The limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// What was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual: Option<u64>,
}

impl ErrorReport {
    /// The report of an error.
    pub fn new(error: &Error) -> Self {
        let fault = match error {
            Error::Kept(kept) => return kept.report.clone(),
            Error::Invalid(fault) | Error::Unprocessable(fault) | Error::TooLarge(fault) => Some(fault),
            _ => None,
        };
        let mut details = fault.map(|fault| {
            let (limit, actual) = fault.limit.unzip();
            ErrorDetails { field: fault.field.to_string(), limit, actual }
        });
        if let Error::RateLimited { what, limit, .. } = error {
            let limit = Some(u64::from(*limit));
            details = Some(ErrorDetails { field: (*what).to_owned(), limit, actual: None });
        }
        let is_telling = |details: &ErrorDetails| !details.field.is_empty() || details.limit.is_some();
        Self {
            code: error.code().to_owned(),
            message: error.to_string(),
            details: details.filter(is_telling),
        }
    }
}

/// A failure as it is kept for repeated requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptError {
    /// The HTTP status, 400 to 499.
    pub status: u16,
    /// What was said.
    pub report: ErrorReport,
}

impl KeptError {
    /// The failure to keep, if the same request would fail in the same way again.
    pub fn of(error: &Error) -> Option<Self> {
        let status = match error {
            Error::Invalid(_) => 400,
            Error::Unprocessable(_) => 422,
            Error::TooLarge(_) => 413,
            Error::NotFound(_) => 404,
            Error::Conflict(_) | Error::Capacity(_) | Error::NotPending(_) => 409,
            Error::Stale { .. } => 412,
            _ => return None,
        };
        Some(Self { status, report: ErrorReport::new(error) })
    }
}

/// What is wrong with a request: the field, the rule, and the limit it broke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The field at fault, as a path such as `items[3].content`; empty when it is the whole body.
    pub field: Cow<'static, str>,
    /// What the rule says, in a sentence that starts after the field's name.
    pub rule: Cow<'static, str>,
    /// The limit that was broken, and what was sent.
    pub limit: Option<(u64, u64)>,
}

impl Fault {
    /// A fault without a number in it.
    pub fn new(field: impl Into<Cow<'static, str>>, rule: impl Into<Cow<'static, str>>) -> Self {
        Self { field: field.into(), rule: rule.into(), limit: None }
    }

    /// The same fault seen from the object that contains the field.
    #[must_use]
    pub fn inside(mut self, parent: &str) -> Self {
        self.field = match self.field.as_ref() {
            "" => parent.to_owned().into(),
            field => format!("{parent}.{field}").into(),
        };
        self
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.field.as_ref() {
            "" => write!(f, "{}", self.rule),
            field => write!(f, "`{field}` {}", self.rule),
        }
    }
}

impl Error {
    /// A field that breaks a rule.
    pub fn invalid(field: impl Into<Cow<'static, str>>, rule: impl Into<Cow<'static, str>>) -> Self {
        Self::Invalid(Fault::new(field, rule))
    }

    /// A field whose size or number is over a limit; `rule` states the limit in words.
    pub fn over_limit(
        field: impl Into<Cow<'static, str>>,
        rule: impl Into<Cow<'static, str>>,
        limit: u64,
        actual: u64,
    ) -> Self {
        Self::Invalid(Fault { field: field.into(), rule: rule.into(), limit: Some((limit, actual)) })
    }

    /// A body, value or content over its limit in bytes.
    pub fn too_large(field: impl Into<Cow<'static, str>>, limit: u64, actual: u64) -> Self {
        Self::TooLarge(Fault {
            field: field.into(),
            rule: format!("is larger than {limit} bytes").into(),
            limit: Some((limit, actual)),
        })
    }

    /// Something that should not happen and did.
    pub fn internal(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Internal(source.into())
    }

    /// Something this request needs is away for the moment.
    pub fn unavailable(what: &'static str) -> Self {
        Self::Unavailable { what, retry_after: Duration::from_secs(1) }
    }

    /// Others changed the same things at the same time: it is worth trying again at once.
    pub fn collision() -> Self {
        Self::Unavailable { what: "the record, which others are changing,", retry_after: Duration::ZERO }
    }

    /// Whether it is worth trying again at once.
    pub fn is_collision(&self) -> bool {
        matches!(self, Self::Unavailable { retry_after: Duration::ZERO, .. })
    }

    /// The same error, its field seen from the object that contains it.
    #[must_use]
    pub fn inside(self, parent: &str) -> Self {
        match self {
            Self::Invalid(fault) => Self::Invalid(fault.inside(parent)),
            Self::Unprocessable(fault) => Self::Unprocessable(fault.inside(parent)),
            Self::TooLarge(fault) => Self::TooLarge(fault.inside(parent)),
            other => other,
        }
    }

    /// The stable name of the error, the same on every wire.
    pub fn code(&self) -> &str {
        match self {
            Self::Invalid(_) => "invalid_request",
            Self::Unprocessable(_) => "unprocessable",
            Self::Unauthorized(_) => "unauthorized",
            Self::Forbidden(_) => "forbidden",
            Self::DatabaseMismatch => "database_mismatch",
            Self::TenantSuspended => "tenant_suspended",
            Self::NotFound(_) => "not_found",
            Self::Conflict(_) | Self::StillRunning => "conflict",
            Self::Capacity(_) => "working_memory_capacity",
            Self::NotPending(_) => "not_pending",
            Self::CursorExpired => "cursor_expired",
            Self::Stale { .. } => "precondition_failed",
            Self::TooLarge(_) => "payload_too_large",
            Self::Kept(kept) => &kept.report.code,
            Self::IdempotencyMismatch => "idempotency_mismatch",
            Self::RateLimited { .. } => "rate_limited",
            Self::Unavailable { .. } => "unavailable",
            Self::Internal(_) | Self::ExpiryOverflow => "internal",
        }
    }
}

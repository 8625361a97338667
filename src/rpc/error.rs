//! How an [`Error`] looks in JSON-RPC (XC-04, R-17).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorDetails, ErrorReport};

/// Codes of JSON-RPC 2.0.
pub const PARSE_ERROR: i32 = -32700;
/// What is no request.
pub const INVALID_REQUEST: i32 = -32600;
/// A method there is not.
pub const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const INTERNAL: i32 = -32603;
const UNAUTHORIZED: i32 = -32001;
const FORBIDDEN: i32 = -32003;
const CONFLICT: i32 = -32009;
const TOO_LARGE: i32 = -32013;
const RATE_LIMITED: i32 = -32029;
const UNAVAILABLE: i32 = -32050;

/// Why a request was refused or failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RpcError {
    /// The number of the sort of error.
    pub code: i32,
    /// What is wrong, for a person.
    pub message: String,
    /// What is wrong, for a program.
    pub data: ErrorData,
}

/// What is wrong, for a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorData {
    /// The stable name of the error, the same as over REST.
    pub code: String,
    /// The field at fault and the limit it broke.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<ErrorDetails>,
    /// What to name when asking for help.
    pub request_id: String,
}

/// The number of each error.
pub fn code(error: &Error) -> i32 {
    match error {
        Error::Invalid(_) | Error::Unprocessable(_) | Error::NotFound(_) => INVALID_PARAMS,
        Error::Unauthorized(_) => UNAUTHORIZED,
        Error::Forbidden(_) | Error::DatabaseMismatch | Error::TenantSuspended => FORBIDDEN,
        Error::Conflict(_)
        | Error::Capacity(_)
        | Error::NotPending(_)
        | Error::StillRunning
        | Error::Stale { .. }
        | Error::CursorExpired
        | Error::IdempotencyMismatch => CONFLICT,
        Error::TooLarge(_) => TOO_LARGE,
        Error::Kept(kept) => match kept.status {
            409 | 412 => CONFLICT,
            413 => TOO_LARGE,
            _ => INVALID_PARAMS,
        },
        Error::RateLimited { .. } => RATE_LIMITED,
        Error::Unavailable { .. } => UNAVAILABLE,
        Error::Internal(_) | Error::ExpiryOverflow => INTERNAL,
    }
}

impl RpcError {
    /// The failure of a method. A fault of ours is logged here, and nowhere else.
    pub fn of(error: &Error, method: &str, request_id: &str) -> Self {
        let report = ErrorReport::new(error);
        let code = code(error);
        let message = match error {
            Error::Internal(source) => {
                tracing::error!(request.id = request_id, rpc.method = method, error = %source, "a request failed on a fault of ours");
                format!("failed to process `{method}`")
            }
            _ if code == INVALID_PARAMS => format!("invalid params for `{method}`: {}", report.message),
            _ => report.message,
        };
        let data =
            ErrorData { code: report.code, details: report.details, request_id: request_id.to_owned() };
        Self { code, message, data }
    }

    /// A message in which no request can be made out.
    pub fn parse_error(reason: &str, request_id: &str) -> Self {
        let message = format!("the message is not valid JSON: {reason}");
        Self { code: PARSE_ERROR, message, data: ErrorData::new("parse_error", request_id) }
    }

    /// Something that is no request.
    pub fn invalid_request(error: &Error, request_id: &str) -> Self {
        let report = ErrorReport::new(error);
        let data = ErrorData { details: report.details, ..ErrorData::new("invalid_request", request_id) };
        Self { code: INVALID_REQUEST, message: format!("invalid request: {}", report.message), data }
    }

    /// A method there is not.
    pub fn no_such_method(method: &str, request_id: &str) -> Self {
        let shown: String = method.chars().take(64).collect();
        let message = format!("there is no method `{shown}`");
        Self { code: METHOD_NOT_FOUND, message, data: ErrorData::new("method_not_found", request_id) }
    }
}

impl ErrorData {
    fn new(code: &str, request_id: &str) -> Self {
        Self { code: code.to_owned(), details: None, request_id: request_id.to_owned() }
    }
}

//! What a tenant may use.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a tenant may use. Null is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Requests a second, on average.
    pub requests_per_second: Option<u32>,
    /// Requests at once after a pause.
    pub burst: Option<u32>,
    /// Requests under way at the same time.
    pub max_in_flight: Option<u32>,
    /// Active records.
    pub max_memories: Option<u64>,
    /// Bytes of content of active records.
    pub max_bytes: Option<u64>,
    /// Namespaces.
    pub max_namespaces: Option<u32>,
    /// Event streams open at the same time.
    pub max_streams: Option<u32>,
    /// Jobs that wait.
    pub max_queued_jobs: Option<u32>,
}

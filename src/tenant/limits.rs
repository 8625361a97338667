//! What a tenant may use.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

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

impl Limits {
    /// Refuses a rate, a burst or a number of requests at once of 0: who may do nothing is suspended.
    pub fn check(&self) -> Result<()> {
        let counts = [
            ("limits.requests_per_second", self.requests_per_second),
            ("limits.burst", self.burst),
            ("limits.max_in_flight", self.max_in_flight),
        ];
        match counts.into_iter().find(|(_, count)| *count == Some(0)) {
            Some((field, _)) => {
                Err(Error::invalid(field, "must be 1 at least; suspend a tenant to keep it out"))
            }
            None => Ok(()),
        }
    }
}

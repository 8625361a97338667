//! Why a WebSocket is closed, as its client is told.

use std::borrow::Cow;

use axum::extract::ws::CloseFrame;

use crate::error::Error;

/// The longest reason that a close frame has room for, in bytes.
const MAX_REASON_BYTES: usize = 123;

/// Why a connection is closed by this side.
#[derive(Debug)]
pub struct Close {
    code: u16,
    reason: Cow<'static, str>,
}

impl Close {
    /// A code and what it means here.
    pub fn new(code: u16, reason: impl Into<Cow<'static, str>>) -> Self {
        Self { code, reason: reason.into() }
    }

    /// How a stream that cannot be opened, or not go on, is told.
    pub fn of(error: &Error) -> Self {
        let code = match error {
            Error::Unauthorized(_) => 4401,
            Error::Forbidden(_) | Error::DatabaseMismatch | Error::TenantSuspended => 4403,
            Error::CursorExpired => 4410,
            Error::Unavailable { .. } | Error::RateLimited { .. } => 1013,
            Error::Internal(source) => {
                tracing::error!(error = %source, "a connection failed on a fault of ours");
                1011
            }
            _ => 4400,
        };
        Self::new(code, error.to_string())
    }

    /// As it is sent.
    pub fn frame(&self) -> CloseFrame {
        let reason = &self.reason[..self.reason.floor_char_boundary(MAX_REASON_BYTES)];
        CloseFrame { code: self.code, reason: reason.into() }
    }
}

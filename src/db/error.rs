//! What sqlx reports, in our words. The only place that knows Postgres' error codes.

use crate::error::{Error, Result};

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        if is_collision(&error) {
            tracing::info!(error = %error, "two transactions got in each other's way");
            return Self::collision();
        }
        if is_passing(&error) {
            tracing::warn!(error = %error, "the database could not serve a statement");
            return Self::unavailable("the database");
        }
        Self::internal(error)
    }
}

/// Whether the same statement may succeed a moment later.
pub(super) fn is_passing(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::BeginFailed
        | sqlx::Error::WorkerCrashed => true,
        sqlx::Error::Database(error) => error.code().is_some_and(|code| is_passing_code(&code)),
        _ => false,
    }
}

/// A deadlock, or a serialization failure: this transaction had to make room for another one.
fn is_collision(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    matches!(code.as_deref(), Some("40P01" | "40001"))
}

fn is_passing_code(code: &str) -> bool {
    matches!(
        code,
        "55P03"                                 // lock not available
        | "57014" | "57P01" | "57P02" | "57P03" // statement timeout, shutdown, crash, starting up
        | "25P03" | "25P04"                     // idle in transaction, transaction timeout
        | "25006" // read only: a standby after a failover
    ) || code.starts_with("08") // connection
        || code.starts_with("53") // out of connections, memory or disk
}

/// Turns the breach of a named constraint into an error the caller can act on.
pub trait OnConstraint<T> {
    /// Gives `error` when the statement failed on the constraint of this name.
    fn on_constraint(self, name: &str, error: impl FnOnce() -> Error) -> Result<T>;
}

impl<T> OnConstraint<T> for Result<T, sqlx::Error> {
    fn on_constraint(self, name: &str, error: impl FnOnce() -> Error) -> Result<T> {
        self.map_err(|cause| match cause.as_database_error().and_then(|e| e.constraint()) {
            Some(constraint) if constraint == name => error(),
            _ => cause.into(),
        })
    }
}

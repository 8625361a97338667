//! The integration tests: one program, on a real Postgres and a real Redis.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod admin;
mod auth;
mod catalog;
mod contract;
mod crowd;
mod embed;
mod isolation;
mod layering;
mod memory;
mod support;

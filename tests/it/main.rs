//! The integration tests: one program, on a real Postgres and a real Redis.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod admin;
mod auth;
mod batch;
mod candidate;
mod catalog;
mod cognitive;
mod concurrency;
mod context;
mod contract;
mod crowd;
mod embed;
mod event;
mod expiry;
mod extraction;
mod forget;
mod idempotency;
mod isolation;
mod languages;
mod layering;
mod limit;
mod list;
mod memory;
mod migration;
mod patch;
mod process;
mod reach;
mod remember;
mod resident;
mod rpc;
mod search;
mod sizes;
mod support;
mod transaction;
mod transport;
mod working;

//! Memtide: a memory backend for AI agents.
//!
//! An agent keeps the task at hand in working memory and what must last in durable memory. This crate is the whole
//! service. Read it from the outside in:
//!
//! * [`cli`] starts things; [`http`], [`rpc`] and [`mcp`] are the doors; each handler decodes, calls one operation,
//!   encodes.
//! * Operations live in the domains: [`memory`], [`note`], [`candidate`], [`source`], [`capture`], [`event`],
//!   [`working`], [`cognitive`], [`auth`], [`tenant`]; beside them [`idempotency`], [`limit`], [`embed`], [`extract`] and
//!   [`job`], which they use or which runs them. An operation checks the right, does slow outside work, then opens a
//!   transaction.
//! * Domains reach Postgres through [`db`], with a [`auth::Permit`] in hand, and Redis through [`kv`].
//!
//! `docs/architecture.md` tells the same with the reasons.

pub mod app;
pub mod auth;
pub mod candidate;
pub mod capture;
pub mod cli;
pub mod clock;
pub mod cognitive;
pub mod config;
pub mod db;
pub mod embed;
pub mod error;
pub mod event;
pub mod extract;
pub mod http;
pub mod id;
pub mod idempotency;
pub mod job;
pub mod kv;
pub mod limit;
pub mod mcp;
pub mod memory;
pub mod note;
pub mod page;
pub mod provider;
pub mod rpc;
pub mod seal;
pub mod source;
pub mod telemetry;
pub mod tenant;
pub mod time;
pub mod working;

/// The migrations, built into the program.
pub static MIGRATOR: sqlx::migrate::Migrator = sqlx::migrate!();

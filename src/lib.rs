//! Memtide: a memory backend for AI agents.

pub mod clock;
pub mod error;
pub mod id;

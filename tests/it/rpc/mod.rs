//! The memory protocol over JSON-RPC.

mod envelope;
mod record;
mod scenario;
mod socket;

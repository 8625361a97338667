//! The memory protocol over JSON-RPC.

mod envelope;
mod protocol;
mod record;
mod scenario;
mod socket;

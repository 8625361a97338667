//! The memory protocol over JSON-RPC.

mod envelope;
mod follower;
mod protocol;
mod record;
mod scenario;
mod socket;

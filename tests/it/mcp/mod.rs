//! The MCP door.

mod bridge;
mod protocol;
mod seed;
mod tool;

//! The MCP door.

mod bridge;
mod capture;
mod protocol;
mod seed;
mod tool;

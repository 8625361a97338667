//! What every test starts from.

mod app;
mod authority;
mod candidate;
mod capture;
mod client;
mod db;
mod follow;
mod log;
mod mcp;
mod memory;
mod postgres;
pub mod process;
mod proxy;
pub mod redis;
mod rpc;
mod socket;
pub mod stub;
pub mod wire;

pub use app::{Made, TestApp};
pub use candidate::{pending, proposal};
pub use client::{Client, Events, Reply};
pub use db::{TestDb, env, find_env};
pub use follow::{Follower, Sse};
pub use log::Log;
pub use memory::{each, fact, id, placed, with};
pub use postgres::TestPostgres;
pub use proxy::Proxy;
pub use socket::Socket;

//! What every test starts from.

mod app;
mod authority;
mod client;
mod db;
mod memory;
mod postgres;
pub mod process;
mod proxy;
mod rpc;
pub mod stub;
pub mod wire;

pub use app::{Made, TestApp};
pub use client::{Client, Reply};
pub use db::{TestDb, env};
pub use memory::{each, fact, id, placed, with};
pub use postgres::TestPostgres;
pub use proxy::Proxy;

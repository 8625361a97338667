//! What every test starts from.

mod app;
mod authority;
mod client;
mod db;
mod memory;
pub mod stub;

pub use app::{Made, TestApp};
pub use client::{Client, Reply};
pub use db::TestDb;
pub use memory::{each, fact, id, placed, with};

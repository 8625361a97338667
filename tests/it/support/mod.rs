//! What every test starts from.

mod app;
mod authority;
mod client;
mod db;
pub mod stub;

pub use app::{Made, TestApp};
pub use client::{Client, Reply};
pub use db::TestDb;

//! SQL of durable memory, except search.

mod change;
mod read;
mod write;

pub use change::write_changes;
pub use read::{find_by_identity, find_many, list_ids, lock, lock_by_identity, versions};
pub use write::{erase, index, insert, unindex, update};

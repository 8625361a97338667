//! SQL of durable memory, except search.

mod change;
mod read;
mod recall;
mod recent;
mod sweep;
mod write;

pub use change::write_changes;
pub use read::{
    find_by_identity, find_many, ids_of_scope, list_ids, lock, lock_by_identity, lock_in_order, lock_many,
    versions,
};
pub use recall::{at_versions, forgotten_like};
pub use recent::newest;
pub use sweep::{add_accesses, due, lock_tombstones, purge};
pub use write::{erase, index, insert, remove_terms, retire, unindex, update};

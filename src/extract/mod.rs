//! Finds in a text what is worth keeping, and what must not be kept.

pub mod secret;

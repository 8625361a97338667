//! The operator's API: tenants, keys, tokens.

mod erase;
mod key;
mod tenant;

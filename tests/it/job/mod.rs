//! Work that is done after its request was answered.

mod admin;
mod backfill;
mod crash;
mod failure;
mod purge;
mod queue;

//! Capturing the output of a task.

mod door;
mod facts;
mod forgotten;
mod gone;
mod model;
mod secrets;

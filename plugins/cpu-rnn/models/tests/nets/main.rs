//! The networks against the reference outputs, and on bad input.

mod bad_input;
mod common;
mod memory;
#[path = "../common/owned_batch.rs"]
mod owned_batch;
mod reference;

//! The networks against the reference outputs, and on bad input.

mod bad_input;
mod common;
mod memory;
mod reference;

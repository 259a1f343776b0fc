//! The networks against the reference outputs, and on bad input.

mod bad_input;
mod common;
mod documents;
mod events;
mod memory;
mod published;
mod reference;

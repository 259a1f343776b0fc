//! The networks against the reference outputs, and on bad input.

#![expect(clippy::unwrap_used, reason = "a helper that cannot go on fails the test")]

mod bad_input;
mod common;
mod documents;
mod events;
mod memory;
mod published;
mod reference;

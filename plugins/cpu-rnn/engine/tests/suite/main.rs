//! The integration tests of this crate, a module for each subject.

#![cfg(not(loom))]
#![expect(clippy::unwrap_used, reason = "a helper that cannot go on fails the test")]

mod against_reference;
mod behaviour;
mod common;
mod no_allocation;
mod refusals;
mod stream;

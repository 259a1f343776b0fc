//! The integration tests of this crate, a module for each subject.

#![cfg(not(loom))]
#![expect(clippy::unwrap_used, reason = "a helper that cannot go on fails the test")]

mod behaviour;
mod differential;
mod engine;
mod from_config;
mod golden_files;
mod log_files;
mod memory;
mod recordings;

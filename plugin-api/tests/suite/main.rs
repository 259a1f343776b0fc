//! The integration tests of this crate, a module for each subject.

#![cfg(not(miri))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod header;

//! The integration tests of this crate, a module for each subject.

#![expect(clippy::unwrap_used, reason = "a helper that cannot go on fails the test")]

mod answers;
mod common;
mod dense;
mod digits;
mod no_allocation;
mod refusals;
mod runtime_library;
mod tensors;
mod two_runtimes;

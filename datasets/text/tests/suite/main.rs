//! The integration tests of this crate, a module for each subject.

#![expect(clippy::unwrap_used, reason = "a helper that cannot go on fails the test")]

mod byte_pair;
mod differential;

//! The integration tests of this crate, a module for each subject.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod arrays;

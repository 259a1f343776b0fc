//! The integration tests of this crate, a module for each subject.

mod answers;
mod common;
mod dense;
mod digits;
mod no_allocation;
mod refusals;
mod runtime_library;
mod tensors;
mod two_runtimes;

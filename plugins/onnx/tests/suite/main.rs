//! The integration tests of this crate, a module for each subject.

#![expect(clippy::unwrap_used, reason = "a helper that cannot go on fails the test")]

mod answers;
mod common;
mod dense;
mod digits;
mod fashion_mnist;
mod generation;
mod minilm;
mod moonshine;
mod no_allocation;
mod provider_library;
mod refusals;
mod runtime_library;
mod tensors;
mod two_runtimes;

//! The integration tests of this crate, a module for each subject.

#![expect(clippy::unwrap_used, reason = "a helper that cannot go on fails the test")]

mod arrivals;
mod benchmarks;
mod conf_files;
mod families;
mod loader;
mod proofs;
mod published;
mod real_models;
mod rules;
mod sources;
mod suites;

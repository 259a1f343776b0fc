//! The integration tests of this crate, a module for each subject.

#![expect(clippy::unwrap_used, reason = "a helper that cannot go on fails the test")]

mod beside;
mod checkpoints;
mod conversion;
mod efficientnet;
mod frozen;
mod graph_models;
mod models;
mod pickles;
mod refusals;

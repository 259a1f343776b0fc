//! The integration tests of this crate, a module for each subject.

mod mutated;
mod numbers;

//! The integration tests of this crate, a module for each subject.

mod activations;
mod cells;
mod common;
mod linear;

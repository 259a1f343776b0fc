//! The integration tests of this crate, a module for each subject.

#![cfg(not(loom))]

mod against_reference;
mod behaviour;
mod common;
mod no_allocation;
mod refusals;
mod stream;

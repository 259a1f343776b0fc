//! The plugin through its C table, as a host drives it.

#![expect(clippy::unwrap_used, reason = "a helper that cannot go on fails the test")]

mod bad_input;
mod digits;
mod host;
mod manifest;
mod requests;
mod small_models;

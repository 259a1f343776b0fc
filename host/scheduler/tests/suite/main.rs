//! Tests the two schedulers from outside, each against its policy's promises.

#![expect(clippy::unwrap_used, reason = "clippy allows it in test functions, but not in their helpers")]

mod knobs;
mod simulated;
mod support;
mod threaded;

//! The integration tests of this crate, a module for each subject.

#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a helper that cannot go on fails the test")]

mod bench;
mod command_line;
mod engines;
mod extensions;
mod gpu_check;
mod models;
mod package;
mod plugins;
mod python;
mod report;
mod runs;
mod tidy;
mod validate;
mod wheel;

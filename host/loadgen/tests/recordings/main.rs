//! The load generator against recordings of LoadGen 6.0.17.

#![cfg(not(loom))]
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod config_files;
mod early_stopping;
#[path = "../from_config/mod.rs"]
mod from_config;
#[path = "../golden_files/mod.rs"]
mod golden_files;
#[path = "../log_files/mod.rs"]
mod log_files;
mod replay;
mod rng_vectors;
mod runs;
mod sequences;

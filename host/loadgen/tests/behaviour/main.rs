//! The load generator as its callers see it: what it does with systems that keep and break its rules, mostly in virtual
//! time.

#![cfg(not(loom))]
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod audit;
mod find_peak;
mod findings;
#[path = "../golden_files/mod.rs"]
mod golden_files;
mod intervals;
mod issued;
mod issuers;
#[path = "../log_files/mod.rs"]
mod log_files;
mod loop_rules;
mod misbehaviour;
mod scenarios;
mod scripted;
mod settings;
mod stall;
mod threads;
mod tokens;
mod trace;

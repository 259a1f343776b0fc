//! Tests of getting things, without a network: clients are scripts, and packages are made here.

#![expect(clippy::unwrap_used, reason = "a helper that cannot go on fails the test")]

mod bed;
mod clients;
mod tar;
mod things;
mod user_folder;

//! `cargo xtask check`: what must hold before any test runs.

use anyhow::Result;

use crate::command::{cargo, run as run_command};

pub(crate) const LONG_ABOUT: &str = "Check format, lints and documentation.

Runs cargo fmt, cargo clippy over all targets and cargo doc, cheapest first, with every warning an error.";

/// Checks format, lints and documentation, cheapest first.
///
/// # Errors
/// The first check that fails.
pub(crate) fn run() -> Result<()> {
    run_command(&mut cargo("fmt --all --check"))?;
    run_command(&mut cargo("clippy --workspace --all-targets -- -D warnings"))?;
    run_command(cargo("doc --workspace --no-deps").env("RUSTDOCFLAGS", "-D warnings"))?;
    println!("all checks passed");
    Ok(())
}

//! `cargo xtask check`: what must hold before any test runs.

use anyhow::Result;

use crate::{
    command::{cargo, run as run_command},
    dependencies, frozen,
};

pub(crate) const LONG_ABOUT: &str = "Check format, packages, lints and documentation.

Runs cargo fmt, cargo clippy over all targets and cargo doc, cheapest first, with every warning an error. Looks at \
the licences, sources and versions of all packages, and compares the C header with those of the versions that are kept.";

/// Checks format, packages, lints and documentation, cheapest first, and the C header against those that are kept.
///
/// # Errors
/// The first check that fails.
pub(crate) fn run() -> Result<()> {
    run_command(&mut cargo("fmt --all --check"))?;
    println!("looking at licences, sources and versions of packages");
    dependencies::check()?;
    run_command(&mut cargo("clippy --workspace --all-targets -- -D warnings"))?;
    run_command(cargo("doc --workspace --no-deps").env("RUSTDOCFLAGS", "-D warnings"))?;
    println!("comparing the C header with those that are kept");
    frozen::check()?;
    println!("all checks passed");
    Ok(())
}

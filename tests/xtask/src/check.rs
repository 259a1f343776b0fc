//! `cargo xtask check`: checks that need no test to run.

use std::{fs, process::Command};

use anyhow::{Context as _, Result};

use crate::{
    command::{cargo, output, run as run_command},
    dependencies, frozen,
};

pub(crate) const LONG_ABOUT: &str = "Check format, packages, lints and documentation.

Runs cargo fmt, cargo clippy on all targets and cargo doc, cheapest first, and treats every warning as an error. \
Checks the licences, sources and versions of all packages, and compares the C header with the frozen versions.";

/// Checks format, packages, lints and documentation, cheapest first, and the C header against those that are kept.
///
/// # Errors
/// Returns the first check that fails.
pub(crate) fn run() -> Result<()> {
    run_command(&mut cargo("fmt --all --check"))?;
    println!("looking at licences, sources and versions of packages");
    dependencies::check()?;
    run_command(&mut cargo("clippy --workspace --all-targets -- -D warnings"))?;
    run_command(&mut doc()?)?;
    println!("comparing the C header with those that are kept");
    frozen::check()?;
    println!("all checks passed");
    Ok(())
}

/// Returns the command that builds the documentation.
///
/// Its environment is the one in which `cargo clippy -- -D warnings` has looked at the crates, so that cargo takes them
/// as they are. Without it, or if a later Clippy sets another one, cargo looks at each crate again, which takes as long
/// as the documentation.
fn doc() -> Result<Command> {
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]))?;
    let sysroot =
        fs::canonicalize(sysroot.trim()).with_context(|| format!("cannot find {}", sysroot.trim()))?;
    let mut command = cargo("doc --workspace --no-deps");
    command
        .env("RUSTDOCFLAGS", "-D warnings")
        .env("RUSTC_WORKSPACE_WRAPPER", sysroot.join("bin/clippy-driver"))
        .env("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");
    Ok(command)
}

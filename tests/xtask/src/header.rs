//! `cargo xtask header`: the C header, made from the Rust types.

use anyhow::Result;

use crate::{
    command::{cargo, run as run_command},
    frozen, setup,
};

pub(crate) const LONG_ABOUT: &str = "Regenerate the C header of the plugin ABI after a change to plugin-api/src/abi.

plugin-api/include/frozen keeps the headers of the first and the newest minor version, without their drafts. A later \
version may append to them but must not change anything a plugin was compiled against. --freeze replaces the newest \
one, never the first.";

pub(crate) const EXAMPLES: &str = "Examples:
  cargo xtask header                   write it
  cargo xtask header --check-frozen    compare it with the frozen ones, as `cargo xtask check` does
  cargo xtask header --aarch64         compile its tests for aarch64 and run them in qemu
  cargo xtask header --freeze          write it and freeze it in place of the one before, once per minor version";

/// Writes plugin-api/include/proctor_plugin.h, by the test that otherwise compares it, and keeps it with `freeze`.
///
/// # Errors
/// If the types cannot be read, a file cannot be written, or the version is kept already.
pub(crate) fn run(freeze: bool) -> Result<()> {
    let write = "test -p proctor-plugin-api --test suite the_committed_header_is_the_generated_one";
    run_command(cargo(write).env("PROCTOR_WRITE_HEADER", "1"))?;
    if freeze { frozen::freeze() } else { Ok(()) }
}

/// Compiles the tests of the header for aarch64 and runs them in qemu.
///
/// # Errors
/// If a tool cannot be installed, or a size or an offset differs from the Rust types.
pub(crate) fn check_aarch64() -> Result<()> {
    setup::set_up_aarch64()?;
    // Where `CI` is set no test skips itself.
    let tests = "test -p proctor-plugin-api --test suite header::compiled";
    run_command(cargo(tests).env("PROCTOR_HEADER_MACHINE", "aarch64").env("CI", "1"))
}

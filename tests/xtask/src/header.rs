//! `cargo xtask header`: the C header, made from the Rust types.

use anyhow::Result;

use crate::{
    command::{cargo, run as run_command},
    frozen,
};

pub(crate) const LONG_ABOUT: &str = "Write the C header of the plugin ABI again, after a change of plugin-api/src/abi.

The header of each minor version is kept in plugin-api/include/frozen, without its drafts. A later one may append to it, \
and change nothing that a plugin was compiled against.";

pub(crate) const EXAMPLES: &str = "Examples:
  cargo xtask header                   write it
  cargo xtask header --check-frozen    compare it with those that are kept, as `cargo xtask check` does
  cargo xtask header --freeze          write it and keep it, once for each minor version";

/// Writes plugin-api/include/proctor_plugin.h, by the test that otherwise compares it, and keeps it with `freeze`.
///
/// # Errors
/// If the types cannot be read, a file cannot be written, or the version is kept already.
pub(crate) fn run(freeze: bool) -> Result<()> {
    let write = "test -p proctor-plugin-api --test suite the_committed_header_is_the_generated_one";
    run_command(cargo(write).env("PROCTOR_WRITE_HEADER", "1"))?;
    if freeze { frozen::freeze() } else { Ok(()) }
}

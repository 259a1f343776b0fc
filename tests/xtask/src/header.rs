//! `cargo xtask header`: the C header, made from the Rust types.

use anyhow::Result;

use crate::command::{cargo, run as run_command};

/// Writes plugin-api/include/proctor_plugin.h, by the test that otherwise compares it.
///
/// # Errors
/// If the types cannot be read or the file cannot be written.
pub(crate) fn run() -> Result<()> {
    let write = "test -p proctor-plugin-api --test header the_committed_header_is_the_generated_one";
    run_command(cargo(write).env("PROCTOR_WRITE_HEADER", "1"))
}

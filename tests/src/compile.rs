//! Plugins in C, compiled when a test needs them.

use std::{
    io,
    path::{Path, PathBuf},
    process::Command,
};

use proctor_test_needs::skip;

use crate::place::workspace;

/// Compiles a file of `tests/fixtures/c` to `folder/lib<name>_sut.so`, against the header alone, as C99, with all
/// warnings as errors. `defines` are macros such as `CASE=3`.
///
/// Without a C compiler it says that the test is skipped, and returns `None`.
///
/// # Panics
/// If the file does not compile.
#[must_use]
pub fn compile(source: &str, defines: &[&str], folder: &Path, name: &str) -> Option<PathBuf> {
    let library = folder.join(format!("lib{name}_sut.so"));
    let mut command = Command::new("cc");
    command.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I"]);
    command.arg(workspace().join("plugin-api/include"));
    command.args(defines.iter().map(|define| format!("-D{define}")));
    command.arg("-o").arg(&library).arg(workspace().join("tests/fixtures/c").join(source));
    match command.output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            skip("no cc; `cargo xtask setup` installs one");
            None
        }
        Err(error) => panic!("{command:?}: {error}"),
        Ok(output) => {
            let messages = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{command:?}:\n{messages}");
            Some(library)
        }
    }
}

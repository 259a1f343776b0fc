//! Where things are: the workspace, the target folder, the program, the plugins.

use std::path::{Path, PathBuf};

/// The folder of the workspace.
#[must_use]
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this crate lies below the workspace")
}

/// The folder of the data sets.
#[must_use]
pub fn datasets() -> PathBuf {
    workspace().join("datasets")
}

/// The library of a plugin, in the target folder of the running test; `name` as `--plugin` takes it, such as `cpu-rnn`.
///
/// # Panics
/// If it is not built.
#[must_use]
pub fn plugin(name: &str) -> PathBuf {
    built(&format!("lib{}_sut.so", name.replace('-', "_")))
}

/// The program.
pub(crate) fn host() -> PathBuf {
    built("host")
}

fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the running test has a path");
    // A test program lies in the folder `deps` of the folder of its profile.
    let profile = test.ancestors().nth(2).expect("a test program lies in a target folder");
    let path = profile.join(name);
    assert!(path.is_file(), "{} is not built: run `cargo build --workspace --all-targets`", path.display());
    path
}

//! Places of the workspace, the target folder, the program and the plugins.

use std::path::{Path, PathBuf};

/// Returns the folder of the workspace.
#[must_use]
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this crate lies below the workspace")
}

/// Returns the folder of the data sets.
#[must_use]
pub fn datasets() -> PathBuf {
    workspace().join("datasets")
}

/// Returns the library of a plugin, in the target folder of the running test; `name` as `--plugin` takes it, such as
/// `cpu-rnn`.
///
/// # Panics
/// If it is not built.
#[must_use]
pub fn plugin(name: &str) -> PathBuf {
    built(&library_name(name))
}

/// Works as [`plugin`]; `None` if it is not built.
#[must_use]
pub fn find_plugin(name: &str) -> Option<PathBuf> {
    let path = in_profile(&library_name(name));
    path.is_file().then_some(path)
}

fn library_name(plugin: &str) -> String {
    format!("lib{}_sut.so", plugin.replace('-', "_"))
}

/// Returns the program.
pub(crate) fn host() -> PathBuf {
    built("host")
}

/// Returns the place of a build product for the profile of the running test.
fn in_profile(name: &str) -> PathBuf {
    profile_folder().join(name)
}

/// Returns the folder of everything that is built for the profile of the running test.
pub(crate) fn profile_folder() -> PathBuf {
    let test = std::env::current_exe().expect("the running test has a path");
    // A test program lies in the folder `deps` of the folder of its profile.
    test.ancestors().nth(2).expect("a test program lies in a target folder").to_owned()
}

/// Returns the folder in which OpenCL's compiler keeps kernels for tests that run one after another; `None` unless
/// nextest runs the tests, since it numbers concurrent ones. Two PoCLs in one folder may remove files that the other is
/// about to read.
pub(crate) fn kernels() -> Option<PathBuf> {
    let slot = std::env::var("NEXTEST_TEST_GLOBAL_SLOT").ok()?;
    Some(in_profile("opencl-kernels").join(slot))
}

/// Returns a file that a build leaves in the folder of the running test's profile, such as a program.
///
/// # Panics
/// If it is not built.
#[must_use]
pub fn built(name: &str) -> PathBuf {
    let path = in_profile(name);
    assert!(path.is_file(), "{} is not built: run `cargo build --workspace --all-targets`", path.display());
    path
}

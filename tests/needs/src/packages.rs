//! Models and data sets of package registries, which `cargo xtask setup` places for tests.

use std::path::{Path, PathBuf};

/// Folder under the workspace that they are in, for any target folder.
pub const PACKAGES_FOLDER: &str = "target/packages";

/// Returns the folder that has all these models and data sets, by the names that `host data get` takes: a value for
/// `--data-root`.
///
/// # Errors
/// Returns the reason why one is not there.
pub fn packages(names: &[&str]) -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PACKAGES_FOLDER);
    match names.iter().find(|name| !root.join(name).is_dir()) {
        None => Ok(root),
        Some(name) => Err(format!("there is no {name} in {PACKAGES_FOLDER}; `cargo xtask setup` gets it")),
    }
}

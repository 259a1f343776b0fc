//! The Python package of a build: links to its Python files, and to the library that cargo made.

use std::{
    collections::BTreeSet,
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use crate::{
    command::workspace_root,
    package::layout::{entries, name_of},
};

/// Python files of the package, in the workspace.
pub(super) const PYTHON_FILES: &str = "host/python/proctor";

/// Place of the package, in the folder of a build; `host` has it on the path of an interpreter that it starts.
const ASSEMBLED: &str = "python/proctor";

/// The native part: its file in the package, and its place from there in a build.
const NATIVE: (&str, &str) = ("_native.abi3.so", "../../libproctor_native.so");

/// Assembles the package in the folder of a build, such as `target/debug`, and removes what is no longer in it.
///
/// # Errors
/// If a file cannot be linked.
pub(crate) fn assemble(build: &Path) -> Result<()> {
    let package = build.join(ASSEMBLED);
    let mut wanted = BTreeSet::from([package.join(NATIVE.0)]);
    link(Path::new(NATIVE.1), &package.join(NATIVE.0))?;
    for file in python_files()? {
        let to = package.join(&file);
        link(&workspace_root().join(PYTHON_FILES).join(&file), &to)?;
        wanted.insert(to);
    }
    prune(&package, &wanted)
}

/// Returns the Python files of the package, relative to its folder: modules, stubs, and the mark that it has stubs.
///
/// # Errors
/// If a folder cannot be listed.
pub(super) fn python_files() -> Result<Vec<PathBuf>> {
    let top = workspace_root().join(PYTHON_FILES);
    let mut files = Vec::new();
    let mut open = vec![top.clone()];
    while let Some(folder) = open.pop() {
        for entry in entries(&folder)? {
            // A builder in the source tree leaves its library there.
            let is_made = name_of(&entry) == "__pycache__" || entry.extension().is_some_and(|it| it == "so");
            if entry.is_dir() && !is_made {
                open.push(entry);
            } else if !is_made {
                files.push(entry.strip_prefix(&top).context("it lies below")?.to_owned());
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Makes a link, unless it is there; a test may be reading it.
fn link(to: &Path, at: &Path) -> Result<()> {
    if fs::read_link(at).is_ok_and(|there| there == to) {
        return Ok(());
    }
    let folder = at.parent().unwrap_or(at);
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    match fs::remove_file(at) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("cannot remove {}", at.display()));
        }
        _ => {}
    }
    symlink(to, at).with_context(|| format!("cannot link {}", at.display()))
}

/// Removes links that are not wanted, of files that the package had before.
fn prune(folder: &Path, wanted: &BTreeSet<PathBuf>) -> Result<()> {
    for entry in entries(folder)? {
        if entry.is_symlink() && !wanted.contains(&entry) {
            fs::remove_file(&entry).with_context(|| format!("cannot remove {}", entry.display()))?;
        } else if entry.is_dir() && !entry.is_symlink() {
            prune(&entry, wanted)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_has_the_python_files_and_the_library() {
        let build = tempfile::tempdir().unwrap();
        let package = build.path().join(ASSEMBLED);
        fs::create_dir_all(package.join("gone")).unwrap();
        symlink("nowhere", package.join("gone/old.py")).unwrap();
        fs::write(build.path().join("libproctor_native.so"), "library").unwrap();
        for _ in 0..2 {
            assemble(build.path()).unwrap();
            assert_eq!(fs::read_to_string(package.join(NATIVE.0)).unwrap(), "library");
            assert!(package.join("__main__.py").is_file());
            assert!(!package.join("gone/old.py").is_symlink());
        }
        assert!(python_files().unwrap().contains(&PathBuf::from("__init__.py")));
    }
}

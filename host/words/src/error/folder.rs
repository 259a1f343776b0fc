//! Folders for results that cannot be used.

use std::{io, path::PathBuf};

use super::Cause;

/// A folder for results that cannot be used.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
#[rustfmt::skip]
pub enum FolderError {
    #[error(transparent)] Other(Cause),
    #[error("{0} is complete: there is nothing left to do")] Complete(PathBuf),
    #[error("there is no folder {0}")] Missing(PathBuf),
    #[error("output folder {path} is {}: choose another one, or remove it first",
        if *is_file { "a file" } else { "not empty" })]
    Taken { path: PathBuf, is_file: bool },
    #[error("{0} is there already, of a run that is going on or has not come to its end: choose another output folder, \
             or remove it first")] Unfinished(PathBuf),
    #[error("{0} is of a run that is going on")] Running(PathBuf),
    #[error("cannot resume from {path}: {cause}")] Unreadable { path: PathBuf, cause: Cause },
    #[error("cannot resume from {path}: it is of version {version}, not {known}")]
    OtherVersion { path: PathBuf, version: u32, known: u32 },
    #[error("{}", not_removed(.0))] NotRemoved(Vec<(PathBuf, io::Error)>),
}

fn not_removed(folders: &[(PathBuf, io::Error)]) -> String {
    let lines = folders.iter().map(|(path, error)| format!("cannot remove {}: {error}", path.display()));
    lines.collect::<Vec<_>>().join("\n")
}

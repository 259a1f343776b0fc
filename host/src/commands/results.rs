//! The commands that read the files of runs.

pub(super) mod clean;
pub(super) mod compare;
pub(super) mod export;
pub(super) mod report;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use proctor_results::{ResultsError, Run, find_runs};
use proctor_words::{DataError, HostError};

/// Folder of runs, unless another is named.
pub(super) const RUNS: &str = "runs";

/// Returns the run folders below the named folder, or below [`RUNS`]; none if there is no [`RUNS`] yet.
///
/// # Errors
/// [`HostError::Data`] if the folder cannot be read.
pub(super) fn runs_below(named: Option<&Path>) -> Result<Vec<PathBuf>, HostError> {
    let folder = named.unwrap_or(Path::new(RUNS));
    // A link that leads nowhere is there.
    let is_missing =
        || fs::symlink_metadata(folder).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    if named.is_none() && is_missing() {
        return Ok(Vec::new());
    }
    find_runs(folder).map_err(unreadable)
}

/// Returns the error of a result that cannot be read, with its causes.
pub(super) fn unreadable(error: ResultsError) -> HostError {
    DataError::Results(error).into()
}

/// Opens run folders.
///
/// # Errors
/// Returns the first that cannot be opened.
pub(super) fn open_runs(folders: &[PathBuf]) -> Result<Vec<Run>, HostError> {
    folders.iter().map(|folder| Run::open(folder).map_err(unreadable)).collect()
}

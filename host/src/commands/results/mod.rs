//! The commands that read what runs have left.

pub(super) mod clean;
pub(super) mod compare;
pub(super) mod export;
pub(super) mod report;

use std::path::{Path, PathBuf};

use proctor_results::{ResultsError, Run, find_runs, with_cause};
use proctor_run::HostError;

/// Where runs are, unless their folder is named.
pub(super) const RUNS: &str = "runs";

/// The run folders below a folder. That where runs are unless it is named may not be there yet.
///
/// # Errors
/// [`HostError::Data`] if the folder cannot be read.
pub(super) fn runs_below(folder: &Path) -> Result<Vec<PathBuf>, HostError> {
    if folder == Path::new(RUNS) && !folder.exists() {
        return Ok(Vec::new());
    }
    find_runs(folder).map_err(unreadable)
}

/// The error of a result that cannot be read, with what has led to it.
pub(super) fn unreadable(error: ResultsError) -> HostError {
    HostError::Data(with_cause(&error))
}

/// Opens run folders.
///
/// # Errors
/// The first that cannot be opened.
pub(super) fn open_runs(folders: &[PathBuf]) -> Result<Vec<Run>, HostError> {
    folders.iter().map(|folder| Run::open(folder).map_err(unreadable)).collect()
}

//! The commands that read what runs have left.

pub(super) mod clean;
pub(super) mod compare;
pub(super) mod export;
pub(super) mod report;

use std::path::PathBuf;

use proctor_results::{ResultsError, Run, with_cause};
use proctor_run::HostError;

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

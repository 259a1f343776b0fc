//! Errors of reading.

use std::{error::Error, io, path::PathBuf};

/// Reason why a file of a run cannot be read.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum ResultsError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error(
        "{} is no run folder: it has neither result.json nor LoadGen's logs; give a folder that `host run` has left",
        path.display()
    )]
    NoRun { path: PathBuf },
    /// The folder has LoadGen's summary log, and not the detail log that figures are read from.
    #[error(
        "{} has mlperf_log_summary.txt and no mlperf_log_detail.txt beside it, which the figures are read from: put the \
         detail log of the same test there",
        path.display()
    )]
    NoDetailLog { path: PathBuf },
    /// The file is not of its kind.
    #[error("{} {fault}", path.display())]
    Malformed {
        path: PathBuf,
        /// The fault, as the end of a sentence about the file, such as `is cut off`.
        fault: String,
    },
    /// The file has no entry of a detail log. LoadGen of the first rounds wrote other lines than the later ones.
    #[error("{} is no detail log of LoadGen: no line begins with \":::MLLOG\"", path.display())]
    NoEntry { path: PathBuf },
    /// LoadGen's logs of a folder are not of one test, or one of them was changed.
    #[error(
        "{} has {name} {summary} in its summary log and {key} {detail} in its detail log: put the two logs of one test \
         side by side",
        path.display()
    )]
    Contradiction { path: PathBuf, name: String, summary: String, key: String, detail: String },
    #[error("{} has schema_version {version}, and this program reads {known}: read it with the program that wrote it", path.display())]
    Version { path: PathBuf, version: u64, known: u64 },
    #[error("{} has no performance run: {why}", path.display())]
    NoPerformanceRun { path: PathBuf, why: &'static str },
}

/// Returns an error in words, with its cause if it has one, such as that there is no such file.
#[must_use]
pub fn with_cause(error: &dyn Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

//! Errors of the configuration files as in LoadGen's detail log.

use std::path::PathBuf;

use super::{apply::ConfigFileReport, ignored::IgnoredReason, parse::ConfigFileError};

/// An error of the configuration files that does not end a test. Displays as LoadGen's entry in the detail log, under
/// `error_invalid_config`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// A process applies more than one `user.conf`.
    #[error("Multiple conf files are used. This is not valid for official submission.")]
    RepeatedUserFile,
    /// A file cannot be opened.
    #[error("can't open file {}", .0.display())]
    Unreadable(PathBuf),
    /// A line makes LoadGen reject the whole file.
    #[error("{}", .0.log_text())]
    Line(ConfigFileError),
    /// A line gives a mode that does not exist.
    #[error("Invalid value passed to Mode key in config.")]
    InvalidMode,
}

impl LogError {
    /// Returns the settings of a file that was applied, or could not be.
    #[must_use]
    pub fn of(applied: &Result<ConfigFileReport, Vec<ConfigFileError>>) -> Vec<Self> {
        match applied {
            Ok(report) => {
                let reasons = report.ignored.iter().map(|ignored| &ignored.reason);
                let invalid = reasons.filter(|reason| matches!(reason, IgnoredReason::InvalidMode { .. }));
                invalid.map(|_| Self::InvalidMode).collect()
            }
            Err(errors) => errors.iter().cloned().map(Self::Line).collect(),
        }
    }
}

//! Errors that keep an accuracy from being computed at all. A low accuracy is a result, not an error.

use std::{io, path::PathBuf};

use proctor_datasets::DatasetError;
use proctor_scores::ScoreError;
use proctor_vocabulary::registry::UnknownName;
use proctor_volumes::VolumeError;

/// Reason why there is no accuracy.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum AccuracyError {
    #[error("cannot read the accuracy log {}", path.display())]
    ReadLog { path: PathBuf, source: io::Error },
    /// The log is not in LoadGen's form.
    #[error("{} is not a whole accuracy log: {reason}", path.display())]
    Log {
        path: PathBuf,
        /// The record, counted from 1, and its fault.
        reason: String,
    },
    /// No registered metric, or no registered labels, have this name.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    #[error("{key} is {value}, but must be a number above 0")]
    Target { key: &'static str, value: f64 },
    /// The metric cannot compare these responses with these answers; the text names the types that it takes.
    #[error("{0}")]
    Mismatch(String),
    /// The outputs of the reference are missing, damaged, or cannot be computed from the weights; the text names the
    /// model or the file.
    #[error("{0}")]
    Reference(String),
    #[error("the responses cannot be scored")]
    Score(#[source] ScoreError),
    #[error("the right answer to sample {sample} is unusable; restore the labels of the data set")]
    RightAnswer { sample: usize, source: ScoreError },
    #[error("the labels of {} cannot be prepared", path.display())]
    Volumes { path: PathBuf, source: VolumeError },
    #[error("the labels cannot be read")]
    Labels(#[from] DatasetError),
}

impl AccuracyError {
    /// Returns the error of a model without reference outputs, with a hint that may be empty and the models that have
    /// them.
    pub(crate) fn no_reference(model: &str, hint: &str, known: &[&str]) -> Self {
        let known = known.join(", ");
        Self::Reference(format!(
            "there are no reference outputs for model \"{model}\"{hint}; there are for {known}"
        ))
    }
}

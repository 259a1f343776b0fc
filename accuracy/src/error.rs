//! Errors that keep an accuracy from being computed at all. A low accuracy is a result, not an error.

use std::{io, path::PathBuf};

use proctor_datasets::DatasetError;
use proctor_scores::ScoreError;
use proctor_vocabulary::registry::UnknownName;
use proctor_volumes::VolumeError;

/// Why there is no accuracy.
#[derive(Debug, thiserror::Error)]
pub enum AccuracyError {
    /// The log cannot be read.
    #[error("cannot read the accuracy log {}", path.display())]
    ReadLog {
        /// The log.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The log is not in LoadGen's form.
    #[error("{} is not a whole accuracy log: {reason}", path.display())]
    Log {
        /// The log.
        path: PathBuf,
        /// The record, counted from 1, and its fault.
        reason: String,
    },
    /// No registered metric, or no registered labels, have this name.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// The reference or the ratio is no usable number.
    #[error("{key} is {value}, but must be a number above 0")]
    Target {
        /// `reference_value` or `target_ratio`.
        key: &'static str,
        /// The value as given.
        value: f64,
    },
    /// The metric cannot compare these responses with these answers; the text names the types that it takes.
    #[error("{0}")]
    Mismatch(String),
    /// The outputs of the reference are missing, damaged, or cannot be computed from the weights; the text names the
    /// model or the file.
    #[error("{0}")]
    Reference(String),
    /// The responses have no score.
    #[error("the responses cannot be scored")]
    Score(#[source] ScoreError),
    /// The labels hold no usable answer for a sample, so no response to it can be scored.
    #[error("the right answer to sample {sample} is unusable; restore the labels of the data set")]
    RightAnswer {
        /// The sample.
        sample: usize,
        /// The fault.
        source: ScoreError,
    },
    /// The volumes of a case have no labels that can be compared with.
    #[error("the labels of {} cannot be prepared", path.display())]
    Volumes {
        /// The labels of the case.
        path: PathBuf,
        /// The fault.
        source: VolumeError,
    },
    /// The labels cannot be read.
    #[error("the labels cannot be read")]
    Labels(#[from] DatasetError),
}

impl AccuracyError {
    /// The error of a model without reference outputs, with a hint that may be empty and the models that have them.
    pub(crate) fn no_reference(model: &str, hint: &str, known: &[&str]) -> Self {
        let known = known.join(", ");
        Self::Reference(format!(
            "there are no reference outputs for model \"{model}\"{hint}; there are for {known}"
        ))
    }
}

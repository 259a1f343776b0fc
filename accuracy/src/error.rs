//! Errors that keep an accuracy from being computed at all. A low accuracy is a result, not an error.

use std::{io, path::PathBuf};

use proctor_datasets::DatasetError;
use proctor_vocabulary::registry::UnknownName;

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
    /// The metric does not judge such responses against such answers.
    #[error(
        "metric \"{metric}\" does not fit the benchmark's outputs and answers: it takes {outputs}, and {answers}{}",
        if *needs_tolerance { ", and a tolerance" } else { "" }
    )]
    Mismatch {
        /// Name of the metric.
        metric: &'static str,
        /// The outputs that it judges.
        outputs: &'static str,
        /// The answers that it compares with.
        answers: &'static str,
        /// Whether it needs a tolerance.
        needs_tolerance: bool,
    },
    /// There are no reference outputs for the model.
    #[error("there are no reference outputs for model \"{model}\"{hint}; there are for {known}")]
    NoReference {
        /// The model.
        model: String,
        /// A suggestion, or empty.
        hint: String,
        /// The models that have them, separated by commas.
        known: String,
    },
    /// The file of reference outputs is not as it should be.
    #[error("the reference outputs of model \"{model}\" cannot be used: {reason}")]
    Reference {
        /// The model.
        model: String,
        /// The fault, in words.
        reason: String,
    },
    /// The weights are not those of the model whose outputs are to be computed.
    #[error("cannot compute reference outputs from {}: {reason}", path.display())]
    Weights {
        /// The file of the weights.
        path: PathBuf,
        /// The fault, in words.
        reason: String,
    },
    /// The labels cannot be read.
    #[error("the labels cannot be read")]
    Labels(#[from] DatasetError),
}

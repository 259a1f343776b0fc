//! Errors between a raw sample and its tensors.

use proctor_vocabulary::registry::UnknownName;

/// Reason why a pipeline could not be built or a sample not be preprocessed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum PreprocessError {
    /// No registered pipeline has this name.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    #[error(
        "preprocessing \"{pipeline}\" makes {makes}, but the model takes {wanted}; correct the benchmark's inputs"
    )]
    Outputs { pipeline: String, makes: String, wanted: String },
    #[error("preprocessing \"{pipeline}\" cannot decode the sample: {reason}")]
    Undecodable { pipeline: String, reason: String },
    #[error("preprocessing \"{pipeline}\" reads {reads}, but the sample is {got}; does it fit the data set?")]
    Sample { pipeline: String, reads: String, got: String },
}

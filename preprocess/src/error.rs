//! Errors between a raw sample and its tensors.

use proctor_vocabulary::registry::UnknownName;

/// Why a pipeline could not be built or a sample not be preprocessed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PreprocessError {
    /// No registered pipeline has this name.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// The pipeline cannot make the tensors that the model takes.
    #[error(
        "preprocessing \"{pipeline}\" makes {makes}, but the model takes {wanted}; correct the benchmark's inputs"
    )]
    Outputs {
        /// Name of the pipeline.
        pipeline: String,
        /// The tensors that it can make.
        makes: String,
        /// The tensors that the benchmark asks for.
        wanted: String,
    },
    /// The raw sample cannot be decoded.
    #[error("preprocessing \"{pipeline}\" cannot decode the sample: {reason}")]
    Undecodable {
        /// Name of the pipeline.
        pipeline: String,
        /// The fault of the sample, and what to do.
        reason: String,
    },
    /// The raw sample is not what the pipeline reads.
    #[error("preprocessing \"{pipeline}\" reads {reads}, but the sample is {got}; does it fit the data set?")]
    Sample {
        /// Name of the pipeline.
        pipeline: String,
        /// The samples that it reads.
        reads: String,
        /// The sample that it was given.
        got: String,
    },
}

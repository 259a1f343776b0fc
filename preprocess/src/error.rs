//! What can go wrong between a raw sample and its tensors.

/// Why a pipeline could not be built or a sample not be preprocessed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PreprocessError {
    /// No registered pipeline has this name.
    #[error("unknown preprocessing \"{name}\"{hint}; known are {known}")]
    Unknown {
        /// The name as given.
        name: String,
        /// A suggestion, or empty.
        hint: String,
        /// All registered names, separated by commas.
        known: String,
    },
    /// The pipeline cannot make the tensors that the model takes.
    #[error(
        "preprocessing \"{pipeline}\" makes {makes}, but the model takes {wanted}; correct the benchmark's inputs"
    )]
    Outputs {
        /// Name of the pipeline.
        pipeline: String,
        /// What it can make.
        makes: String,
        /// What the benchmark asks for.
        wanted: String,
    },
    /// The raw sample is not what the pipeline reads.
    #[error("preprocessing \"{pipeline}\" reads {reads}, but the sample is {got}; does it fit the data set?")]
    Sample {
        /// Name of the pipeline.
        pipeline: String,
        /// What it reads.
        reads: String,
        /// What it was given.
        got: String,
    },
}

//! Errors between a raw sample and its tensors.

use proctor_vocabulary::registry::UnknownName;

/// Greatest short side, far above what any model takes.
pub(crate) const SHORT_SIDE_MAX: usize = 1 << 16;

/// Reason why a pipeline could not be built or a sample not be preprocessed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum PreprocessError {
    /// No registered pipeline has this name.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    #[error(
        "preprocessing \"{pipeline}\" makes {makes}, but the model takes {wanted}; correct the benchmark's inputs"
    )]
    Outputs { pipeline: String, makes: String, wanted: String },
    #[error(
        "preprocessing \"image\" reads JPEG files, for which this program has no decoder: give a data set of pictures, \
         which `host-data` prepares"
    )]
    NoDecoders,
    #[error("preprocessing \"image\": {}: {fault}", fault.key())]
    Steps { fault: StepsFault },
    #[error("preprocessing \"{pipeline}\" cannot decode the sample: {reason}")]
    Undecodable { pipeline: String, reason: String },
    #[error("preprocessing \"{pipeline}\" reads {reads}, but the sample is {got}; does it fit the data set?")]
    Sample { pipeline: String, reads: String, got: String },
}

/// Reason why steps make no sense, or cannot make an input.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum StepsFault {
    #[error("opencv-linear-f32 resizes a picture as a whole: give another method, or leave out short_side")]
    Whole,
    #[error(
        "{side}: a crop of {height} x {width}, as the input has it, takes a short side from {} to {SHORT_SIDE_MAX}",
        .height.max(.width)
    )]
    ShortSide { side: usize, height: usize, width: usize },
    #[error("{0}: give a number above 0")]
    Scale(f32),
    #[error("{0:?}: give three numbers")]
    Mean([f32; 3]),
    #[error("{0:?}: give three numbers above 0")]
    Deviation([f32; 3]),
    /// The key of the number.
    #[error("the input takes bytes as they are: leave it out, or declare the input as f32")]
    OfBytes(&'static str),
}

impl StepsFault {
    /// Returns the key in the table of the steps that is to be changed.
    #[must_use]
    pub fn key(&self) -> &'static str {
        match self {
            Self::Whole => "resize",
            Self::ShortSide { .. } => "short_side",
            Self::Scale(_) => "scale",
            Self::Mean(_) => "mean",
            Self::Deviation(_) => "deviation",
            Self::OfBytes(key) => key,
        }
    }
}

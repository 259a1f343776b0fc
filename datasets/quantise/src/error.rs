//! Reasons why a file cannot be quantised.

use proctor_onnx_file::{OnnxFileError, Precision, TensorError};

/// Reason why there is no file in integers.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum QuantiseError {
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] OnnxFileError),
    #[error("{file} computes in {precision} already; give the file of the model in f32")]
    Precision { file: String, precision: Precision },
    #[error(
        "{file} is of version {version} of ONNX's operators, and integers need 10 or a later one; convert it, for \
         example with onnx.version_converter"
    )]
    Version { file: String, version: i64 },
    #[error("{file} has nothing to quantise: {}", why.join("; "))]
    Nothing { file: String, why: Vec<String> },
    #[error("{file}: constant \"{tensor}\" {source}")]
    Constant { file: String, tensor: String, source: TensorError },
    #[error("{file} is damaged: it has {what}")]
    Damaged { file: String, what: &'static str },
    #[error("there are no calibration samples, so that no range is known")]
    NoSamples,
    #[error("the engine gave {got} ranges, and {expected} were asked for")]
    RangeCount { got: usize, expected: usize },
    #[error(
        "tensor \"{tensor}\" reaches from {low} to {high} on the calibration samples, which no scale holds"
    )]
    NotFinite { tensor: String, low: f32, high: f32 },
    #[error(
        "the file would have {size_bytes} bytes, more than the limit of {limit_bytes} of an ONNX file with its weights"
    )]
    TooLarge { size_bytes: u64, limit_bytes: u64 },
}

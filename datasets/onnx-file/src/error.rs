//! Faults of ONNX files.

use std::path::PathBuf;

/// Why an ONNX file cannot be used. Every message names the file.
#[derive(Debug, thiserror::Error)]
pub enum OnnxFileError {
    /// The file cannot be read.
    #[error("cannot read model {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file is larger than any ONNX file can be.
    #[error(
        "model {} has {size_bytes} bytes, more than the limit of {limit_bytes}; keep its weights as external data",
        path.display()
    )]
    FileTooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        size_bytes: u64,
        /// The limit.
        limit_bytes: u64,
    },
    /// The bytes are no ONNX file.
    #[error("{} is not an ONNX file: {what}", path.display())]
    NotOnnx {
        /// The file.
        path: PathBuf,
        /// The thing that was found instead, in words.
        what: String,
    },
    /// The file ends before a part that it has begun.
    #[error(
        "{} is cut short: its {part} needs {needed_bytes} bytes, the file has {size_bytes}; fetch it again",
        path.display()
    )]
    CutShort {
        /// The file.
        path: PathBuf,
        /// The part that is not whole.
        part: &'static str,
        /// Size that the file would have with this part, in bytes.
        needed_bytes: u64,
        /// Its size, in bytes.
        size_bytes: u64,
    },
    /// The file has an ONNX file's parts, but one of them cannot be read.
    #[error("{} is damaged: {source}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The error of the decoder.
        source: prost::DecodeError,
    },
    /// The file ends, or has a hole, where something must be.
    #[error("{} is not an ONNX file, or cut short: it has no {missing}", path.display())]
    Incomplete {
        /// The file.
        path: PathBuf,
        /// The missing part.
        missing: &'static str,
    },
    /// An entry that says where a constant's values lie makes no sense.
    #[error("{}: constant \"{tensor}\" {what}", path.display())]
    ExternalEntry {
        /// The file.
        path: PathBuf,
        /// Name of the constant.
        tensor: String,
        /// The fault, in words.
        what: String,
    },
    /// A file with values of constants is not there, or cannot be read.
    #[error(
        "the weights of {} are missing: constant \"{tensor}\" is in {}, which cannot be read: {source}",
        path.display(),
        file.display()
    )]
    ExternalMissing {
        /// The file.
        path: PathBuf,
        /// Name of the first constant that is in it.
        tensor: String,
        /// The file that is not there.
        file: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A file with values of constants ends before them.
    #[error(
        "the weights of {} are cut short: constant \"{tensor}\" ends at byte {needed_bytes} of {}, which has {size_bytes}",
        path.display(),
        file.display()
    )]
    ExternalCutShort {
        /// The file.
        path: PathBuf,
        /// Name of the constant.
        tensor: String,
        /// The file that is too short.
        file: PathBuf,
        /// Where the constant's values end, in bytes.
        needed_bytes: u64,
        /// Size of that file, in bytes.
        size_bytes: u64,
    },
}

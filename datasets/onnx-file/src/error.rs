//! Faults of ONNX files.

use std::path::PathBuf;

/// Reason why an ONNX file cannot be used. Every message names the file.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum OnnxFileError {
    #[error("cannot read model {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error(
        "model {} has {size_bytes} bytes, more than the limit of {limit_bytes}; keep its weights as external data",
        path.display()
    )]
    FileTooLarge { path: PathBuf, size_bytes: u64, limit_bytes: u64 },
    #[error("{} is not an ONNX file: {what}", path.display())]
    NotOnnx { path: PathBuf, what: String },
    #[error(
        "{} is cut short: its {part} needs {needed_bytes} bytes, the file has {size_bytes}; fetch it again",
        path.display()
    )]
    CutShort { path: PathBuf, part: &'static str, needed_bytes: u64, size_bytes: u64 },
    #[error("{} is damaged: {source}", path.display())]
    Damaged { path: PathBuf, source: prost::DecodeError },
    #[error("{} is not an ONNX file, or cut short: it has no {missing}", path.display())]
    Incomplete { path: PathBuf, missing: &'static str },
    /// An entry that says where a constant's values lie makes no sense.
    #[error("{}: constant \"{tensor}\" {what}", path.display())]
    ExternalEntry { path: PathBuf, tensor: String, what: String },
    #[error(
        "the weights of {} are missing: constant \"{tensor}\" is in {}, which cannot be read: {source}",
        path.display(),
        file.display()
    )]
    ExternalMissing { path: PathBuf, tensor: String, file: PathBuf, source: std::io::Error },
    #[error(
        "the weights of {} are cut short: constant \"{tensor}\" ends at byte {needed_bytes} of {}, which has {size_bytes}",
        path.display(),
        file.display()
    )]
    ExternalCutShort { path: PathBuf, tensor: String, file: PathBuf, needed_bytes: u64, size_bytes: u64 },
}

//! Faults of an ONNX file.

use std::{ops::RangeInclusive, path::PathBuf};

use crate::graph::build::NodeError;

/// Reason why the ONNX file at this path cannot be used. Every message names the file.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum OnnxError {
    #[error("cannot read model {0}: {1}")]
    Read(PathBuf, #[source] std::io::Error),
    /// The file is larger than any ONNX file can be: its size in bytes, and the limit.
    #[error("model {0} has {1} bytes, more than the limit of {2}")]
    FileTooLarge(PathBuf, u64, u64),
    #[error("{0} is not an ONNX file, or cut short or damaged: {1}")]
    NotOnnx(PathBuf, #[source] prost::DecodeError),
    /// The bytes are left over from a download or a checkout, in words.
    #[error("{0} is not an ONNX file: {1}")]
    Misfetched(PathBuf, &'static str),
    #[error("{0} is not an ONNX file, or cut short: it has no {1}")]
    Incomplete(PathBuf, &'static str),
    #[error(
        "{0} uses version {1} of ONNX's operators, supported are {min} to {max}; convert the model",
        min = .2.start(), max = .2.end()
    )]
    Opset(PathBuf, i64, RangeInclusive<i64>),
    #[error("{0} has {count} that this plugin does not run: {nodes}", count = count(.1.len()), nodes = .1.join("; "))]
    Unsupported(PathBuf, Vec<String>),
    /// A constant that cannot be used: its name, and the fault in words.
    #[error("{0}: constant \"{1}\" {2}")]
    Tensor(PathBuf, String, String),
    /// An input or output that cannot be used: its name, and the fault in words.
    #[error("{0}: \"{1}\" {2}")]
    Value(PathBuf, String, String),
    /// A node whose inputs do not fit.
    #[error("{0}: {1}")]
    Node(PathBuf, #[source] NodeError),
}

fn count(nodes: usize) -> String {
    if nodes == 1 { "a node".to_owned() } else { format!("{nodes} nodes") }
}

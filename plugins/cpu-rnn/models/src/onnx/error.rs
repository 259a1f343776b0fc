//! Faults of an ONNX file.

use std::path::PathBuf;

use crate::graph::build::NodeError;

/// Why an ONNX file cannot be used. Every message names the file.
#[derive(Debug, thiserror::Error)]
pub enum OnnxError {
    /// The file cannot be read.
    #[error("cannot read model {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The file is larger than any ONNX file can be.
    #[error("model {} has {size_bytes} bytes, more than the limit of {limit_bytes}", path.display())]
    FileTooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        size_bytes: u64,
        /// The limit.
        limit_bytes: u64,
    },
    /// The bytes are not those of an ONNX file.
    #[error("{} is not an ONNX file, or cut short or damaged: {source}", path.display())]
    NotOnnx {
        /// The file.
        path: PathBuf,
        /// The decoder's error.
        source: prost::DecodeError,
    },
    /// The bytes are those of a protobuf message, but not of a model.
    #[error("{} is not an ONNX file, or cut short: it has no {missing}", path.display())]
    Incomplete {
        /// The file.
        path: PathBuf,
        /// The missing part.
        missing: &'static str,
    },
    /// An operator set of ONNX's own domain that is not supported.
    #[error(
        "{} uses version {version} of ONNX's operators, supported are {min} to {max}; convert the model",
        path.display()
    )]
    Opset {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: i64,
        /// Oldest version that is supported.
        min: i64,
        /// Newest version that is supported.
        max: i64,
    },
    /// Nodes that are not supported: all of them.
    #[error("{} has {} that this plugin does not run: {}", path.display(), count(nodes.len()), nodes.join("; "))]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// Each node with its operator and what of it is not supported.
        nodes: Vec<String>,
    },
    /// A constant that cannot be used.
    #[error("{}: constant \"{tensor}\" {what}", path.display())]
    Tensor {
        /// The file.
        path: PathBuf,
        /// Name of the constant.
        tensor: String,
        /// The fault, in words.
        what: String,
    },
    /// An input or output that cannot be used.
    #[error("{}: \"{value}\" {what}", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// Name of the value.
        value: String,
        /// The fault, in words.
        what: String,
    },
    /// A node whose inputs do not fit.
    #[error("{}: {source}", path.display())]
    Node {
        /// The file.
        path: PathBuf,
        /// Node and reason.
        source: NodeError,
    },
}

fn count(nodes: usize) -> String {
    if nodes == 1 { "a node".to_owned() } else { format!("{nodes} nodes") }
}

//! Faults of a file on its way to a graph.

use std::{fmt, ops::RangeInclusive, path::PathBuf};

use proctor_onnx_file::{OnnxFileError, TensorError};

/// Reason why a file cannot become a graph. Every message names the file.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum ReadError {
    /// The file, or a file that it refers to, is missing, damaged or not ONNX.
    #[error(transparent)]
    File(#[from] OnnxFileError),
    #[error(
        "{} uses version {version} of ONNX's operators, supported are {min} to {max}; convert the model",
        path.display(), min = supported.start(), max = supported.end()
    )]
    Opset { path: PathBuf, version: i64, supported: RangeInclusive<i64> },
    #[error("{} has {count} that cannot be run: {list}", path.display(), count = count(nodes), list = list(nodes))]
    Refused { path: PathBuf, nodes: Vec<Refusal> },
    /// A constant has no values that can be read.
    #[error("{}: constant \"{tensor}\" {source}", path.display())]
    Constant { path: PathBuf, tensor: String, source: TensorError },
    /// An input, output or constant cannot be used.
    #[error("{}: \"{value}\" {what}", path.display())]
    Value { path: PathBuf, value: String, what: String },
    #[error("{} has {has} inputs, but {got} shapes were given for them", path.display())]
    InputCount { path: PathBuf, has: usize, got: usize },
}

/// A node that is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Operator and name of the node.
    pub node: String,
    /// The reason, in words.
    pub why: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.node, self.why)
    }
}

fn count(nodes: &[Refusal]) -> String {
    if nodes.len() == 1 { "a node".to_owned() } else { format!("{} nodes", nodes.len()) }
}

fn list(nodes: &[Refusal]) -> String {
    nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

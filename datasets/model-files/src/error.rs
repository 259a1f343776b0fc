//! Reasons why a network cannot be converted.

use crate::{tensorflow::error::GraphError, torch::error::TorchError};

/// Reason why a network cannot be converted. The messages name nodes and tensors, and leave the file to the caller.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum ConvertError {
    #[error(transparent)]
    Checkpoint(#[from] TorchError),
    #[error(transparent)]
    Graph(#[from] GraphError),
    #[error("the graph has no node \"{node}\", which {wanted_by} needs")]
    NoNode { node: String, wanted_by: String },
    #[error("the node \"{node}\" needs its own result")]
    Circle { node: String },
    #[error("node \"{node}\" has the operator {operator}, which this converter does not know")]
    Operator { node: String, operator: String },
    #[error(
        "the constants of the ONNX file have {size_bytes} bytes, more than protobuf's limit of {limit_bytes}"
    )]
    TooLarge { size_bytes: usize, limit_bytes: usize },
    /// A node that is known, but not in this form; the reason says what is the matter.
    #[error("{operator} \"{node}\" {reason}")]
    Node { node: String, operator: String, reason: String },
}

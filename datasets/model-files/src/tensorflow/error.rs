//! Reasons why a graph cannot be read.

/// Reason why a graph of TensorFlow cannot be read.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum GraphError {
    #[error("it is not a frozen graph of TensorFlow: {0}")]
    NotFrozen(prost::DecodeError),
    #[error("it is not a graph model of TensorFlow.js: {0}")]
    NotGraphModel(serde_json::Error),
    #[error("it holds no graph: it has no nodes")]
    Empty,
    #[error("the graph has no node \"{0}\" that could become a constant")]
    NoNode(String),
    #[error("two nodes of the graph are called \"{0}\"")]
    TwoNodes(String),
    #[error("constant \"{node}\" {what}")]
    Constant { node: String, what: String },
    #[error(
        "the constants that repeat one value have more than {limit} values together; the graph is damaged, or not \
         one of trained weights"
    )]
    Repeats { limit: usize },
    #[error(
        "the model's manifest names {wanted} shards of weights, and {got} are given; give each, in its order"
    )]
    Shards { wanted: usize, got: usize },
    #[error("weights \"{name}\" of the model's manifest {what}")]
    Weights { name: String, what: String },
    #[error(
        "the shards {paths} have {size_bytes} bytes, and the manifest describes {described_bytes}; fetch them again"
    )]
    ShardSize { paths: String, size_bytes: usize, described_bytes: usize },
}

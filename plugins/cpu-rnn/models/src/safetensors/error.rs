//! Faults of a file of weights.

use std::path::PathBuf;

use proctor_rnn_engine::LayerError;
use safetensors::SafeTensorError;

/// Reason why the file of weights at this path cannot be used. Every message names the file, and the tensor if there is
/// one.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum WeightsError {
    #[error("cannot read weights {0}: {1}")]
    Read(PathBuf, #[source] std::io::Error),
    /// The file is larger than any model that this plugin is for: its size in bytes, and the limit.
    #[error("weights {0} have {1} bytes, more than the limit of {2}")]
    FileTooLarge(PathBuf, u64, u64),
    #[error("{0} is not a safetensors file, or damaged: {1}")]
    NotSafetensors(PathBuf, #[source] SafeTensorError),
    /// The file is left over from a download or a checkout, in words.
    #[error("{0} is not a safetensors file: {1}")]
    Misfetched(PathBuf, &'static str),
    #[error("{0} is cut short or damaged: its data are not as long as its header says")]
    Truncated(PathBuf),
    #[error(
        "{0} holds no recurrent layer: none of \"lstm.weight_ih_l0\", \"gru.weight_ih_l0\" and \"rnn.weight_ih_l0\" is there, only {1}"
    )]
    NoRecurrentLayer(PathBuf, String),
    /// A tensor is missing, has no place in the model, or has other contents than the model needs.
    #[error("{}: tensor \"{tensor}\" {fault}", path.display())]
    Tensor { path: PathBuf, tensor: String, fault: String },
    /// The engine cannot make a layer of these weights, whose names begin so.
    #[error("{0}: layer \"{1}\": {2}")]
    Layer(PathBuf, String, #[source] LayerError),
}

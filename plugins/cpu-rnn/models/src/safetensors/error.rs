//! Faults of a file of weights.

use std::path::PathBuf;

use proctor_rnn_engine::LayerError;
use safetensors::SafeTensorError;

/// Why a file of weights cannot be used. Every message names the file, and the tensor if there is one.
#[derive(Debug, thiserror::Error)]
pub enum WeightsError {
    /// The file cannot be read.
    #[error("cannot read weights {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The file is larger than any model that this plugin is for.
    #[error("weights {} have {size_bytes} bytes, more than the limit of {limit_bytes}", path.display())]
    FileTooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        size_bytes: u64,
        /// The limit.
        limit_bytes: u64,
    },
    /// The header is not one of a safetensors file.
    #[error("{} is not a safetensors file, or damaged: {source}", path.display())]
    NotSafetensors {
        /// The file.
        path: PathBuf,
        /// The reader's error.
        source: SafeTensorError,
    },
    /// The header is sound, but the data behind it have another length than it says.
    #[error("{} is cut short or damaged: its data are not as long as its header says", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
    },
    /// There is no first layer.
    #[error(
        "{} holds no recurrent layer: none of \"lstm.weight_ih_l0\", \"gru.weight_ih_l0\" and \"rnn.weight_ih_l0\" is there, only {found}",
        path.display()
    )]
    NoRecurrentLayer {
        /// The file.
        path: PathBuf,
        /// The first few tensors that are there.
        found: String,
    },
    /// A tensor is missing, has no place in the model, or holds something else than the model needs.
    #[error("{}: tensor \"{tensor}\" {fault}", path.display())]
    Tensor {
        /// The file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// The fault, in words.
        fault: String,
    },
    /// The engine cannot make a layer of these weights.
    #[error("{}: layer \"{layer}\": {source}", path.display())]
    Layer {
        /// The file.
        path: PathBuf,
        /// First part of the names of its tensors.
        layer: String,
        /// Why not.
        source: LayerError,
    },
}

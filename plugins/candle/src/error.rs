//! Why a model cannot be loaded.

use std::{io, path::PathBuf};

use proctor_plugin_api::PluginError;

/// Why a model cannot be loaded; each names the file, and the tensor if it is one.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The plugin has no model of this name.
    #[error("there is no model \"{model}\"; there are {known}")]
    UnknownModel {
        /// The id that was asked for.
        model: String,
        /// All ids that there are.
        known: String,
    },
    /// The plugin does not compute in this precision.
    #[error("model \"{model}\" runs in {known}, not in \"{precision}\"")]
    UnknownPrecision {
        /// Which model.
        model: String,
        /// The value that was asked for.
        precision: String,
        /// All values that there are.
        known: String,
    },
    /// The benchmark has no file that can be read.
    #[error("model \"{model}\" comes without a safetensors file")]
    NoFile {
        /// Which model.
        model: String,
    },
    /// The operating system does not hand out the file.
    #[error("cannot read weights {}: {source}", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Its message.
        source: io::Error,
    },
    /// The file does not begin as safetensors files do.
    #[error("{} is not a safetensors file: {reason}", path.display())]
    Format {
        /// Which file.
        path: PathBuf,
        /// The defect.
        reason: String,
    },
    /// The file ends before its last tensor, or after it.
    #[error(
        "{} has {got_bytes} bytes, but its header speaks of {expected_bytes}: it is truncated or was written over; get it again",
        path.display()
    )]
    Length {
        /// Which file.
        path: PathBuf,
        /// Length by its header.
        expected_bytes: u64,
        /// Length.
        got_bytes: u64,
    },
    /// A tensor is not there.
    #[error("{} has no tensor \"{tensor}\" among its {count}", path.display())]
    MissingTensor {
        /// Which file.
        path: PathBuf,
        /// Which tensor.
        tensor: String,
        /// Number of tensors.
        count: usize,
    },
    /// A tensor has another shape, or holds something else than floating-point numbers.
    #[error("tensor \"{tensor}\" of {} has {fault}", path.display())]
    Tensor {
        /// Which file.
        path: PathBuf,
        /// Which tensor.
        tensor: String,
        /// The shape or type that it has, and those that would do.
        fault: String,
    },
    /// The benchmark's tensors are not those of the model.
    #[error("the model {what}, but the benchmark has {got}")]
    Tensors {
        /// Tensors of the model.
        what: String,
        /// Tensors of the benchmark.
        got: String,
    },
    /// The engine refused.
    #[error("{}: {source}", path.display())]
    Engine {
        /// Which file.
        path: PathBuf,
        /// Its message.
        source: candle_core::Error,
    },
}

impl From<LoadError> for PluginError {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::UnknownModel { .. }
            | LoadError::UnknownPrecision { .. }
            | LoadError::NoFile { .. }
            | LoadError::Tensors { .. } => Self::unsupported(error.to_string()),
            _ => Self::failed(error.to_string()),
        }
    }
}

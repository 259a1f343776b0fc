//! Why a model cannot be run.

use std::path::PathBuf;

use proctor_onnx_file::{FitError, Precision};
use proctor_plugin_api::PluginError;

use crate::{
    driver::{DeviceError, DeviceErrorKind},
    read::error::ReadError,
};

/// Why a model cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The benchmark has no ONNX file.
    #[error("model \"{model}\" has no ONNX file; name one with model.files.onnx.path")]
    NoFile {
        /// The model.
        model: String,
    },
    /// The file, or what it refers to, is missing, damaged, not ONNX or not supported.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The file is made for another number format.
    #[error(
        "{} computes in {is}, but {asked} was asked for; run it with --precision {is} or name a file that is {asked}",
        path.display()
    )]
    Precision {
        /// The file.
        path: PathBuf,
        /// Its number format.
        is: Precision,
        /// The one that was asked for.
        asked: String,
    },
    /// The model's tensors are not the benchmark's.
    #[error("{} does not fit: {source}", path.display())]
    Fit {
        /// The file.
        path: PathBuf,
        /// The difference.
        source: FitError,
    },
    /// No kernel computes a node.
    #[error("{} cannot be planned for batches of {batch_size}: {what}", path.display())]
    Plan {
        /// The file.
        path: PathBuf,
        /// Samples of a batch.
        batch_size: usize,
        /// The node, and the reason.
        what: String,
    },
    /// The device has failed.
    #[error("{} cannot be loaded for batches of {batch_size}: {source}", path.display())]
    Device {
        /// The file.
        path: PathBuf,
        /// Samples of a batch.
        batch_size: usize,
        /// The failure.
        source: DeviceError,
    },
}

impl From<LoadError> for PluginError {
    fn from(error: LoadError) -> Self {
        let message = error.to_string();
        match error {
            LoadError::Device { source, .. } => DeviceError { what: message, ..source }.into(),
            LoadError::Read(ReadError::File(_)) => Self::failed(message),
            _ => Self::unsupported(message),
        }
    }
}

impl From<DeviceError> for PluginError {
    fn from(error: DeviceError) -> Self {
        let DeviceError { what, code, kind } = error;
        let error = match kind {
            DeviceErrorKind::OutOfMemory => Self::out_of_memory(what),
            DeviceErrorKind::Lost => Self::device_lost(what),
            DeviceErrorKind::Failed => Self::failed(what),
        };
        error.with_vendor_code(code)
    }
}

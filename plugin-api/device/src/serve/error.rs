//! Reasons why a model cannot be run.

use std::path::PathBuf;

use proctor_onnx_file::RequestError;
use proctor_plugin_api::PluginError;

use crate::{
    driver::{DeviceError, DeviceErrorKind},
    read::error::ReadError,
};

/// Reason why a model cannot be run.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum LoadError {
    /// The file does not match the request.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The file, or a file that it refers to, is missing, damaged, not ONNX or not supported.
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("{} cannot be planned for batches of {batch_size}: {what}", path.display())]
    Plan { path: PathBuf, batch_size: usize, what: String },
    #[error("{} cannot be loaded for batches of {batch_size}: {source}", path.display())]
    Device { path: PathBuf, batch_size: usize, source: DeviceError },
}

impl From<LoadError> for PluginError {
    fn from(error: LoadError) -> Self {
        let message = error.to_string();
        match error {
            LoadError::Device { source, .. } => DeviceError { message, ..source }.into(),
            LoadError::Read(ReadError::File(_)) => Self::failed(message),
            _ => Self::unsupported(message),
        }
    }
}

impl From<DeviceError> for PluginError {
    fn from(error: DeviceError) -> Self {
        let DeviceError { message, code, kind } = error;
        let error = match kind {
            DeviceErrorKind::OutOfMemory => Self::out_of_memory(message),
            DeviceErrorKind::Lost => Self::device_lost(message),
            DeviceErrorKind::Failed => Self::failed(message),
        };
        error.with_vendor_code(code)
    }
}

//! Errors of a model, of a setting, or of both together.

use std::path::PathBuf;

use proctor_onnx_file::{OnnxFileError, RequestError};
use proctor_plugin_api::PluginError;

use crate::runtime_library::error::RuntimeLibraryError;

/// Why a model cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    /// There is no runtime.
    #[error(transparent)]
    RuntimeLibrary(#[from] RuntimeLibraryError),
    /// The file cannot be used.
    #[error(transparent)]
    File(#[from] OnnxFileError),
    /// It is not what was asked for.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// An execution provider for another device than the run asks for.
    #[error(
        "provider {provider} computes on device {computes_on}, but {device} was asked for; run with --set device={computes_on}"
    )]
    Device { provider: &'static str, computes_on: &'static str, device: String },
    /// The library was built without an execution provider.
    #[error(
        "{} has no provider {provider}; it has {}. Name a library that has it: --set onnx.library=...",
        path.display(),
        available.join(", ")
    )]
    NoProvider { path: PathBuf, provider: &'static str, available: Vec<String> },
    /// An operator that the runtime does not have, or not for these types.
    #[error("{} uses an operator that ONNX Runtime {version} does not have: {reason}", path.display())]
    Operator { path: PathBuf, version: String, reason: String },
    /// The runtime does not take the model, for any other reason.
    #[error("ONNX Runtime {version} cannot load {}: {reason}", path.display())]
    Session { path: PathBuf, version: String, reason: String },
}

impl From<LoadError> for PluginError {
    fn from(error: LoadError) -> Self {
        let text = error.to_string();
        match error {
            LoadError::Request(_) | LoadError::NoProvider { .. } | LoadError::Operator { .. } => {
                Self::unsupported(text)
            }
            LoadError::Device { .. } => Self::invalid_argument(text),
            LoadError::RuntimeLibrary(_) | LoadError::File(_) | LoadError::Session { .. } => {
                Self::failed(text)
            }
        }
    }
}

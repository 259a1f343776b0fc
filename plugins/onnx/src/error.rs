//! Errors of a model, of a setting, or of both together.

use std::path::PathBuf;

use proctor_onnx_file::{FitError, OnnxFileError, Precision};
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
    /// The model takes or gives other tensors than the benchmark's.
    #[error("{} does not fit the benchmark: {source}", path.display())]
    Fit {
        /// The file.
        path: PathBuf,
        /// The tensor that does not fit.
        source: FitError,
    },
    /// The benchmark has no file that can be read.
    #[error("model \"{model}\" comes without an onnx file")]
    NoFile {
        /// The model.
        model: String,
    },
    /// The file is made for another precision than the run asks for.
    #[error(
        "{} is a model in {has}, but {wanted} was asked for; name a file in {wanted}, or run with --precision {has}",
        path.display()
    )]
    Precision {
        /// The file.
        path: PathBuf,
        /// Precision of the file.
        has: Precision,
        /// Precision that was asked for.
        wanted: String,
    },
    /// An execution provider for another device than the run asks for.
    #[error(
        "provider {provider} computes on device {computes_on}, but {device} was asked for; run with --set device={computes_on}"
    )]
    Device {
        /// The provider.
        provider: &'static str,
        /// Where it computes.
        computes_on: &'static str,
        /// The device that the run asks for.
        device: String,
    },
    /// The library was built without an execution provider.
    #[error(
        "{} has no provider {provider}; it has {}. Name a library that has it: --set onnx.library=...",
        path.display(),
        available.join(", ")
    )]
    NoProvider {
        /// The library.
        path: PathBuf,
        /// The provider.
        provider: &'static str,
        /// Providers that it has.
        available: Vec<String>,
    },
    /// An operator that the runtime does not have, or not for these types.
    #[error("{} uses an operator that ONNX Runtime {version} does not have: {reason}", path.display())]
    Operator {
        /// The file.
        path: PathBuf,
        /// Version of the runtime.
        version: String,
        /// Message of the runtime; it names the operator.
        reason: String,
    },
    /// The runtime does not take the model, for any other reason.
    #[error("ONNX Runtime {version} cannot load {}: {reason}", path.display())]
    Session {
        /// The file.
        path: PathBuf,
        /// Version of the runtime.
        version: String,
        /// Message of the runtime.
        reason: String,
    },
}

impl From<LoadError> for PluginError {
    fn from(error: LoadError) -> Self {
        let text = error.to_string();
        match error {
            LoadError::Fit { .. }
            | LoadError::NoFile { .. }
            | LoadError::Precision { .. }
            | LoadError::NoProvider { .. }
            | LoadError::Operator { .. } => Self::unsupported(text),
            LoadError::Device { .. } => Self::invalid_argument(text),
            LoadError::RuntimeLibrary(_) | LoadError::File(_) | LoadError::Session { .. } => {
                Self::failed(text)
            }
        }
    }
}

//! Why a model cannot be run.

use std::path::PathBuf;

use proctor_onnx_file::{OnnxFileError, RequestError};
use proctor_plugin_api::{PluginError, vocabulary::ElementType};

/// Why a model cannot be run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    /// It is not what was asked for.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The file, or what it refers to, is missing, damaged or not ONNX.
    #[error(transparent)]
    File(#[from] OnnxFileError),
    /// The model uses operators that tract does not know.
    #[error(
        "tract cannot run {}: it does not know {}; the plugin onnx runs every operator of ONNX",
        path.display(),
        operators.join(", ")
    )]
    Operators { path: PathBuf, operators: Vec<String> },
    /// A tensor has a type that tract does not have.
    #[error("tract cannot run {}: \"{tensor}\" holds {element_type}, which tract does not have", path.display())]
    ElementType { path: PathBuf, tensor: String, element_type: ElementType },
    /// tract refuses the model for a reason of its own.
    #[error("tract cannot {what} {}: {reason}", path.display())]
    Tract { path: PathBuf, what: &'static str, reason: String },
    /// The output that tract would compute is not the one that the benchmark wants.
    #[error(
        "output \"{output}\" of {} is {got} for {batch_size} samples, the benchmark wants {wanted}", path.display()
    )]
    Output { path: PathBuf, output: String, got: String, wanted: String, batch_size: usize },
}

impl From<LoadError> for PluginError {
    fn from(error: LoadError) -> Self {
        let message = error.to_string();
        match error {
            LoadError::File(_) => Self::failed(message),
            _ => Self::unsupported(message),
        }
    }
}

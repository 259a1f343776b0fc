//! Errors of a model, of a setting, or of both together.

use std::path::PathBuf;

use proctor_onnx_file::{FitError, OnnxFileError, RequestError};
use proctor_plugin_api::PluginError;
use proctor_timed_steps::windows::WindowsError;

use crate::{
    generation::GenerationError, provider::library::ProviderLibraryError,
    runtime_library::error::RuntimeLibraryError,
};

/// Reason why a model cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    /// The runtime is missing.
    #[error(transparent)]
    RuntimeLibrary(#[from] RuntimeLibraryError),
    /// The execution provider that is a library cannot be used.
    #[error(transparent)]
    ProviderLibrary(#[from] ProviderLibraryError),
    /// The file cannot be used.
    #[error(transparent)]
    File(#[from] OnnxFileError),
    /// The file does not match the request.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The declaration does not match the files or the request.
    #[error(transparent)]
    Generation(#[from] GenerationError),
    #[error(
        "{} cannot run samples whose shapes differ: {why}; it needs samples of rows, which are the first extent of all \
         inputs and of one output, or volumes that it labels in windows",
        path.display()
    )]
    Rows { path: PathBuf, why: RowsError },
    #[error(
        "{} labels volumes in windows, in f32 and of as many channels: the model has {model}, and the benchmark \
         {benchmark}",
        path.display()
    )]
    Window { path: PathBuf, model: String, benchmark: String },
    #[error("{} cannot label the benchmark's volumes: {why}", path.display())]
    Volume { path: PathBuf, why: WindowsError },
    #[error(
        "provider {provider} computes on device {computes_on}, but {device} was asked for; run with --set device={computes_on}"
    )]
    Device { provider: &'static str, computes_on: &'static str, device: String },
    #[error(
        "{} has no provider {provider}; it has {}. Name a library that has it: --set onnx.library=...",
        path.display(),
        available.join(", ")
    )]
    NoProvider { path: PathBuf, provider: &'static str, available: Vec<String> },
    #[error("{} uses an operator that ONNX Runtime {version} does not have: {reason}", path.display())]
    Operator { path: PathBuf, version: String, reason: String },
    #[error("ONNX Runtime {version} cannot load {}: {reason}", path.display())]
    Session { path: PathBuf, version: String, reason: String },
}

/// Reason why samples of their own shapes are not rows for a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RowsError {
    /// The benchmark has several outputs; only the last one can have as many rows as a sample.
    #[error("the benchmark has {0} outputs, of which only the last can have as many rows as a sample")]
    Outputs(usize),
    /// An output that is the same for any number of rows.
    #[error(
        "the output \"{0}\" does not vary with them; say so in the benchmark's definition: varies = true"
    )]
    OutputIsFixed(String),
    /// A tensor without the rows of the others.
    #[error("the first extent of \"{name}\" is {has}, and not {rows} as of the input before it")]
    Extent { name: String, has: String, rows: usize },
    /// A model whose tensors do not match a row.
    #[error("a row of a sample is no sample of the model: {0}")]
    Fit(#[from] FitError),
    /// A model for a fixed number of rows.
    #[error("the first dimension of the model's inputs is not free; export it with one that is")]
    NotFree,
}

impl From<LoadError> for PluginError {
    fn from(error: LoadError) -> Self {
        let text = error.to_string();
        match error {
            LoadError::Request(_)
            | LoadError::Generation(_)
            | LoadError::Rows { .. }
            | LoadError::Window { .. }
            | LoadError::Volume { .. }
            | LoadError::NoProvider { .. }
            | LoadError::Operator { .. } => Self::unsupported(text),
            LoadError::Device { .. } | LoadError::ProviderLibrary(ProviderLibraryError::Two { .. }) => {
                Self::invalid_argument(text)
            }
            LoadError::RuntimeLibrary(_)
            | LoadError::ProviderLibrary(_)
            | LoadError::File(_)
            | LoadError::Session { .. } => Self::failed(text),
        }
    }
}

//! Why a model cannot be loaded.

use proctor_plugin_api::PluginError;

/// Reason why a model cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The plugin has no such model or precision, or the model does not fit the benchmark's file or tensors.
    #[error("{0}")]
    Unsupported(String),
    /// The file of the weights cannot be used; the text names it, and the tensor if it is one.
    #[error("{0}")]
    Weights(String),
}

impl LoadError {
    /// Reports that no model is called `model`; `known` are the existing ones.
    pub(crate) fn unknown_model(model: &str, known: &[&str]) -> Self {
        Self::Unsupported(format!("there is no model \"{model}\"; there are {}", known.join(", ")))
    }

    /// Reports in words that the benchmark has other tensors than the model.
    pub(crate) fn tensors(model: &str, benchmark: &str) -> Self {
        Self::Unsupported(format!("the model {model}, but the benchmark has {benchmark}"))
    }
}

impl From<LoadError> for PluginError {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Unsupported(text) => Self::unsupported(text),
            LoadError::Weights(text) => Self::failed(text),
        }
    }
}

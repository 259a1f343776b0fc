//! Checks a file against the request that a plugin receives.

use std::path::PathBuf;

use proctor_vocabulary::TensorSpec;

use crate::{
    file::OnnxFile,
    fit::{Fit, FitError, fit, fit_inputs},
    signature::Precision,
};

/// Reason why a plugin cannot run a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum RequestError {
    #[error("model \"{model}\" has no ONNX file; name one with model.files.onnx.path")]
    NoFile { model: String },
    #[error(
        "{} computes in {is}, but {asked} was asked for; run it with --precision {is} or name a file that is {asked}",
        path.display()
    )]
    Precision { path: PathBuf, is: Precision, asked: String },
    #[error("{} does not fit the benchmark: {source}", path.display())]
    Fit { path: PathBuf, source: FitError },
}

impl OnnxFile {
    /// Checks that the model computes in the requested number format.
    ///
    /// # Errors
    /// [`RequestError::Precision`].
    pub fn check_precision(&self, asked: &str) -> Result<(), RequestError> {
        if self.precision.name() == asked {
            return Ok(());
        }
        Err(RequestError::Precision { path: self.path.clone(), is: self.precision, asked: asked.to_owned() })
    }

    /// Matches the model's tensors with the tensors of samples, as [`fit()`] does.
    ///
    /// # Errors
    /// [`RequestError::Fit`].
    pub fn fit(
        &self,
        inputs: &[TensorSpec],
        outputs: &[TensorSpec],
        batch_size_max: usize,
    ) -> Result<Fit, RequestError> {
        self.fitted(fit(&self.signature, inputs, outputs, batch_size_max))
    }

    /// Returns the correspondence of the inputs alone, as of [`fit_inputs()`].
    ///
    /// # Errors
    /// [`RequestError::Fit`].
    pub fn fit_inputs(&self, inputs: &[TensorSpec], batch_size_max: usize) -> Result<Fit, RequestError> {
        self.fitted(fit_inputs(&self.signature, inputs, batch_size_max))
    }

    fn fitted(&self, fit: Result<Fit, FitError>) -> Result<Fit, RequestError> {
        fit.map_err(|source| RequestError::Fit { path: self.path.clone(), source })
    }
}

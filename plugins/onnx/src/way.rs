//! The way of samples through a model, found by the tensors of both: as they are, row by row, or window by window.

pub(crate) mod entries;
pub(crate) mod interleave;
mod rows;
pub(crate) mod windows;

use proctor_onnx_file::{Batching, Fit, OnnxFile};
use proctor_plugin_api::{ModelRequest, vocabulary::TensorSpec};

use crate::{
    answer::{Made, MadeOf},
    error::LoadError,
    way::windows::WindowFit,
};

/// How samples go through a model.
#[derive(Debug, Clone)]
pub(crate) enum Way {
    /// Together, in the first dimension of all tensors.
    Batches(ModelTensors),
    /// Volumes one by one, each in windows.
    Volumes(WindowFit),
}

/// How samples lie in the tensors of a model, whose first dimension is of entries: samples, or rows of them.
#[derive(Debug, Clone)]
pub(crate) struct ModelTensors {
    /// Fit of the tensors; has no outputs if a sample's outputs are computed from the model's.
    pub fit: Fit,
    /// Computation of the sample's outputs from the model's.
    pub made: Option<MadeOf>,
    /// Inputs of an entry.
    pub inputs: Vec<TensorSpec>,
    /// Outputs of an entry, or the interleaved parts of its only one.
    pub outputs: Vec<TensorSpec>,
    /// Whether the values of all outputs alternate in the only output of a sample.
    pub is_interleaved: bool,
    /// Maximum number of rows of a sample; `None` if a sample is one entry.
    pub rows_max: Option<usize>,
    /// Maximum number of samples of a batch.
    pub batch_size_max: usize,
}

impl ModelTensors {
    /// Returns the maximum number of entries of a call.
    pub(crate) fn entries_max(&self) -> usize {
        match self.fit.batching {
            Batching::Free => self.batch_size_max.saturating_mul(self.rows_max.unwrap_or(1)),
            Batching::Fixed(fixed) => fixed,
            Batching::None => 1,
        }
    }
}

impl Way {
    /// Finds how samples of the request go through the model in a file, in calls of up to `windows_max` windows if it
    /// has windows.
    ///
    /// # Errors
    /// Returns a [`LoadError`] that says what the model has, what the benchmark has, and where they differ.
    pub(crate) fn find(
        file: &OnnxFile,
        request: &ModelRequest,
        windows_max: usize,
    ) -> Result<Self, LoadError> {
        let batch_size_max = usize::try_from(request.batch_size_max).unwrap_or(usize::MAX).max(1);
        if let Some(fit) = WindowFit::find(file, request, windows_max)? {
            return Ok(Self::Volumes(fit));
        }
        if request.inputs_vary {
            return rows::find(file, request, batch_size_max).map(Self::Batches);
        }
        let parts = interleave::parts(file, &request.outputs);
        let is_interleaved = parts.is_some();
        let (inputs, outputs) = (request.inputs.clone(), parts.unwrap_or_else(|| request.outputs.clone()));
        let plain = file.fit(&inputs, &outputs, batch_size_max);
        // Outputs that fit are taken as they are, unless the last one varies.
        let made = match &plain {
            Ok(_) if !request.last_output_varies => None,
            _ => Made::recognise(&file.signature, request),
        };
        let (fit, made) = match made {
            None => (plain?, None),
            Some(made) => {
                let name = |value: usize| file.signature.outputs[value].name.clone();
                let names = made.values().into_iter().map(name).collect();
                (file.fit_inputs(&inputs, batch_size_max)?, Some(MadeOf { made, names }))
            }
        };
        let tensors =
            ModelTensors { fit, made, inputs, outputs, is_interleaved, rows_max: None, batch_size_max };
        Ok(Self::Batches(tensors))
    }
}

//! The room of one instance for runs of one batch size.

use std::{ops::Range, sync::Arc};

use proctor_onnx_file::{Fit, Port};
use proctor_plugin_api::{Batch, PluginError};
use tract_onnx::prelude::{DatumType, IntoTValue, TValue, TVec, Tensor, TractResult, TypedSimpleState};

use crate::plans::{Plan, datum_type};

/// The state, the inputs and the outputs of a plan in one instance.
#[derive(Debug)]
pub(crate) struct Slot {
    /// Samples of a run.
    pub batch_size: usize,
    /// Which samples of the batch come here; empty if none.
    pub samples: Range<usize>,
    state: TypedSimpleState,
    /// Kept from run to run: memory that is already mapped and in the cache.
    inputs: Vec<Arc<Tensor>>,
    /// Of the last run, until they are copied out.
    outputs: TVec<TValue>,
}

impl Slot {
    pub(crate) fn new(plan: &Plan, fit: &Fit) -> TractResult<Self> {
        let inputs = fit.inputs.iter().map(|port| {
            let element_type = datum_type(port.spec.element_type).unwrap_or(DatumType::F32);
            Tensor::zero_dt(element_type, &fit.shape(port, plan.batch_size)).map(Arc::new)
        });
        Ok(Self {
            batch_size: plan.batch_size,
            samples: 0..0,
            state: plan.runnable.spawn()?,
            inputs: inputs.collect::<TractResult<_>>()?,
            outputs: TVec::new(),
        })
    }

    /// Copies the inputs of this slot's samples in, and returns the number of bytes read.
    pub(crate) fn gather(&mut self, fit: &Fit, batch: &Batch<'_>) -> Result<u64, PluginError> {
        let mut copied = 0;
        for (tensor, port) in self.inputs.iter_mut().zip(&fit.inputs) {
            let rows = unique(tensor)?.as_bytes_mut().chunks_exact_mut(port.spec.size_bytes().max(1));
            for (sample, row) in self.samples.clone().zip(rows) {
                let bytes = batch.input(sample, port.tensor);
                copy(port, bytes, row)?;
                copied += bytes.len() as u64;
            }
        }
        Ok(copied)
    }

    /// Computes, with the threads of the caller's scope.
    pub(crate) fn run(&mut self) -> Result<(), PluginError> {
        let inputs = self.inputs.iter().map(|tensor| Arc::clone(tensor).into_tvalue()).collect();
        match self.state.run(inputs) {
            Ok(outputs) => {
                self.outputs = outputs;
                Ok(())
            }
            Err(error) => {
                // Half of a run must not be taken for the beginning of the next one.
                self.state.reset_turn().map_err(|error| PluginError::failed(format!("{error:#}")))?;
                Err(PluginError::failed(format!(
                    "tract cannot run a batch of {}: {error:#}",
                    self.batch_size
                )))
            }
        }
    }

    /// Copies the outputs of this slot's samples out, and lets go of them.
    pub(crate) fn scatter(&mut self, fit: &Fit, batch: &mut Batch<'_>) -> Result<(), PluginError> {
        for (value, port) in self.outputs.iter().zip(&fit.outputs) {
            let numbers = (value.datum_type() == DatumType::TDim).then(|| value.cast_to::<i64>()).transpose();
            let numbers =
                numbers.map_err(|error| PluginError::failed(format!("\"{}\": {error:#}", port.spec.name)))?;
            let tensor: &Tensor = numbers.as_deref().unwrap_or(value);
            let rows = tensor.as_bytes().chunks_exact(port.spec.size_bytes().max(1));
            for (sample, row) in self.samples.clone().zip(rows) {
                copy(port, row, batch.sample(sample).output_mut(port.tensor))?;
            }
        }
        self.outputs.clear();
        Ok(())
    }

    /// Lets go of the outputs of the last run.
    pub(crate) fn discard(&mut self) {
        self.outputs.clear();
    }
}

/// The tensor, made anew if a model that hands an input through still holds it.
fn unique(tensor: &mut Arc<Tensor>) -> Result<&mut Tensor, PluginError> {
    if Arc::get_mut(tensor).is_none() {
        let fresh = Tensor::zero_dt(tensor.datum_type(), tensor.shape());
        *tensor = Arc::new(fresh.map_err(|error| PluginError::failed(format!("{error:#}")))?);
    }
    Ok(Arc::get_mut(tensor).expect("it was made just now"))
}

/// One sample's values from one side to the other.
fn copy(port: &Port, from: &[u8], to: &mut [u8]) -> Result<(), PluginError> {
    port.copy(from, to)
        .map_err(|error| PluginError::invalid_argument(format!("\"{}\": {error}", port.spec.name)))
}

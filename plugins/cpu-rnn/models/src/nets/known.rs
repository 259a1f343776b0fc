//! A row of the table of networks, and what the networks share.

use std::sync::Arc;

use proctor_vocabulary::{ElementType, TensorSpec};

use super::recurrent::Planner;
use crate::model::{MEMORY_BYTES_MAX, Model, RunError};
use crate::safetensors::error::WeightsError;

/// A network that can be loaded by its id.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    /// Its id. One that ends in `-tiny` is the same code with small sizes, for tests.
    pub(super) id: &'static str,
    /// Inputs of a sample, in order.
    pub(super) inputs: fn() -> Vec<TensorSpec>,
    /// Outputs of a sample, in order.
    pub(super) outputs: fn() -> Vec<TensorSpec>,
    /// Takes the weights and plans the layers.
    pub(super) load: Load,
}

/// Makes a model of a network's weights.
pub(super) type Load = fn(Settings, &mut Planner<'_, '_>) -> Result<Arc<dyn Model>, WeightsError>;

/// The ways in which a network will be run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub(super) batch_size_max: usize,
}

impl Settings {
    /// Refuses batches whose buffers of `values_per_sample` f32 values for each sample would be out of all proportion.
    pub(super) fn check_memory(&self, time: usize, values_per_sample: usize) -> Result<(), RunError> {
        let batch_size_max = self.batch_size_max;
        let bytes = batch_size_max
            .checked_mul(values_per_sample)
            .and_then(|count| count.checked_mul(size_of::<f32>()));
        if bytes.is_some_and(|bytes| bytes <= MEMORY_BYTES_MAX) {
            return Ok(());
        }
        Err(RunError::TooLarge { time, batch_size_max, limit_bytes: MEMORY_BYTES_MAX })
    }
}

pub(super) fn f32_spec(name: &str, shape: &[usize]) -> TensorSpec {
    TensorSpec { name: name.to_owned(), element_type: ElementType::F32, shape: shape.to_vec() }
}

pub(super) fn i32_spec(name: &str, shape: &[usize]) -> TensorSpec {
    TensorSpec { name: name.to_owned(), element_type: ElementType::I32, shape: shape.to_vec() }
}

pub(super) fn zeros(count: usize) -> Vec<f32> {
    vec![0.0; count]
}

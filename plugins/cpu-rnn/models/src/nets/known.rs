//! A row of the table of networks, and code that the networks share.

use std::{fmt, sync::Arc};

use proctor_vocabulary::{ElementType, TensorSpec};

use super::recurrent::LayerSource;
use crate::model::{MEMORY_BYTES_MAX, Model, RunError};
use crate::request::LoadError;

/// A network of certain sizes.
pub(super) trait Known: fmt::Debug + Sync {
    /// Returns the inputs of a sample, in order.
    fn inputs(&self) -> Vec<TensorSpec>;

    /// Returns the outputs of a sample, in order.
    fn outputs(&self) -> Vec<TensorSpec>;

    /// Returns the formats of the files that it reads.
    fn formats(&self) -> &'static [&'static str] {
        &["safetensors"]
    }

    /// Returns the variant of the network in other sizes that has these tensors, such as a published data set's; `None`
    /// if no variant has them.
    fn for_tensors(&self, _inputs: &[TensorSpec], _outputs: &[TensorSpec]) -> Option<Box<dyn Known>> {
        None
    }

    /// Returns the names of such tensors in words, if there are any.
    fn other_tensors(&self) -> Option<&'static str> {
        None
    }

    /// Takes the weights and plans the layers.
    fn load(&self, layer_source: &mut LayerSource<'_, '_>) -> Result<Arc<dyn Model>, LoadError>;
}

/// Returns whether these are the same tensors by types and shapes; names are for people.
pub(super) fn are_alike(expected: &[TensorSpec], got: &[TensorSpec]) -> bool {
    let alike = |(a, b): (&TensorSpec, &TensorSpec)| a.element_type == b.element_type && a.shape == b.shape;
    expected.len() == got.len() && expected.iter().zip(got).all(alike)
}

/// Returns whether a tensor is a row of such elements.
pub(super) fn is_row(tensor: &TensorSpec, element_type: ElementType) -> bool {
    tensor.element_type == element_type && matches!(tensor.shape[..], [extent] if extent > 0)
}

/// Returns whether a tensor is a single i32.
pub(super) fn is_length(tensor: &TensorSpec) -> bool {
    is_row(tensor, ElementType::I32) && tensor.shape == [1]
}

/// Refuses batches whose buffers of `values_per_sample` f32 values for each sample would be out of all proportion.
pub(super) fn check_memory(
    batch_size_max: usize,
    time: usize,
    values_per_sample: usize,
) -> Result<(), RunError> {
    let count = batch_size_max.checked_mul(values_per_sample);
    let bytes = count.and_then(|count| count.checked_mul(size_of::<f32>()));
    if bytes.is_some_and(|bytes| bytes <= MEMORY_BYTES_MAX) {
        return Ok(());
    }
    Err(RunError::TooLarge { time, batch_size_max })
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

//! Outputs of models that a class of a sample is made of.

use proctor_vocabulary::{
    ElementType::{self, F16, F32, I32, I64},
    TensorSpec,
};

use crate::{
    elements::ValueType,
    signature::{Dim, Signature, ValueSpec},
};

/// The output of a model that the class of a sample is made of, where the benchmark wants one integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClassOutput {
    /// Number of the output among the outputs of the [`Signature`].
    pub value: usize,
    /// Whether it holds the scores of the classes, the largest of which decides, and not the position of the class.
    pub is_scores: bool,
    /// Number of scores of a sample, whether or not they are used.
    pub score_count: usize,
}

impl ClassOutput {
    /// Returns the output for a benchmark that wants one integer, of a model that gives scores of classes, with or
    /// without the position of the largest.
    #[must_use]
    pub fn recognise(signature: &Signature, wanted: &[TensorSpec]) -> Option<Self> {
        let [wanted] = wanted else { return None };
        if !matches!(wanted.element_type, I32 | I64) || wanted.element_count() != 1 {
            return None;
        }
        let of_type = |value: &ValueSpec, types: [ElementType; 2]| match value.value_type {
            ValueType::Tensor(element_type) if types.contains(&element_type) => values_of_a_sample(value),
            _ => None,
        };
        let scores = |value: &ValueSpec| of_type(value, [F32, F16]).filter(|count| *count > 1);
        let outputs = &signature.outputs;
        let (with_scores, score_count) =
            outputs.iter().enumerate().find_map(|(place, value)| Some((place, scores(value)?)))?;
        let position = outputs.iter().position(|value| of_type(value, [I32, I64]) == Some(1));
        Some(Self { value: position.unwrap_or(with_scores), is_scores: position.is_none(), score_count })
    }
}

/// Returns the number of values of one sample, if the file says them; the batch is the first dimension.
fn values_of_a_sample(value: &ValueSpec) -> Option<usize> {
    let (_, own) = value.dims.as_deref()?.split_first()?;
    own.iter().try_fold(1_usize, |count, dim| match dim {
        Dim::Fixed(extent) => count.checked_mul(*extent),
        Dim::Free(_) => None,
    })
}

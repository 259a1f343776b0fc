//! The position of a class, of a model that gives scores, or scores and positions that count a background.

use std::fmt;

use proctor_onnx_file::{Dim, Signature, ValueSpec, ValueType};
use proctor_plugin_api::{
    Batch, ModelRequest, PluginError,
    vocabulary::ElementType::{self, F16, F32, I32, I64},
};

use super::numbers::{integers, reals};
use crate::binding::Lent;

/// Number of scores of a model of ImageNet's 1000 classes with a background as the first.
const WITH_BACKGROUND: usize = 1001;

/// How the position of a class is made.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Classes {
    /// The output that it is made of.
    pub(super) value: usize,
    /// Number of scores of a sample, the largest of which decides; `None` if the model returns its position.
    scores: Option<usize>,
    /// The position of class 0.
    first: i64,
    /// Name of the output.
    name: String,
    /// Type of the sample's output.
    element: ElementType,
}

impl Classes {
    /// Returns the way for a benchmark that wants one integer, and a model that gives scores of classes, with or
    /// without the position of the largest. As a model of 1001 classes is one of 1000 and the background, its positions
    /// are one less.
    pub(super) fn recognise(signature: &Signature, request: &ModelRequest) -> Option<Self> {
        let [wanted] = &request.outputs[..] else { return None };
        if !matches!(wanted.element_type, I32 | I64) || wanted.element_count() != 1 {
            return None;
        }
        let scores = |value: &ValueSpec| match value.value_type {
            ValueType::Tensor(F32 | F16) => extents(value).filter(|count| *count > 1),
            _ => None,
        };
        let is_position = |value: &ValueSpec| {
            matches!(value.value_type, ValueType::Tensor(I32 | I64)) && extents(value) == Some(1)
        };
        let outputs = &signature.outputs;
        let (with_scores, count) =
            outputs.iter().enumerate().find_map(|(place, value)| Some((place, scores(value)?)))?;
        let position = outputs.iter().position(is_position);
        let value = position.unwrap_or(with_scores);
        Some(Self {
            value,
            scores: position.is_none().then_some(count),
            first: i64::from(count == WITH_BACKGROUND),
            name: outputs[value].name.clone(),
            element: wanted.element_type,
        })
    }

    pub(super) fn answer(
        &self,
        outputs: &[Lent<'_>],
        samples: usize,
        batch: &mut Batch<'_>,
    ) -> Result<(), PluginError> {
        let positions: Vec<i64> = match self.scores {
            None => integers(&outputs[0])?,
            Some(count) => reals(&outputs[0])?.chunks(count).map(position_of_largest).collect(),
        };
        if positions.len() != samples {
            let (name, dims) = (&self.name, &outputs[0].dims);
            return Err(PluginError::failed(format!("\"{name}\" {dims:?} is no class of {samples} samples")));
        }
        for (mut sample, position) in batch.samples().zip(positions) {
            let class = position - self.first;
            let room = sample.output_mut(0);
            match self.element {
                I32 => {
                    let class = i32::try_from(class)
                        .map_err(|_| PluginError::failed(format!("class {class} does not fit into i32")))?;
                    room.copy_from_slice(&class.to_ne_bytes());
                }
                _ => room.copy_from_slice(&class.to_ne_bytes()),
            }
        }
        Ok(())
    }
}

/// Returns the position of the first of the largest values; NaNs are skipped.
fn position_of_largest(scores: &[f32]) -> i64 {
    let (mut position, mut largest) = (0, f32::NEG_INFINITY);
    for (place, score) in (0..).zip(scores) {
        if *score > largest {
            (position, largest) = (place, *score);
        }
    }
    position
}

/// Returns the number of values of one sample, if the file says them; the batch is the first dimension.
fn extents(value: &ValueSpec) -> Option<usize> {
    let (_, own) = value.dims.as_deref()?.split_first()?;
    own.iter().try_fold(1_usize, |count, dim| match dim {
        Dim::Fixed(extent) => count.checked_mul(*extent),
        Dim::Free(_) => None,
    })
}

impl fmt::Display for Classes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.scores {
            None => write!(f, "\"{}\"", self.name)?,
            Some(count) => write!(f, "the position of the largest of {count} in \"{}\"", self.name)?,
        }
        if self.first > 0 { write!(f, " less {}, as class 0 is the background", self.first) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equals_is_the_largest_and_what_is_no_number_is_none() {
        assert_eq!(position_of_largest(&[0.5, 2.0, 2.0, f32::NAN]), 1);
        assert_eq!(position_of_largest(&[f32::NAN, -3.0]), 1);
        assert_eq!(position_of_largest(&[f32::NAN]), 0);
    }
}

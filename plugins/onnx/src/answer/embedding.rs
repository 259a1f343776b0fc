//! The vector of a sentence, of a model that gives one for each of its tokens.

use std::fmt;

use proctor_onnx_file::{Dim, Signature, ValueSpec, ValueType};
use proctor_plugin_api::{
    Batch, ModelRequest, PluginError,
    vocabulary::ElementType::{self, F16, F32, I32, I64},
};

use super::numbers::reals;
use crate::binding::Lent;

/// Name of the output, as models have it that compute the vector of a sentence themselves.
const WANTED: &str = "sentence_embedding";

/// Names of the input that has 1 for each token and 0 for padding.
const MASKS: [&str; 2] = ["attention_mask", "input_mask"];

/// How the vector of a sentence is made: the mean over its tokens, scaled to the length 1.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Embedding {
    /// The output that it is made of.
    pub(super) value: usize,
    /// Name of the output.
    name: String,
    /// Number of values of a vector.
    width: usize,
    /// The sample's input that tells tokens from padding.
    mask: usize,
    mask_type: ElementType,
    mask_name: String,
}

impl Embedding {
    /// Returns the way for a benchmark that wants a vector, and a model with one output of vectors of the same width
    /// for the tokens.
    pub(super) fn recognise(signature: &Signature, request: &ModelRequest) -> Option<Self> {
        let [wanted] = &request.outputs[..] else { return None };
        let [width] = wanted.shape[..] else { return None };
        if wanted.name != WANTED || wanted.element_type != F32 || request.last_output_varies {
            return None;
        }
        let (mask, spec) = request.inputs.iter().enumerate().find(|(_, spec)| {
            MASKS.contains(&spec.name.as_str())
                && matches!(spec.element_type, I32 | I64)
                && spec.shape.len() == 1
        })?;
        let is_of_tokens = |value: &ValueSpec| {
            matches!(value.value_type, ValueType::Tensor(F32 | F16))
                && matches!(value.dims.as_deref(), Some([_, _, last]) if *last == Dim::Fixed(width))
        };
        let mut found = signature.outputs.iter().enumerate().filter(|(_, value)| is_of_tokens(value));
        let (value, output) = found.next()?;
        found.next().is_none().then(|| Self {
            value,
            name: output.name.clone(),
            width,
            mask,
            mask_type: spec.element_type,
            mask_name: spec.name.clone(),
        })
    }

    pub(super) fn answer(
        &self,
        outputs: &[Lent<'_>],
        samples: usize,
        batch: &mut Batch<'_>,
    ) -> Result<(), PluginError> {
        let (values, dims) = (reals(&outputs[0])?, &outputs[0].dims);
        let &[count, token_count, width] = &dims[..] else { return Err(self.unfit(dims, samples)) };
        if (count, width) != (samples, self.width) || values.len() != count * token_count * width {
            return Err(self.unfit(dims, samples));
        }
        let mut sum = vec![0.0_f32; width];
        for position in 0..batch.sample_count() {
            let own = &values[position * token_count * width..][..token_count * width];
            sum.fill(0.0);
            let mask = self.mask_of(batch.input(position, self.mask));
            for (token, _) in own.chunks_exact(width).zip(mask).filter(|(_, is_token)| *is_token) {
                sum.iter_mut().zip(token).for_each(|(sum, value)| *sum += value);
            }
            // Dividing by the number of tokens would change nothing, as the length becomes 1.
            let length = sum.iter().map(|value| value * value).sum::<f32>().sqrt();
            let mut sample = batch.sample(position);
            if length == 0.0 {
                let (index, mask) = (sample.index(), &self.mask_name);
                let text = format!(
                    "sample {index} has no vector: \"{mask}\" is 0 everywhere, or the sum of its vectors is"
                );
                return Err(PluginError::invalid_argument(text));
            }
            let room = sample.output_mut(0);
            let room_bytes = room.len();
            let (to, rest) = room.as_chunks_mut::<4>();
            if to.len() != width || !rest.is_empty() {
                let text = format!("a vector of {width} values does not fit into {room_bytes} bytes");
                return Err(PluginError::invalid_argument(text));
            }
            to.iter_mut().zip(&sum).for_each(|(to, value)| *to = (value / length).to_ne_bytes());
        }
        Ok(())
    }

    /// Returns for each position of a sample whether a token is there.
    fn mask_of<'a>(&self, bytes: &'a [u8]) -> impl Iterator<Item = bool> + use<'a> {
        bytes.chunks_exact(self.mask_type.unit_bytes()).map(|number| number.iter().any(|byte| *byte != 0))
    }

    fn unfit(&self, dims: &[usize], samples: usize) -> PluginError {
        let (name, width) = (&self.name, self.width);
        PluginError::failed(format!(
            "\"{name}\" {dims:?} are no vectors of {width} for tokens of {samples} samples"
        ))
    }
}

impl fmt::Display for Embedding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the mean of \"{}\" where \"{}\" is not 0, scaled to length 1", self.name, self.mask_name)
    }
}

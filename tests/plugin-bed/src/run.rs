//! The results of a run.

use std::collections::BTreeMap;

use proctor_plugin_api::vocabulary::{SampleIndex, TensorSpec};
use proctor_plugin_host::Stage;

use crate::values::{f32_values, i32_values};

/// The results of a run that went well.
#[derive(Debug, Clone)]
pub struct Run {
    /// The results of each instance.
    pub instances: Vec<Ran>,
    /// The latest value of each figure that the plugin has reported so far, by name.
    pub metrics: BTreeMap<String, f64>,
}

/// The results of one instance.
#[derive(Debug, Clone, Default)]
pub struct Ran {
    /// The answer to each sample, by its index.
    pub answers: Vec<Answer>,
    /// The stages of each batch, in the order of the batches; empty if the plugin reports none.
    pub stages: Vec<Vec<Stage>>,
    /// The samples whose first token was reported, in that order.
    pub first_tokens: Vec<SampleIndex>,
}

/// The answer to one sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The bytes of each output.
    pub outputs: Vec<Vec<u8>>,
    /// Number of output tokens; 0 where tokens have no meaning.
    pub token_count: u32,
}

impl Run {
    /// Returns the answers of the first instance, which is often the only one.
    #[must_use]
    pub fn answers(&self) -> &[Answer] {
        &self.instances[0].answers
    }

    /// Returns the stages of all batches, instance by instance.
    pub fn stages(&self) -> impl Iterator<Item = &[Stage]> {
        self.instances.iter().flat_map(|ran| ran.stages.iter().map(Vec::as_slice))
    }
}

impl Answer {
    /// Divides a response into its outputs, stored one after another; the last one gets the rest.
    pub(crate) fn split(response: &[u8], specs: &[TensorSpec], token_count: u32) -> Self {
        let mut rest = response;
        let mut outputs = Vec::with_capacity(specs.len());
        for (position, spec) in specs.iter().enumerate() {
            let is_last = position + 1 == specs.len();
            let size_bytes = if is_last { rest.len() } else { spec.size_bytes() };
            let (output, after) = rest.split_at(size_bytes);
            outputs.push(output.to_vec());
            rest = after;
        }
        Self { outputs, token_count }
    }

    /// Returns the values of an output of f32.
    ///
    /// # Panics
    /// If the output does not exist, or its bytes are not a whole number of values.
    #[must_use]
    pub fn f32s(&self, output: usize) -> Vec<f32> {
        f32_values(&self.outputs[output])
    }

    /// Returns the values of an output of i32.
    ///
    /// # Panics
    /// If the output does not exist, or its bytes are not a whole number of values.
    #[must_use]
    pub fn i32s(&self, output: usize) -> Vec<i32> {
        i32_values(&self.outputs[output])
    }
}

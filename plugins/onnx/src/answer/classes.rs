//! The position of a class, of a model that gives scores, or scores and positions that count a background.

use std::fmt;

use proctor_onnx_file::{ClassOutput, Signature};
use proctor_plugin_api::{Batch, ModelRequest, PluginError};
use proctor_timed_steps::classes::{self, position_of_largest};

use super::numbers::{integers, reals};
use crate::binding::Lent;

/// How the position of a class is made.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Classes {
    /// The output that it is made of.
    pub(super) output: ClassOutput,
    classes: classes::Classes,
    /// Name of the output.
    name: String,
}

impl Classes {
    /// Returns the way for a benchmark that wants one integer, and a model that gives scores of classes, with or
    /// without the position of the largest.
    pub(super) fn recognise(signature: &Signature, request: &ModelRequest) -> Option<Self> {
        let output = ClassOutput::recognise(signature, &request.outputs)?;
        let classes = classes::Classes { count: output.score_count };
        Some(Self { output, classes, name: signature.outputs[output.value].name.clone() })
    }

    pub(super) fn answer(
        &self,
        outputs: &[Lent<'_>],
        samples: usize,
        batch: &mut Batch<'_>,
    ) -> Result<(), PluginError> {
        let positions: Vec<i64> = if self.output.is_scores {
            reals(&outputs[0])?.chunks(self.classes.count).map(position_of_largest).collect()
        } else {
            integers(&outputs[0])?
        };
        if positions.len() != samples {
            let (name, dims) = (&self.name, &outputs[0].dims);
            return Err(PluginError::failed(format!("\"{name}\" {dims:?} is no class of {samples} samples")));
        }
        for (mut sample, position) in batch.samples().zip(positions) {
            let written = self.classes.write(position, sample.output_mut(0));
            written.map_err(|error| PluginError::failed(error.to_string()))?;
        }
        Ok(())
    }
}

impl fmt::Display for Classes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, first) = (self.classes.count, self.classes.first());
        if self.output.is_scores {
            write!(f, "the position of the largest of {count} in \"{}\"", self.name)?;
        } else {
            write!(f, "\"{}\"", self.name)?;
        }
        if first > 0 { write!(f, " less {first}, as class 0 is the background") } else { Ok(()) }
    }
}

//! Outputs of a sample that are made of the model's, where they are not the same: positions of classes, records of
//! boxes and vectors of sentences, of the outputs that published files have, and outputs that vary in size.

mod classes;
mod detections;
mod embedding;
mod numbers;
mod selected;
mod varying;

use std::fmt;

use proctor_onnx_file::Signature;
use proctor_plugin_api::{Batch, ModelRequest, PluginError};

use self::{
    classes::Classes, detections::Detections, embedding::Embedding, selected::Selected, varying::Varying,
};
use crate::binding::Lent;

/// How the outputs of a sample are made.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Made {
    /// The position of a class.
    Classes(Classes),
    /// Records of boxes.
    Detections(Detections),
    /// The vector of a sentence.
    Embedding(Embedding),
    /// Records of boxes that are selected here.
    Selected(Selected),
    /// Outputs unchanged, the last one of any size.
    Varying(Varying),
}

/// Outputs that are computed from the model's outputs.
#[derive(Debug, Clone)]
pub(crate) struct MadeOf {
    pub made: Made,
    /// Names of the model's outputs that are used, in the order in which they are taken.
    pub names: Vec<String>,
}

impl Made {
    /// Returns how to compute the outputs from a model with these outputs; `None` if it is not possible, or not needed.
    pub(crate) fn recognise(signature: &Signature, request: &ModelRequest) -> Option<Self> {
        let detections = || Detections::recognise(signature, request).map(Self::Detections);
        let selected = || Selected::recognise(signature, request).map(Self::Selected);
        let classes = || Classes::recognise(signature, request).map(Self::Classes);
        let embedding = || Embedding::recognise(signature, request).map(Self::Embedding);
        let varying = || Varying::recognise(signature, request).map(Self::Varying);
        detections().or_else(selected).or_else(classes).or_else(embedding).or_else(varying)
    }

    /// Returns the numbers of the model's used outputs, in the order in which [`answer`](Self::answer) takes them.
    pub(crate) fn values(&self) -> Vec<usize> {
        match self {
            Self::Classes(classes) => vec![classes.output.value],
            Self::Detections(detections) => detections.values.clone(),
            Self::Embedding(embedding) => vec![embedding.value],
            Self::Selected(selected) => selected.values.to_vec(),
            Self::Varying(varying) => varying.values(),
        }
    }

    /// Writes the outputs of a batch; the model has computed `samples`.
    ///
    /// # Errors
    /// Fails for outputs of other shapes than expected, or too large for the sample's buffer.
    pub(crate) fn answer(
        &self,
        outputs: &[Lent<'_>],
        samples: usize,
        batch: &mut Batch<'_>,
    ) -> Result<(), PluginError> {
        match self {
            Self::Classes(classes) => classes.answer(outputs, samples, batch),
            Self::Detections(detections) => detections.answer(outputs, samples, batch),
            Self::Embedding(embedding) => embedding.answer(outputs, samples, batch),
            Self::Selected(selected) => selected.answer(outputs, samples, batch),
            Self::Varying(varying) => varying.answer(outputs, samples, batch),
        }
    }
}

impl fmt::Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Classes(classes) => classes.fmt(f),
            Self::Detections(detections) => detections.fmt(f),
            Self::Embedding(embedding) => embedding.fmt(f),
            Self::Selected(selected) => selected.fmt(f),
            Self::Varying(_) => f.write_str("as they are, the last one as large as it comes"),
        }
    }
}

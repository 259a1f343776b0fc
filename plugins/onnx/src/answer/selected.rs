//! Records of boxes that are selected here, of a model that gives all its boxes with a score for each category.

use std::fmt;

use proctor_onnx_file::{Dim, Signature, ValueSpec, ValueType};
use proctor_plugin_api::{Batch, ModelRequest, PluginError, vocabulary::ElementType};
use proctor_timed_steps::boxes::{Corners, SSD_MOBILENET, append_records};

use super::{detections::write_records, numbers::reals};
use crate::binding::Lent;

/// Names of the outputs: the edges of boxes, upper, left, lower and right, as shares of the image; and of each box the
/// scores of COCO's categories by their ids, after the background.
const OUTPUTS: [&str; 2] = ["boxes", "scores"];

/// How boxes are selected.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Selected {
    /// Numbers of the outputs among the model's.
    pub(super) values: [usize; 2],
    /// Number of boxes of a sample.
    box_count: usize,
}

impl Selected {
    /// Returns the way for a benchmark that wants one output of f32, which varies, and a model with these outputs.
    pub(super) fn recognise(signature: &Signature, request: &ModelRequest) -> Option<Self> {
        let [wanted] = &request.outputs[..] else { return None };
        if !request.last_output_varies || wanted.element_type != ElementType::F32 {
            return None;
        }
        let [boxes, scores] = OUTPUTS.map(|name| {
            let place = signature.outputs.iter().position(|output| output.name == name)?;
            let (rows, columns) = table(&signature.outputs[place])?;
            Some((place, rows, columns))
        });
        let ((boxes, box_count, 4), (scores, score_count, class_count)) = (boxes?, scores?) else {
            return None;
        };
        let fits = box_count == score_count && class_count == SSD_MOBILENET.class_count;
        fits.then_some(Self { values: [boxes, scores], box_count })
    }

    pub(super) fn answer(
        &self,
        outputs: &[Lent<'_>],
        samples: usize,
        batch: &mut Batch<'_>,
    ) -> Result<(), PluginError> {
        let [boxes, scores] = outputs else {
            return Err(PluginError::failed("fewer outputs than the model has"));
        };
        let score_count = self.box_count * SSD_MOBILENET.class_count;
        let (edges, all_scores) = (reals(boxes)?, reals(scores)?);
        if edges.len() != samples * self.box_count * 4 || all_scores.len() != samples * score_count {
            let text = format!(
                "boxes {:?} and scores {:?} are not those of {samples} samples",
                boxes.dims, scores.dims
            );
            return Err(PluginError::failed(text));
        }
        let corners = |edges: &[f32; 4]| [edges[1], edges[0], edges[3], edges[2]];
        let corners: Vec<Corners> = edges.as_chunks().0.iter().map(corners).collect();
        let of_samples = corners.chunks_exact(self.box_count).zip(all_scores.chunks_exact(score_count));
        let mut records = Vec::new();
        for (mut sample, (corners, scores)) in batch.samples().zip(of_samples) {
            let found = SSD_MOBILENET.select(corners, scores);
            records.clear();
            append_records(sample.index().0, &found, [1.0; 2], f32::NEG_INFINITY, &mut records);
            write_records(&records, &mut sample)?;
        }
        Ok(())
    }
}

/// Returns the rows and columns of a value of f32 for one sample; the batch is the first dimension.
fn table(value: &ValueSpec) -> Option<(usize, usize)> {
    match (value.value_type, &value.dims.as_deref()?) {
        (ValueType::Tensor(ElementType::F32), [_, Dim::Fixed(rows), Dim::Fixed(columns)]) if *rows > 0 => {
            Some((*rows, *columns))
        }
        _ => None,
    }
}

impl fmt::Display for Selected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [boxes, scores] = OUTPUTS;
        let bound = SSD_MOBILENET.score_min;
        write!(f, "{boxes} with {scores} above {bound}, the best of those that overlap, as records")
    }
}

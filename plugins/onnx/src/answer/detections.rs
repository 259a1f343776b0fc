//! Records of boxes, of the outputs that MLPerf's reference files have.

use std::fmt;

use proctor_onnx_file::Signature;
use proctor_plugin_api::{
    Batch, BatchSample, ModelRequest, PluginError,
    vocabulary::{ElementType, TensorSpec},
};
use proctor_timed_steps::boxes::{Detection, append_records, coco_category};

use super::numbers::reals;
use crate::binding::Lent;

/// Outputs by which a reference file is known, and their meaning.
///
/// Source: MLPerf Inference, `vision/classification_and_detection`: the profiles of the reference implementation, and
/// the post-processing that goes with each.
#[derive(Debug, PartialEq)]
struct Form {
    /// The model whose files have it.
    model: &'static str,
    /// Names of boxes, classes and scores, and of the number of boxes if there is one.
    outputs: &'static [&'static str],
    order: Order,
    unit: Unit,
    classes: ClassNames,
    /// Records end at the first score below this.
    score_min: f32,
}

/// Order of the four edges of a box.
#[derive(Debug, PartialEq)]
enum Order {
    /// Left, upper, right, lower.
    XFirst,
    /// Upper, left, lower, right.
    YFirst,
}

/// Unit of the edges.
#[derive(Debug, PartialEq)]
enum Unit {
    /// Shares of the image.
    Shares,
    /// Pixels of the model's input.
    Pixels,
}

/// Meaning of a class.
#[derive(Debug, PartialEq)]
enum ClassNames {
    /// The id of a category, as in the annotations.
    Ids,
    /// The position of a category in ascending order of ids, from 1.
    Positions,
}

const FORMS: [Form; 4] = [
    Form {
        model: "SSD-ResNet34 from PyTorch",
        outputs: &["bboxes", "labels", "scores"],
        order: Order::XFirst,
        unit: Unit::Shares,
        classes: ClassNames::Positions,
        score_min: 0.5,
    },
    Form {
        model: "SSD-ResNet34 from TensorFlow",
        outputs: &["detection_bboxes", "detection_classes", "detection_scores"],
        order: Order::YFirst,
        unit: Unit::Shares,
        classes: ClassNames::Positions,
        score_min: 0.05,
    },
    Form {
        model: "SSD-MobileNet",
        outputs: &["detection_boxes", "detection_classes", "detection_scores", "num_detections"],
        order: Order::YFirst,
        unit: Unit::Shares,
        classes: ClassNames::Ids,
        score_min: f32::NEG_INFINITY,
    },
    Form {
        model: "RetinaNet",
        outputs: &["boxes", "labels", "scores"],
        order: Order::XFirst,
        unit: Unit::Pixels,
        classes: ClassNames::Ids,
        score_min: 0.05,
    },
];

/// How records are made.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Detections {
    form: &'static Form,
    /// Numbers of the form's outputs among the model's.
    pub(super) values: Vec<usize>,
    /// Width and height in the unit of the edges.
    extent: [f32; 2],
}

impl Detections {
    /// Returns the way for a benchmark that wants one output of f32, which varies, from an image, and a model with the
    /// outputs of a reference file.
    pub(super) fn recognise(signature: &Signature, request: &ModelRequest) -> Option<Self> {
        let ([image], [wanted]) = (&request.inputs[..], &request.outputs[..]) else { return None };
        if !request.last_output_varies || wanted.element_type != ElementType::F32 {
            return None;
        }
        let found = |name: &&str| {
            signature
                .outputs
                .iter()
                .position(|output| output.name.strip_suffix(":0").unwrap_or(&output.name) == *name)
        };
        let known =
            |form: &'static Form| Some((form, form.outputs.iter().map(found).collect::<Option<Vec<_>>>()?));
        let (form, values) = FORMS.iter().find_map(known)?;
        let extent = match form.unit {
            Unit::Shares => [1.0; 2],
            Unit::Pixels => extent(image)?,
        };
        Some(Self { form, values, extent })
    }

    pub(super) fn answer(
        &self,
        outputs: &[Lent<'_>],
        samples: usize,
        batch: &mut Batch<'_>,
    ) -> Result<(), PluginError> {
        let [boxes, classes, scores, counts @ ..] = outputs else {
            return Err(PluginError::failed("fewer outputs than the model has"));
        };
        let shapes = || {
            let dims =
                outputs.iter().zip(self.form.outputs).map(|(it, name)| format!("{name} {:?}", it.dims));
            dims.collect::<Vec<_>>().join(", ")
        };
        let (boxes, classes, scores) = (reals(boxes)?, reals(classes)?, reals(scores)?);
        let counts = counts.first().map(reals).transpose()?;
        let per_sample = scores.len() / samples;
        let fits = boxes.len() == 4 * scores.len()
            && classes.len() == scores.len()
            && scores.len() == samples * per_sample
            && (samples == 1 || outputs[2].dims.first() == Some(&samples))
            && counts.as_ref().is_none_or(|counts| counts.len() == samples);
        if !fits {
            let text = format!("{} are not the boxes of {samples} samples", shapes());
            return Err(PluginError::failed(text));
        }
        let boxes = boxes.as_chunks::<4>().0;
        let mut records = Vec::new();
        for (position, mut sample) in batch.samples().enumerate() {
            let count =
                counts.as_ref().map_or(per_sample, |counts| (counts[position] as usize).min(per_sample));
            let range = position * per_sample..position * per_sample + count;
            let found = boxes[range.clone()].iter().zip(&classes[range.clone()]).zip(&scores[range]);
            let found = found.map(|((edges, class), score)| self.detection(*edges, *class, *score));
            let found: Vec<Detection> = found.collect();
            records.clear();
            append_records(sample.index().0, &found, self.extent, self.form.score_min, &mut records);
            write_records(&records, &mut sample)?;
        }
        Ok(())
    }

    fn detection(&self, edges: [f32; 4], class: f32, score: f32) -> Detection {
        let corners = match self.form.order {
            Order::XFirst => edges,
            Order::YFirst => [edges[1], edges[0], edges[3], edges[2]],
        };
        let class = class as usize;
        let class = match self.form.classes {
            ClassNames::Ids => class,
            // No category has the number 0, so that such a box counts as one of none.
            ClassNames::Positions => coco_category(class).unwrap_or(0),
        };
        Detection { corners, score, class }
    }
}

/// Writes the records of a sample.
///
/// # Errors
/// If there are more of them than the benchmark takes.
pub(super) fn write_records(records: &[u8], sample: &mut BatchSample<'_>) -> Result<(), PluginError> {
    let room = sample.output_mut(0);
    let Some(to) = room.get_mut(..records.len()) else {
        let text = format!(
            "the model gives {} boxes of a sample, and the benchmark takes {}",
            records.len() / RECORD_BYTES,
            room.len() / RECORD_BYTES
        );
        return Err(PluginError::failed(text));
    };
    to.copy_from_slice(records);
    sample.set_output_size(0, records.len());
    Ok(())
}

const RECORD_BYTES: usize = 7 * size_of::<f32>();

/// Returns the width and height of an image, whichever place its three channels have.
fn extent(image: &TensorSpec) -> Option<[f32; 2]> {
    let ([3, height, width] | [height, width, 3]) = image.shape[..] else { return None };
    Some([width as f32, height as f32])
}

impl fmt::Display for Detections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Form { model, outputs, score_min, .. } = self.form;
        write!(f, "{}, as files of {model} have them, as records", outputs.join(", "))?;
        if *score_min > 0.0 { write!(f, " up to the first score below {score_min}") } else { Ok(()) }
    }
}

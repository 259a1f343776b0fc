//! `map`: mean average precision of boxes, in `[0, 1]`, as COCO has it.

use proctor_vocabulary::ElementType;

use crate::{
    error::AccuracyError,
    judge::{Judge, detections::DetectionJudge},
    labels::{PublishedSamples, boxes},
    metric::{MetricEntry, Scoring, up_to_one_output},
};

inventory::submit! {
    MetricEntry {
        name: "map",
        outputs: "one output of f32, in records of seven",
        answers: "annotations of boxes",
        form: |outputs| up_to_one_output(outputs, ElementType::F32),
        needs_tolerance: false,
        scoring: Scoring::OneByOne(judge),
    }
}

fn judge(dataset: &str, samples: &PublishedSamples) -> Result<Box<dyn Judge>, AccuracyError> {
    let boxes::Boxes { images, annotations, categories, class_names } = boxes::read(dataset, samples)?;
    Ok(Box::new(DetectionJudge::new(images, annotations, categories, class_names)))
}

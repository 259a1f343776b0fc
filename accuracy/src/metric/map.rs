//! `map`: mean average precision of boxes, in `[0, 1]`, as COCO has it.

use proctor_vocabulary::ElementType;

use crate::{
    error::AccuracyError,
    judge::{
        Judge,
        detections::{ClassNames, DetectionJudge},
    },
    labels::{PublishedSamples, boxes},
    metric::{MetricEntry, Scoring, up_to_one_output},
    response::{ResponseForm, Variant},
};

inventory::submit! {
    MetricEntry {
        name: "map",
        outputs: "one output of f32, in records of seven",
        answers: "annotations of boxes",
        form: |outputs| up_to_one_output(outputs, &[ElementType::F32]),
        needs_tolerance: false,
        scoring: Scoring::OneByOne(judge),
    }
}

fn judge(
    dataset: &str,
    samples: &PublishedSamples,
    form: ResponseForm,
) -> Result<Box<dyn Judge>, AccuracyError> {
    let boxes::Boxes { images, annotations, categories, class_names } = boxes::read(dataset, samples)?;
    let class_names = match form.variant {
        Some(Variant::InverseMap) => ClassNames::Positions,
        _ => class_names,
    };
    Ok(Box::new(DetectionJudge::new(images, annotations, categories, class_names)))
}

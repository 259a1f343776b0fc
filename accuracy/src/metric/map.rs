//! `map`: mean average precision of boxes, in `[0, 1]`, as in COCO.

use proctor_vocabulary::ElementType;

use crate::{
    error::AccuracyError,
    judge::{
        Judge,
        detections::{ClassNames, DetectionJudge},
    },
    labels::boxes,
    metric::{JudgeRequest, MetricEntry, up_to_one_output},
    response::Variant,
};

inventory::submit! {
    MetricEntry {
        name: "map",
        about: "mAP of boxes by the steps of pycocotools, 0 to 1",
        outputs: "one output of f32, in records of seven",
        answers: "annotations of boxes",
        form: |outputs| up_to_one_output(outputs, &[ElementType::F32]),
        needs_tolerance: false,
        judge,
    }
}

fn judge(request: &JudgeRequest<'_>) -> Result<Box<dyn Judge>, AccuracyError> {
    let (dataset, samples) = request.published()?;
    let boxes::Boxes { images, annotations, categories, class_names } = boxes::read(dataset, samples)?;
    let class_names = match request.form.variant {
        Some(Variant::InverseMap) => ClassNames::Positions,
        _ => class_names,
    };
    Ok(Box::new(DetectionJudge::new(images, annotations, categories, class_names)))
}

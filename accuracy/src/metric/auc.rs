//! `auc`: area under the ROC curve of clicks in percent, as DLRM is scored.

use proctor_vocabulary::ElementType;

use crate::{
    error::AccuracyError,
    judge::{Judge, clicks::ClickJudge},
    labels::clicks,
    metric::{JudgeRequest, MetricEntry, up_to_one_output},
};

inventory::submit! {
    MetricEntry {
        name: "auc",
        about: "area under the curve of clicks against no clicks, 0 to 1",
        outputs: "one output of f32, a prediction for each row",
        answers: "labels of clicks",
        form: |outputs| up_to_one_output(outputs, &[ElementType::F32]),
        needs_tolerance: false,
        judge,
    }
}

fn judge(request: &JudgeRequest<'_>) -> Result<Box<dyn Judge>, AccuracyError> {
    let (dataset, samples) = request.published()?;
    let clicks::Clicks { row_counts, labels } = clicks::read(dataset, samples)?;
    let judge = ClickJudge::new(&row_counts, labels);
    Ok(Box::new(judge.map_err(AccuracyError::Score)?))
}

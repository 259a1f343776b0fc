//! `auc`: area under the ROC curve of clicks in percent, as DLRM is scored.

use proctor_vocabulary::ElementType;

use crate::{
    error::AccuracyError,
    judge::{Judge, clicks::ClickJudge},
    labels::{PublishedSamples, clicks},
    metric::{MetricEntry, Scoring, up_to_one_output},
    response::ResponseForm,
};

inventory::submit! {
    MetricEntry {
        name: "auc",
        outputs: "one output of f32, a prediction for each row",
        answers: "labels of clicks",
        form: |outputs| up_to_one_output(outputs, &[ElementType::F32]),
        needs_tolerance: false,
        scoring: Scoring::OneByOne(judge),
    }
}

fn judge(
    dataset: &str,
    samples: &PublishedSamples,
    _: ResponseForm,
) -> Result<Box<dyn Judge>, AccuracyError> {
    let clicks::Clicks { row_counts, labels } = clicks::read(dataset, samples)?;
    let judge = ClickJudge::new(&row_counts, labels);
    Ok(Box::new(judge.map_err(AccuracyError::Score)?))
}

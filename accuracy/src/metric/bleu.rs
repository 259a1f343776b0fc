//! `bleu`: BLEU of tokens in percent, as GNMT is scored.

use proctor_vocabulary::ElementType;

use crate::{
    error::AccuracyError,
    judge::{Judge, texts::TextJudge},
    labels::translations,
    metric::{JudgeRequest, MetricEntry, up_to_one_output},
};

inventory::submit! {
    MetricEntry {
        name: "bleu",
        about: "BLEU of a translation by sacreBLEU's steps, 0 to 100",
        outputs: "one output of u8, a text in UTF-8",
        answers: "translations",
        form: |outputs| up_to_one_output(outputs, &[ElementType::U8]),
        needs_tolerance: false,
        judge,
    }
}

fn judge(request: &JudgeRequest<'_>) -> Result<Box<dyn Judge>, AccuracyError> {
    let (dataset, samples) = request.published()?;
    Ok(Box::new(TextJudge::new(translations::read(dataset, samples)?)))
}

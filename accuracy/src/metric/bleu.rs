//! `bleu`: BLEU of tokens in percent, as GNMT is scored.

use proctor_vocabulary::ElementType;

use crate::{
    error::AccuracyError,
    judge::{Judge, texts::TextJudge},
    labels::{PublishedSamples, translations},
    metric::{MetricEntry, Scoring, up_to_one_output},
    response::ResponseForm,
};

inventory::submit! {
    MetricEntry {
        name: "bleu",
        outputs: "one output of u8, a text in UTF-8",
        answers: "translations",
        form: |outputs| up_to_one_output(outputs, &[ElementType::U8]),
        needs_tolerance: false,
        scoring: Scoring::OneByOne(judge),
    }
}

fn judge(
    dataset: &str,
    samples: &PublishedSamples,
    _: ResponseForm,
) -> Result<Box<dyn Judge>, AccuracyError> {
    Ok(Box::new(TextJudge::new(translations::read(dataset, samples)?)))
}

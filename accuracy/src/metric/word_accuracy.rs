//! `word-accuracy`: percentage of words that are right: a hundred less the word error rate.

use proctor_vocabulary::ElementType;

use crate::{
    error::AccuracyError,
    judge::{Judge, transcripts::TranscriptJudge},
    labels::{PublishedSamples, transcripts},
    metric::{MetricEntry, Scoring, up_to_one_output},
};

inventory::submit! {
    MetricEntry {
        name: "word-accuracy",
        outputs: "one output of i64, indices of labels",
        answers: "transcripts",
        form: |outputs| up_to_one_output(outputs, ElementType::I64),
        needs_tolerance: false,
        scoring: Scoring::OneByOne(judge),
    }
}

fn judge(dataset: &str, samples: &PublishedSamples) -> Result<Box<dyn Judge>, AccuracyError> {
    Ok(Box::new(TranscriptJudge::new(transcripts::read(dataset, samples)?)))
}

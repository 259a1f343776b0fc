//! `text-word-accuracy`: percentage of words that are right in transcripts that are text.

use proctor_vocabulary::ElementType;

use crate::{
    error::AccuracyError,
    judge::{Judge, transcripts::TranscriptJudge},
    labels::transcripts,
    metric::{JudgeRequest, MetricEntry, up_to_one_output},
};

inventory::submit! {
    MetricEntry {
        name: "text-word-accuracy",
        about: "words right in transcripts that come as text: 100 less the word error rate",
        outputs: "one output of u8, text in UTF-8",
        answers: "transcripts",
        form: |outputs| up_to_one_output(outputs, &[ElementType::U8]),
        needs_tolerance: false,
        judge,
    }
}

fn judge(request: &JudgeRequest<'_>) -> Result<Box<dyn Judge>, AccuracyError> {
    let (dataset, samples) = request.published()?;
    Ok(Box::new(TranscriptJudge::of_text(transcripts::read(dataset, samples)?)))
}

//! `word-accuracy`: percentage of words that are right: a hundred less the word error rate.

use proctor_vocabulary::ElementType;

use crate::{
    error::AccuracyError,
    judge::{Judge, transcripts::TranscriptJudge},
    labels::transcripts,
    metric::{JudgeRequest, MetricEntry, up_to_one_output},
};

/// The default is i64; the reference's script also reads the other integers.
const TYPES: &[ElementType] = &[
    ElementType::I64,
    ElementType::I32,
    ElementType::I16,
    ElementType::I8,
    ElementType::U8,
    ElementType::F32,
];

inventory::submit! {
    MetricEntry {
        name: "word-accuracy",
        about: "words right in transcripts: 100 less the word error rate",
        outputs: "one output of i8, u8, i16, i32, i64 or f32, indices of labels",
        answers: "transcripts",
        form: |outputs| up_to_one_output(outputs, TYPES),
        needs_tolerance: false,
        judge,
    }
}

fn judge(request: &JudgeRequest<'_>) -> Result<Box<dyn Judge>, AccuracyError> {
    let (dataset, samples) = request.published()?;
    Ok(Box::new(TranscriptJudge::new(transcripts::read(dataset, samples)?, request.form.element_type)))
}

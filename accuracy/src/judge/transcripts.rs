//! Transcripts of LibriSpeech: indices of labels as i64.

use proctor_scores::{
    ScoreError,
    speech::{WordErrors, text_of_labels},
};

use crate::{
    error::AccuracyError,
    judge::{Judge, Judgement, defect::ResponseDefect, numbers},
};

/// Scores transcripts by the words that are wrong, over the samples that the log has.
#[derive(Debug)]
pub struct TranscriptJudge {
    transcripts: Vec<String>,
    errors: WordErrors,
}

impl TranscriptJudge {
    /// A judge of samples with these transcripts, which [`clean`](proctor_scores::speech::clean) has spelled.
    #[must_use]
    pub fn new(transcripts: Vec<String>) -> Self {
        Self { transcripts, errors: WordErrors::default() }
    }
}

impl Judge for TranscriptJudge {
    fn sample_count(&self) -> usize {
        self.transcripts.len()
    }

    fn take(
        &mut self,
        sample: usize,
        response: &[u8],
        defects: &mut Vec<ResponseDefect>,
    ) -> Result<(), AccuracyError> {
        let labels = numbers::<8>(response, 1, defects).iter().copied().map(i64::from_le_bytes);
        let answer = text_of_labels(&labels.collect::<Vec<_>>()).unwrap_or_else(|error| {
            defects.push(ResponseDefect::Refused(error));
            String::new()
        });
        self.errors.add(&answer, &self.transcripts[sample]);
        Ok(())
    }

    /// The value is the share of words that are right, in percent: a hundred less the word error rate.
    fn judgement(self: Box<Self>) -> Result<Judgement, ScoreError> {
        if self.errors.word_count == 0 {
            return Err(ScoreError::Empty { what: "words in the transcripts of answered samples" });
        }
        let rate = self.errors.rate();
        let details = [("word_error_rate", 100.0 * rate)].into();
        Ok(Judgement { value: (1.0 - rate) * 100.0, line: self.errors.line(), details })
    }
}

//! Transcripts of LibriSpeech: indices of labels.

use proctor_scores::{
    ScoreError,
    speech::{WordErrors, text_of_labels},
};
use proctor_vocabulary::ElementType;

use crate::{
    element::whole,
    error::AccuracyError,
    judge::{
        Judge, Judgement,
        defect::{Defects, Faulty, ResponseDefect},
        elements,
    },
};

/// Scores transcripts by the words that are wrong, over the samples that the log has.
#[derive(Debug)]
pub struct TranscriptJudge {
    transcripts: Vec<String>,
    element_type: ElementType,
    errors: WordErrors,
}

impl TranscriptJudge {
    /// Creates a judge of samples with these transcripts, which [`clean`](proctor_scores::speech::clean) has spelled.
    /// Responses are indices of this type.
    #[must_use]
    pub fn new(transcripts: Vec<String>, element_type: ElementType) -> Self {
        Self { transcripts, element_type, errors: WordErrors::default() }
    }
}

impl Judge for TranscriptJudge {
    fn sample_count(&self) -> usize {
        self.transcripts.len()
    }

    fn take(&mut self, sample: usize, response: &[u8], defects: &mut Defects) -> Result<(), AccuracyError> {
        let (mut labels, mut not_whole) = (Vec::new(), Faulty::default());
        for (position, bytes) in elements(response, self.element_type, 1, defects).enumerate() {
            match whole(self.element_type, bytes) {
                Some(label) => labels.push(label),
                None => not_whole.add(position),
            }
        }
        not_whole.list(defects, |position, count| ResponseDefect::NotWhole { position, count });
        if !defects.is_empty() {
            labels.clear();
        }
        let answer = text_of_labels(&labels).unwrap_or_else(|error| {
            defects.push(ResponseDefect::Refused(error));
            String::new()
        });
        self.errors.add(&answer, &self.transcripts[sample]);
        Ok(())
    }

    /// Returns the share of correct words in percent as the value: a hundred minus the word error rate.
    fn judgement(self: Box<Self>) -> Result<Judgement, ScoreError> {
        if self.errors.word_count == 0 {
            return Err(ScoreError::Empty { what: "words in the transcripts of answered samples" });
        }
        let rate = self.errors.rate();
        let details = [("word_error_rate", 100.0 * rate)].into();
        let (value, line) = ((1.0 - rate) * 100.0, Some(self.errors.line()));
        Ok(Judgement { value, line, details, ..Judgement::default() })
    }
}

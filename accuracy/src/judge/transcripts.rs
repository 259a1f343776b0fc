//! Transcripts of recordings: indices of labels, or text.

use std::str;

use proctor_scores::{
    ScoreError,
    speech::{WordErrors, clean, text_of_labels},
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
    spelling: Spelling,
    errors: WordErrors,
}

/// The form of a response.
#[derive(Debug, Clone, Copy)]
enum Spelling {
    /// Indices of labels, in a type.
    Labels(ElementType),
    /// Text in UTF-8, which is spelled as the transcripts are before they are compared.
    Text,
}

impl TranscriptJudge {
    /// Creates a judge of samples with these transcripts, which [`clean`] has spelled.
    /// Responses are indices of this type.
    #[must_use]
    pub fn new(transcripts: Vec<String>, element_type: ElementType) -> Self {
        Self { transcripts, spelling: Spelling::Labels(element_type), errors: WordErrors::default() }
    }

    /// Creates a judge of samples with these transcripts, which [`clean`] has spelled. Responses are text.
    #[must_use]
    pub fn of_text(transcripts: Vec<String>) -> Self {
        Self { transcripts, spelling: Spelling::Text, errors: WordErrors::default() }
    }
}

/// Returns the text of a response of labels, empty if it has a defect.
fn of_labels(response: &[u8], element_type: ElementType, defects: &mut Defects) -> String {
    let (mut labels, mut not_whole) = (Vec::new(), Faulty::default());
    for (position, bytes) in elements(response, element_type, 1, defects).enumerate() {
        match whole(element_type, bytes) {
            Some(label) => labels.push(label),
            None => not_whole.add(position),
        }
    }
    not_whole.list(defects, |position, count| ResponseDefect::NotWhole { position, count });
    if !defects.is_empty() {
        labels.clear();
    }
    or_refused(text_of_labels(&labels), defects)
}

/// Returns a response of text as transcripts are spelled, empty if it has a defect.
fn of_text(response: &[u8], defects: &mut Defects) -> String {
    match str::from_utf8(response) {
        Ok(text) => or_refused(clean(text), defects),
        Err(error) => {
            defects.push(ResponseDefect::NotText { position: error.valid_up_to() });
            String::new()
        }
    }
}

fn or_refused(text: Result<String, ScoreError>, defects: &mut Defects) -> String {
    text.unwrap_or_else(|error| {
        defects.push(ResponseDefect::Refused(error));
        String::new()
    })
}

impl Judge for TranscriptJudge {
    fn sample_count(&self) -> usize {
        self.transcripts.len()
    }

    fn take(&mut self, sample: usize, response: &[u8], defects: &mut Defects) -> Result<(), AccuracyError> {
        let answer = match self.spelling {
            Spelling::Labels(element_type) => of_labels(response, element_type, defects),
            Spelling::Text => of_text(response, defects),
        };
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

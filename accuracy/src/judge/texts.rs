//! Translations of WMT: texts in UTF-8.

use std::str;

use proctor_scores::{ScoreError, translation::TokenBleu};

use crate::{
    error::AccuracyError,
    judge::{
        Judge, Judgement,
        defect::{Defects, ResponseDefect},
    },
};

/// Scores translations by the BLEU of tokens, as GNMT is scored: over the sentences that the log has, which may be cut
/// off.
#[derive(Debug)]
pub struct TextJudge {
    references: Vec<String>,
    bleu: TokenBleu,
}

impl TextJudge {
    /// Creates a judge of the translations of sentences with these references, whose words may be divided by `@@ `.
    #[must_use]
    pub fn new(references: Vec<String>) -> Self {
        Self { references, bleu: TokenBleu::default() }
    }
}

impl Judge for TextJudge {
    fn sample_count(&self) -> usize {
        self.references.len()
    }

    fn takes_cut_logs(&self) -> bool {
        true
    }

    fn take(&mut self, sample: usize, response: &[u8], defects: &mut Defects) -> Result<(), AccuracyError> {
        let translation = str::from_utf8(response).unwrap_or_else(|error| {
            defects.push(ResponseDefect::NotText { position: error.valid_up_to() });
            ""
        });
        self.bleu.add(translation, &self.references[sample]);
        Ok(())
    }

    /// Returns the BLEU in percent as the value.
    fn judgement(self: Box<Self>) -> Result<Judgement, ScoreError> {
        let bleu = self.bleu.score()?;
        let details = [("brevity_penalty", bleu.brevity_penalty)].into();
        Ok(Judgement { value: bleu.score, line: Some(bleu.line()), details, ..Judgement::default() })
    }
}

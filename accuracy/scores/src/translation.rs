//! BLEU of a corpus of tokens, as in the script of GNMT.
//!
//! Source: Papineni et al., BLEU: a method for automatic evaluation of machine translation, 2002.

use std::collections::HashMap;

use crate::{
    error::ScoreError,
    python::{fixed, is_space},
};

/// Longest run of tokens that is compared.
const ORDER_MAX: usize = 4;

/// BLEU of a corpus.
#[derive(Debug, Clone, PartialEq)]
pub struct Bleu {
    /// The score in percent.
    pub score: f64,
    /// Percentage of the runs of 1 to 4 tokens that the reference has too.
    pub precisions: [f64; ORDER_MAX],
    /// Factor for translations that are too short.
    pub brevity_penalty: f64,
    /// Number of tokens in all translations.
    pub translation_length: u64,
    /// Number of tokens in all references.
    pub reference_length: u64,
}

impl Bleu {
    /// Returns the line of the reference's script for GNMT: `BLEU: 23.9`.
    #[must_use]
    pub fn line(&self) -> String {
        format!("BLEU: {}", fixed(self.score, 1))
    }
}

/// BLEU of tokens without smoothing, by which the reference judges GNMT.
///
/// A sentence is split at each single space, so that two spaces have an empty token between them. The reference loses
/// white space at its ends and the marks `@@ ` of divided words; the translation comes without them.
#[derive(Debug, Clone, Default)]
pub struct TokenBleu {
    sentences: u64,
    /// Runs that translation and reference share, by length.
    matches: [u64; ORDER_MAX],
    /// Runs of the translation, by length.
    possible: [u64; ORDER_MAX],
    translation_length: u64,
    reference_length: u64,
}

impl TokenBleu {
    /// Adds a sentence of the corpus.
    pub fn add(&mut self, translation: &str, reference: &str) {
        let reference = reference.trim_matches(is_space).replace("@@ ", "");
        let reference: Vec<_> = reference.split(' ').collect();
        let translation: Vec<_> = translation.split(' ').collect();
        self.sentences += 1;
        self.translation_length += translation.len() as u64;
        self.reference_length += reference.len() as u64;
        for (order, (matches, possible)) in (1..).zip(self.matches.iter_mut().zip(&mut self.possible)) {
            let mut unmatched: HashMap<&[&str], u64> = HashMap::new();
            reference.windows(order).for_each(|run| *unmatched.entry(run).or_default() += 1);
            for run in translation.windows(order) {
                *possible += 1;
                // A run counts as often as the reference has it.
                if let Some(count) = unmatched.get_mut(run).filter(|count| **count > 0) {
                    *count -= 1;
                    *matches += 1;
                }
            }
        }
    }

    /// Returns the score of all sentences.
    ///
    /// # Errors
    /// [`ScoreError::Empty`] without sentences.
    pub fn score(&self) -> Result<Bleu, ScoreError> {
        let Self { translation_length, reference_length, .. } = *self;
        if self.sentences == 0 {
            return Err(ScoreError::Empty { what: "translations" });
        }
        let mut precisions = [0.0; ORDER_MAX];
        for (precision, (matches, possible)) in
            precisions.iter_mut().zip(self.matches.iter().zip(&self.possible))
        {
            *precision = if *possible > 0 { *matches as f64 / *possible as f64 } else { 0.0 };
        }
        let mean = if precisions.iter().all(|precision| *precision > 0.0) {
            let share = 1.0 / ORDER_MAX as f64;
            precisions.iter().map(|precision| share * precision.ln()).fold(0.0, |sum, log| sum + log).exp()
        } else {
            0.0
        };
        // Each sentence has one token at least, if an empty one.
        let ratio = translation_length as f64 / reference_length as f64;
        let brevity_penalty = if ratio > 1.0 { 1.0 } else { (1.0 - 1.0 / ratio).exp() };
        let score = 100.0 * (mean * brevity_penalty);
        let precisions = precisions.map(|precision| 100.0 * precision);
        Ok(Bleu { score, precisions, brevity_penalty, translation_length, reference_length })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token_bleu(pairs: &[(&str, &str)]) -> Bleu {
        let mut bleu = TokenBleu::default();
        pairs.iter().for_each(|(translation, reference)| bleu.add(translation, reference));
        bleu.score().unwrap()
    }

    #[test]
    fn the_right_sentence_has_a_hundred_percent() {
        let bleu = token_bleu(&[("das ist ein Haus", "das ist ein Ha@@ us\n")]);
        assert_eq!((bleu.score, bleu.brevity_penalty), (100.0, 1.0));
        assert_eq!(bleu.line(), "BLEU: 100.0");
    }

    #[test]
    fn matches_are_clipped_and_a_short_translation_is_punished() {
        // Of its runs the translation shares 4 of 5, 3 of 4, 2 of 3 and 1 of 2; it has 5 tokens of 6.
        let bleu = token_bleu(&[("a b c d d", "a b c d e f")]);
        assert_eq!(bleu.precisions.map(f64::round), [80.0, 75.0, 67.0, 50.0]);
        let expected = 100.0 * (0.8_f64 * 0.75 * (2.0 / 3.0) * 0.5).powf(0.25) * (1.0_f64 - 6.0 / 5.0).exp();
        assert!((bleu.score - expected).abs() < 1e-9, "{bleu:?}");
        assert_eq!(token_bleu(&[("the the the the", "the cat is the one")]).precisions[0], 50.0);
    }

    #[test]
    fn an_order_without_a_match_is_nothing() {
        assert_eq!(token_bleu(&[("a b c x y z", "a b c d e f")]).score, 0.0);
    }

    #[test]
    fn spaces_side_by_side_have_an_empty_token_between_them() {
        let bleu = token_bleu(&[("a  b", "a b")]);
        assert_eq!((bleu.translation_length, bleu.reference_length), (3, 2));
        assert_eq!(token_bleu(&[("", "")]).translation_length, 1);
    }

    #[test]
    fn an_empty_corpus_has_no_score() {
        assert_eq!(TokenBleu::default().score(), Err(ScoreError::Empty { what: "translations" }));
    }
}

//! BLEU of a corpus: of tokens as in the script of GNMT, and of texts as sacreBLEU has it.
//!
//! Source: Papineni et al., BLEU: a method for automatic evaluation of machine translation, 2002.

mod tokenizer;

use std::collections::HashMap;

use crate::{
    error::ScoreError,
    python::{fixed, is_space, words},
};

pub use tokenizer::tokenize_13a;

/// Longest run of tokens that is compared.
const ORDER_MAX: usize = 4;

/// BLEU of a corpus.
#[derive(Debug, Clone, PartialEq)]
pub struct Bleu {
    /// The score in percent.
    pub score: f64,
    /// Percentage of the runs of 1 to 4 tokens that the reference has too, smoothed where the variant smooths.
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

    /// Returns the line that sacreBLEU prints.
    #[must_use]
    pub fn verbose_line(&self) -> String {
        let Self { translation_length, reference_length, .. } = self;
        let precisions = self.precisions.map(|precision| fixed(precision, 1)).join("/");
        let ratio =
            if *reference_length == 0 { 0.0 } else { *translation_length as f64 / *reference_length as f64 };
        format!(
            "BLEU = {} {precisions} (BP = {} ratio = {} hyp_len = {translation_length} ref_len = {reference_length})",
            fixed(self.score, 2),
            fixed(self.brevity_penalty, 3),
            fixed(ratio, 3),
        )
    }
}

/// Counts of a corpus, sentence by sentence.
#[derive(Debug, Clone, Default, PartialEq)]
struct Counts {
    sentences: u64,
    /// Runs that translation and reference share, by length.
    matches: [u64; ORDER_MAX],
    /// Runs of the translation, by length.
    possible: [u64; ORDER_MAX],
    translation_length: u64,
    reference_length: u64,
}

impl Counts {
    fn add(&mut self, translation: &[&str], reference: &[&str]) {
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

    fn check(&self) -> Result<(), ScoreError> {
        if self.sentences == 0 { Err(ScoreError::Empty { what: "translations" }) } else { Ok(()) }
    }

    fn bleu(&self, score: f64, precisions: [f64; ORDER_MAX], brevity_penalty: f64) -> Bleu {
        let Self { translation_length, reference_length, .. } = *self;
        Bleu { score, precisions, brevity_penalty, translation_length, reference_length }
    }
}

/// BLEU of tokens without smoothing, by which the reference judges GNMT.
///
/// A sentence is split at each single space, so that two spaces have an empty token between them. The reference loses
/// white space at its ends and the marks `@@ ` of divided words; the translation comes without them.
#[derive(Debug, Clone, Default)]
pub struct TokenBleu(Counts);

impl TokenBleu {
    /// Adds a sentence of the corpus.
    pub fn add(&mut self, translation: &str, reference: &str) {
        let reference = reference.trim_matches(is_space).replace("@@ ", "");
        let reference: Vec<_> = reference.split(' ').collect();
        self.0.add(&translation.split(' ').collect::<Vec<_>>(), &reference);
    }

    /// Returns the score of all sentences.
    ///
    /// # Errors
    /// [`ScoreError::Empty`] without sentences.
    pub fn score(&self) -> Result<Bleu, ScoreError> {
        let Self(counts) = self;
        counts.check()?;
        let mut precisions = [0.0; ORDER_MAX];
        for (precision, (matches, possible)) in
            precisions.iter_mut().zip(counts.matches.iter().zip(&counts.possible))
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
        let ratio = counts.translation_length as f64 / counts.reference_length as f64;
        let brevity_penalty = if ratio > 1.0 { 1.0 } else { (1.0 - 1.0 / ratio).exp() };
        let percentages = precisions.map(|precision| 100.0 * precision);
        Ok(counts.bleu(100.0 * (mean * brevity_penalty), percentages, brevity_penalty))
    }
}

/// BLEU of texts as sacreBLEU computes it: its tokenizer 13a, case-sensitive, one reference for each translation,
/// exponential smoothing.
#[derive(Debug, Clone, Default)]
pub struct SacreBleu(Counts);

impl SacreBleu {
    /// Adds a sentence of the corpus.
    pub fn add(&mut self, translation: &str, reference: &str) {
        let (translation, reference) = (tokenize_13a(translation), tokenize_13a(reference));
        let tokens = |text| words(text).collect::<Vec<_>>();
        self.0.add(&tokens(&translation), &tokens(&reference));
    }

    /// Returns the score of all sentences.
    ///
    /// # Errors
    /// [`ScoreError::Empty`] without sentences.
    pub fn score(&self) -> Result<Bleu, ScoreError> {
        let Self(counts) = self;
        counts.check()?;
        let (translation, reference) = (counts.translation_length as f64, counts.reference_length as f64);
        let brevity_penalty = if counts.translation_length >= counts.reference_length {
            1.0
        } else if counts.translation_length > 0 {
            (1.0 - reference / translation).exp()
        } else {
            0.0
        };
        let mut percentages = [0.0; ORDER_MAX];
        if counts.matches.iter().all(|matches| *matches == 0) {
            return Ok(counts.bleu(0.0, percentages, brevity_penalty));
        }
        // Each order without a match counts as half of a match, a quarter, and so on.
        let mut divisor = 1.0;
        for (percentage, (matches, possible)) in
            percentages.iter_mut().zip(counts.matches.iter().zip(&counts.possible))
        {
            if *possible == 0 {
                break;
            }
            *percentage = if *matches == 0 {
                divisor *= 2.0;
                100.0 / (divisor * *possible as f64)
            } else {
                100.0 * *matches as f64 / *possible as f64
            };
        }
        // The logarithm of an order that no sentence has, as sacreBLEU puts it.
        let log = |percentage: f64| if percentage == 0.0 { -9_999_999_999.0 } else { percentage.ln() };
        let logs = percentages.iter().fold(0.0, |sum, percentage| sum + log(*percentage));
        let score = brevity_penalty * (logs / ORDER_MAX as f64).exp();
        Ok(counts.bleu(score, percentages, brevity_penalty))
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

    fn sacre_bleu(pairs: &[(&str, &str)]) -> Bleu {
        let mut bleu = SacreBleu::default();
        pairs.iter().for_each(|(translation, reference)| bleu.add(translation, reference));
        bleu.score().unwrap()
    }

    #[test]
    fn the_right_sentence_has_a_hundred_percent() {
        let bleu = token_bleu(&[("das ist ein Haus", "das ist ein Ha@@ us\n")]);
        assert_eq!((bleu.score, bleu.brevity_penalty), (100.0, 1.0));
        assert_eq!(bleu.line(), "BLEU: 100.0");
        assert!((sacre_bleu(&[("Das ist ein Haus.", "Das ist ein Haus.")]).score - 100.0).abs() < 1e-9);
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
    fn an_order_without_a_match_is_nothing_to_tokens_and_smoothed_in_texts() {
        let pairs = [("a b c x y z", "a b c d e f")];
        assert_eq!(token_bleu(&pairs).score, 0.0);
        // 3 of 6, 2 of 5, 1 of 4, and half of one in 3.
        let expected = 100.0 * (0.5_f64 * 0.4 * 0.25 * (0.5 / 3.0)).powf(0.25);
        assert!((sacre_bleu(&pairs).score - expected).abs() < 1e-9);
        assert_eq!(sacre_bleu(&[("x", "y")]).score, 0.0);
    }

    #[test]
    fn spaces_side_by_side_have_an_empty_token_between_them() {
        let bleu = token_bleu(&[("a  b", "a b")]);
        assert_eq!((bleu.translation_length, bleu.reference_length), (3, 2));
        assert_eq!(token_bleu(&[("", "")]).translation_length, 1);
    }

    #[test]
    fn empty_sentences_and_an_empty_corpus() {
        let bleu = sacre_bleu(&[("", "a b")]);
        assert_eq!((bleu.score, bleu.brevity_penalty), (0.0, 0.0));
        let empty = ScoreError::Empty { what: "translations" };
        assert_eq!(TokenBleu::default().score(), Err(empty.clone()));
        assert_eq!(SacreBleu::default().score(), Err(empty));
    }

    #[test]
    fn sacrebleus_line_has_its_parts() {
        let line = sacre_bleu(&[("a b c d d", "a b c d e f")]).verbose_line();
        let parts = "80.0/75.0/66.7/50.0 (BP = 0.819 ratio = 0.833 hyp_len = 5 ref_len = 6)";
        assert_eq!(line, format!("BLEU = 54.75 {parts}"));
    }
}

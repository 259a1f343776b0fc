//! Word error rate of a corpus, and transcripts as the reference's model of speech spells them.

mod numbers;
mod transcript;

use std::{collections::HashMap, iter};

use crate::{
    error::{ScoreError, same_length},
    python::{shortest, words},
};

pub use transcript::{LABELS, clean, label_indices, text_of_labels};

/// Edits of words that turn the answers of a corpus into the right ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WordErrors {
    /// Minimum number of words to insert, delete or replace.
    pub edit_count: u64,
    /// Number of words of all right answers.
    pub word_count: u64,
}

impl WordErrors {
    /// Returns the errors of a whole corpus.
    ///
    /// # Errors
    /// [`ScoreError::Lengths`] unless there is an answer for each right one.
    pub fn of<A: AsRef<str>, B: AsRef<str>>(answers: &[A], right: &[B]) -> Result<Self, ScoreError> {
        same_length(("answers", answers.len()), ("transcripts", right.len()))?;
        let mut errors = Self::default();
        iter::zip(answers, right).for_each(|(answer, right)| errors.add(answer.as_ref(), right.as_ref()));
        Ok(errors)
    }

    /// Adds an answer; white space separates its words.
    pub fn add(&mut self, answer: &str, right: &str) {
        let mut numbers = HashMap::new();
        let mut number = |word| {
            let next = numbers.len();
            *numbers.entry(word).or_insert(next)
        };
        let right: Vec<_> = words(right).map(&mut number).collect();
        let answer: Vec<_> = words(answer).map(&mut number).collect();
        self.edit_count += edit_distance(&answer, &right) as u64;
        self.word_count += right.len() as u64;
    }

    /// Returns the edits divided by the words; infinite without words, as in the reference. May be above 1.
    #[must_use]
    pub fn rate(&self) -> f64 {
        if self.word_count == 0 { f64::INFINITY } else { self.edit_count as f64 / self.word_count as f64 }
    }

    /// Returns the line of the reference's script: `Word Error Rate: 7.45%, accuracy=92.55%`, with all digits.
    #[must_use]
    pub fn line(&self) -> String {
        let rate = self.rate();
        let (error, accuracy) = (shortest(rate * 100.0), shortest((1.0 - rate) * 100.0));
        format!("Word Error Rate: {error}%, accuracy={accuracy}%")
    }
}

/// Returns the minimum number of insertions, deletions and replacements that turn one sequence into the other
/// (Levenshtein).
///
/// Takes time in proportion to the product of the lengths, and memory to `b`.
#[must_use]
pub fn edit_distance<T: PartialEq>(a: &[T], b: &[T]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_the_least_ones() {
        for (a, b, expected) in [
            ("", "", 0),
            ("abc", "abc", 0),
            ("abc", "", 3),
            ("abcd", "bcde", 2),
            ("kitten", "sitting", 3),
            ("abcdef", "azced", 3),
        ] {
            let (a, b) = (a.as_bytes(), b.as_bytes());
            assert_eq!((edit_distance(a, b), edit_distance(b, a)), (expected, expected), "{a:?} {b:?}");
        }
    }

    #[test]
    fn the_rate_is_that_of_the_corpus_and_not_a_mean_of_sentences() {
        let errors = WordErrors::of(&["a b", "x"], &["a b c d e f g", "y"]).unwrap();
        assert_eq!(errors, WordErrors { edit_count: 6, word_count: 8 });
        assert_eq!(errors.line(), "Word Error Rate: 75.0%, accuracy=25.0%");
    }

    #[test]
    fn more_words_than_asked_for_make_a_rate_above_one() {
        assert_eq!(WordErrors::of(&["a b c"], &["x"]).unwrap().rate(), 3.0);
        assert_eq!(WordErrors::of(&["", " \t"], &["x", "y z"]).unwrap().rate(), 1.0);
    }

    #[test]
    fn a_corpus_without_words_has_an_infinite_rate() {
        for errors in [WordErrors::default(), WordErrors::of(&["a"], &[" "]).unwrap()] {
            assert_eq!(errors.line(), "Word Error Rate: inf%, accuracy=-inf%");
        }
    }

    #[test]
    fn each_answer_needs_a_transcript() {
        let error = WordErrors::of(&["a"], &["a", "b"]).unwrap_err().to_string();
        assert_eq!(error, "1 answers stand against 2 transcripts, but there must be one for each");
    }
}

//! Exact match and F1 of answers to questions, as SQuAD v1.1 defines them.

use std::collections::HashMap;

use crate::{
    error::ScoreError,
    python::{is_word, shortest, words},
};

/// Articles, which are ignored.
const ARTICLES: [&str; 3] = ["a", "an", "the"];

/// Sums over the questions of a data set.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct AnswerScores {
    exact_match_sum: u64,
    f1_sum: f64,
    question_count: u64,
}

impl AnswerScores {
    /// Adds a question: the given answer (`None` scores 0) and the accepted ones; the best match counts.
    ///
    /// # Errors
    /// [`ScoreError::Empty`] if there is no right answer.
    pub fn add<T: AsRef<str>>(&mut self, answer: Option<&str>, right: &[T]) -> Result<(), ScoreError> {
        if right.is_empty() {
            return Err(ScoreError::Empty { what: "right answers to a question" });
        }
        self.question_count += 1;
        if let Some(answer) = answer {
            let answer = normalize(answer);
            let right: Vec<_> = right.iter().map(|right| normalize(right.as_ref())).collect();
            self.exact_match_sum += u64::from(right.contains(&answer));
            self.f1_sum += right.iter().map(|right| f1_of_normalized(&answer, right)).fold(0.0, f64::max);
        }
        Ok(())
    }

    /// Returns the means over all questions, in percent.
    ///
    /// # Errors
    /// [`ScoreError::Empty`] without questions.
    pub fn figures(&self) -> Result<AnswerFigures, ScoreError> {
        if self.question_count == 0 {
            return Err(ScoreError::Empty { what: "questions" });
        }
        let total = self.question_count as f64;
        Ok(AnswerFigures {
            exact_match: 100.0 * self.exact_match_sum as f64 / total,
            f1: 100.0 * self.f1_sum / total,
        })
    }
}

/// The figures of SQuAD v1.1 in percent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AnswerFigures {
    /// Share of the questions whose answer is a right one, normalised.
    pub exact_match: f64,
    /// Mean F1 of the words of an answer.
    pub f1: f64,
}

impl AnswerFigures {
    /// Returns the line of the official script: `{"exact_match": 83.0, "f1": 90.5}`, with all digits.
    #[must_use]
    pub fn line(&self) -> String {
        let Self { exact_match, f1 } = self;
        format!("{{\"exact_match\": {}, \"f1\": {}}}", shortest(*exact_match), shortest(*f1))
    }
}

/// Normalises an answer: lower case, no punctuation of ASCII, no articles, single spaces.
#[must_use]
pub fn normalize(answer: &str) -> String {
    let text: String =
        answer.to_lowercase().chars().filter(|character| !character.is_ascii_punctuation()).collect();
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.as_str();
    let mut before = None;
    while let Some(next) = rest.chars().next() {
        let starts = before.is_none_or(|before| !is_word(before));
        let article = ARTICLES.iter().filter(|_| starts).find_map(|article| {
            let after = rest.strip_prefix(article)?;
            after.chars().next().is_none_or(|next| !is_word(next)).then_some(after)
        });
        match article {
            // A space, so that the words on both sides stay apart.
            Some(after) => {
                kept.push(' ');
                (rest, before) = (after, Some('a'));
            }
            None => {
                kept.push(next);
                (rest, before) = (&rest[next.len_utf8()..], Some(next));
            }
        }
    }
    words(&kept).collect::<Vec<_>>().join(" ")
}

/// Returns the F1 of the words that two answers have in common, each as often as both have it, in `[0, 1]`.
#[must_use]
pub fn f1(answer: &str, right: &str) -> f64 {
    f1_of_normalized(&normalize(answer), &normalize(right))
}

fn f1_of_normalized(answer: &str, right: &str) -> f64 {
    let mut unmatched: HashMap<&str, u64> = HashMap::new();
    let mut right_count = 0_u64;
    for word in words(right) {
        *unmatched.entry(word).or_default() += 1;
        right_count += 1;
    }
    let (mut answer_count, mut common_count) = (0_u64, 0_u64);
    for word in words(answer) {
        answer_count += 1;
        if let Some(count) = unmatched.get_mut(word).filter(|count| **count > 0) {
            *count -= 1;
            common_count += 1;
        }
    }
    if common_count == 0 {
        return 0.0;
    }
    let precision = common_count as f64 / answer_count as f64;
    let recall = common_count as f64 / right_count as f64;
    2.0 * precision * recall / (precision + recall)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_signs_articles_and_spaces_do_not_count() {
        for (answer, expected) in [
            ("The  Eiffel-Tower!", "eiffeltower"),
            ("an apple a day", "apple day"),
            ("theatre another", "theatre another"),
            ("a.n. other", "other"),
            ("U.S.A.", "usa"),
            ("the the", ""),
            ("«the»", "« »"),
            ("ΑΣ", "ας"),
            // The mark is no letter, so the article before it stands alone.
            ("a\u{301}b", "\u{301}b"),
            ("", ""),
        ] {
            assert_eq!(normalize(answer), expected, "{answer:?}");
        }
    }

    #[test]
    fn words_count_as_often_as_both_have_them() {
        // Two words in common, of three and of four.
        assert_eq!(f1("red red car", "red red big bus"), 2.0 * (2.0 / 3.0) * 0.5 / (2.0 / 3.0 + 0.5));
        assert_eq!(f1("the cat", "a cat"), 1.0);
        assert_eq!((f1("", ""), f1("x", ""), f1("x", "y")), (0.0, 0.0, 0.0));
    }

    #[test]
    fn the_best_of_several_right_answers_counts_and_no_answer_counts_as_wrong() {
        let mut scores = AnswerScores::default();
        scores.add(Some("the red car"), &["bus", "red car"]).unwrap();
        scores.add(Some("red car"), &["red"]).unwrap();
        scores.add(None, &["red"]).unwrap();
        scores.add(Some("!"), &["the"]).unwrap();
        let figures = scores.figures().unwrap();
        // Nothing equals nothing, but has no word in common with it.
        assert_eq!((figures.exact_match, figures.f1), (50.0, 100.0 * (1.0 + 2.0 / 3.0) / 4.0));
        assert_eq!(figures.line(), "{\"exact_match\": 50.0, \"f1\": 41.666666666666664}");
    }

    #[test]
    fn a_question_needs_a_right_answer_and_a_score_a_question() {
        let mut scores = AnswerScores::default();
        assert!(scores.add::<&str>(Some("x"), &[]).is_err());
        assert_eq!(scores.figures(), Err(ScoreError::Empty { what: "questions" }));
    }
}

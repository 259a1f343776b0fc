//! Turns the logits of rows into the text that answers a question.

use std::{cmp::Ordering, iter};

use crate::squad::{
    features::{Feature, Features},
    projection::projected,
};

/// Positions that are examined for the start of an answer, as many for its end, and answers at most.
const BEST_COUNT: usize = 20;
/// Maximum number of tokens of an answer.
const LENGTH_MAX: usize = 30;
/// The logit of positions beyond those that the model returned.
const PADDING: f64 = -10_000.0;
/// The answer if no pair of positions is valid.
const NONE: &str = "empty";

/// The output of the model for one row: how likely an answer starts and ends at each position. Positions beyond are
/// very unlikely.
#[derive(Debug, Clone, PartialEq)]
pub struct Logits {
    /// Logits of the first token.
    pub start: Vec<f64>,
    /// Logits of the last token.
    pub end: Vec<f64>,
}

/// Numbers that cannot be split into two halves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0} logits cannot be one for the start and one for the end of each position; check the output of the model"
)]
pub struct LogitsError(pub usize);

/// Reason why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum AnswerError {
    #[error(
        "sample {row} has logits for {got} positions, more than the {most} of a row; check the output of the model"
    )]
    Length { row: usize, most: usize, got: usize },
    /// A logit is NaN or plus infinity. Minus infinity marks a position that is impossible.
    #[error("sample {row} has no number as logit at position {position}; the model has overflowed")]
    NotANumber { row: usize, position: usize },
}

/// A text that may be the answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The answer in the words of the context.
    pub text: String,
    /// The logit of its first token.
    pub start_logit: f64,
    /// The logit of its last token.
    pub end_logit: f64,
}

impl Logits {
    /// Takes pairs of a logit for the start and one for the end, as models of shape `[row, 2]` return them.
    ///
    /// # Errors
    /// If the number of values is odd.
    pub fn from_pairs(values: &[f64]) -> Result<Self, LogitsError> {
        match values.as_chunks::<2>() {
            (pairs, []) => {
                let (start, end) = pairs.iter().map(|[start, end]| (*start, *end)).unzip();
                Ok(Self { start, end })
            }
            _ => Err(LogitsError(values.len())),
        }
    }

    /// Takes all logits for the start, then all for the end, as models of shape `[2, row]` return them.
    ///
    /// # Errors
    /// If the number of values is odd.
    pub fn from_halves(values: &[f64]) -> Result<Self, LogitsError> {
        let (start, end) = values.split_at(values.len() / 2);
        if start.len() != end.len() {
            return Err(LogitsError(values.len()));
        }
        Ok(Self { start: start.to_owned(), end: end.to_owned() })
    }
}

/// A pair of positions that may be an answer.
#[derive(Clone, Copy)]
struct Pair {
    row: usize,
    start: usize,
    end: usize,
    start_logit: f64,
    end_logit: f64,
}

impl Features {
    /// Returns the best answer to a question, from the logits of its rows; rows without logits are skipped.
    ///
    /// # Errors
    /// Fails for logits that no model of this row should return.
    ///
    /// # Panics
    /// If there is no such question.
    ///
    /// Source: `write_predictions` of MLPerf's reference implementation of BERT.
    pub fn answer<'a>(
        &self,
        question: usize,
        logits: impl Fn(usize) -> Option<&'a Logits>,
    ) -> Result<String, AnswerError> {
        let best = self.answers(question, logits, 1)?.pop();
        Ok(best.map_or_else(|| NONE.to_owned(), |best| best.text))
    }

    /// Returns the best answers to a question without repetitions, the best first; at most 20, and none if no pair of
    /// positions can be an answer.
    ///
    /// # Errors
    /// As [`Features::answer`].
    ///
    /// # Panics
    /// As [`Features::answer`].
    pub fn best_answers<'a>(
        &self,
        question: usize,
        logits: impl Fn(usize) -> Option<&'a Logits>,
    ) -> Result<Vec<Candidate>, AnswerError> {
        self.answers(question, logits, BEST_COUNT)
    }

    fn answers<'a>(
        &self,
        question: usize,
        logits: impl Fn(usize) -> Option<&'a Logits>,
        count: usize,
    ) -> Result<Vec<Candidate>, AnswerError> {
        let mut pairs = Vec::new();
        for row in self.rows_of(question) {
            if let Some(logits) = logits(row) {
                self.push_pairs(row, logits, &mut pairs)?;
            }
        }
        // The sort is stable, as the reference's: among equal pairs, the earlier row and then the better start come
        // first.
        let score = |pair: &Pair| pair.start_logit + pair.end_logit;
        pairs.sort_by(|a, b| descending(score(a), score(b)));
        let mut answers: Vec<Candidate> = Vec::new();
        for Pair { row, start, end, start_logit, end_logit } in pairs {
            if answers.len() >= count {
                break;
            }
            let text = self.answer_at(row, start, end).unwrap_or_default();
            if answers.iter().all(|answer| answer.text != text) {
                answers.push(Candidate { text, start_logit, end_logit });
            }
        }
        Ok(answers)
    }

    /// Appends the pairs of a row that may be answers.
    fn push_pairs(&self, row: usize, logits: &Logits, pairs: &mut Vec<Pair>) -> Result<(), AnswerError> {
        let most = self.windows.row;
        let got = logits.start.len().max(logits.end.len());
        if got > most {
            return Err(AnswerError::Length { row, most, got });
        }
        let overflow =
            |values: &[f64]| values.iter().position(|value| value.is_nan() || *value == f64::INFINITY);
        if let Some(position) = [overflow(&logits.start), overflow(&logits.end)].into_iter().flatten().min() {
            return Err(AnswerError::NotANumber { row, position });
        }
        let feature = self.feature(row);
        let (starts, ends) = (best_positions(&logits.start, most), best_positions(&logits.end, most));
        for (start, start_logit) in starts {
            if !feature.has_most_context(start) {
                continue;
            }
            let ends = ends.iter().filter(|(end, _)| can_end(&feature, start, *end));
            pairs.extend(ends.map(|(end, end_logit)| Pair {
                row,
                start,
                end: *end,
                start_logit,
                end_logit: *end_logit,
            }));
        }
        Ok(())
    }

    /// Returns the text between two positions of a row, both included, in the words of the context; `None` if one of
    /// them is outside the context.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn answer_at(&self, row: usize, start: usize, end: usize) -> Option<String> {
        let feature = self.feature(row);
        let words = feature.words(feature.word(start)?..feature.word(end)? + 1);
        let mut tokens = String::new();
        for token in feature.tokens(start..end + 1) {
            if !tokens.is_empty() {
                tokens.push(' ');
            }
            tokens.push_str(token);
        }
        let tokens = tokens.replace(" ##", "").replace("##", "");
        let tokens: Vec<&str> = tokens.split_whitespace().collect();
        Some(projected(&tokens.join(" "), &words))
    }

    /// Finds the first positions in a row from which a text is recovered and that form a valid answer of the row: a
    /// model that knows the answer would give them the best logits.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn positions_of(&self, row: usize, text: &str) -> Option<(usize, usize)> {
        let feature = self.feature(row);
        let (ids, wanted): (Vec<u32>, _) = (feature.ids().collect(), self.tokenizer.tokenize(text));
        let last = wanted.len().checked_sub(1)?;
        let found = ids.windows(wanted.len()).enumerate().filter(|(_, ids)| *ids == wanted);
        let mut pairs = found.map(|(start, _)| (start, start + last));
        pairs.find(|(start, end)| {
            feature.has_most_context(*start)
                && can_end(&feature, *start, *end)
                && self.answer_at(row, *start, *end).is_some_and(|answer| answer == text)
        })
    }
}

/// Returns whether an answer that starts at one position, inside the context, may end at another.
fn can_end(feature: &Feature<'_>, start: usize, end: usize) -> bool {
    (start..start + LENGTH_MAX).contains(&end) && feature.word(end).is_some()
}

/// Returns the positions of the greatest values with these, the greatest first, of equal ones the first. Values are
/// missing beyond the end.
fn best_positions(values: &[f64], count: usize) -> Vec<(usize, f64)> {
    let values = values.iter().copied().chain(iter::repeat(PADDING));
    let mut positions: Vec<(usize, f64)> = values.take(count).enumerate().collect();
    let order = |a: &(usize, f64), b: &(usize, f64)| descending(a.1, b.1).then(a.0.cmp(&b.0));
    if count > BEST_COUNT {
        positions.select_nth_unstable_by(BEST_COUNT - 1, order);
        positions.truncate(BEST_COUNT);
    }
    positions.sort_unstable_by(order);
    positions
}

/// Returns the greater of two numbers first; both zeros are equal.
fn descending(a: f64, b: f64) -> Ordering {
    b.partial_cmp(&a).unwrap_or(Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        bert::BertTokenizer,
        squad::{
            features::{Context, Question},
            windows::Windows,
        },
        vocabulary::Vocabulary,
    };

    /// Two rows: `[CLS] who [SEP]`, four tokens of the context, `[SEP]`.
    fn features() -> Features {
        let tokens = "[PAD] [UNK] [CLS] [SEP] who ada ##s love ##lace was here ( ) ,".split(' ');
        let vocabulary = Vocabulary::new(tokens.map(str::to_owned).collect()).unwrap();
        let question = Question { id: "q".to_owned(), text: "Who".to_owned() };
        let context = Context { text: "(Ada Lovelace), was ADA".to_owned(), questions: vec![question] };
        let windows = Windows { row: 8, question: 4, stride: 4 };
        Features::new(BertTokenizer::new(vocabulary).unwrap(), vec![context], windows)
    }

    fn logits(best: &[(usize, f64)], last: &[(usize, f64)]) -> Logits {
        let mut logits = Logits { start: vec![0.0; 8], end: vec![0.0; 8] };
        for (at, value) in best {
            logits.start[*at] = *value;
        }
        for (at, value) in last {
            logits.end[*at] = *value;
        }
        logits
    }

    #[test]
    fn the_best_pair_of_all_rows_is_the_answer_in_the_original_spelling() {
        let features = features();
        assert_eq!(features.len(), 2);
        let rows = [logits(&[(4, 1.0)], &[(6, 1.0)]), logits(&[(6, 9.0)], &[(6, 9.0)])];
        assert_eq!(features.answer(0, |row| Some(&rows[row])).unwrap(), "ADA");
        assert_eq!(features.answer(0, |row| (row == 0).then_some(&rows[row])).unwrap(), "Ada Lovelace");
        assert_eq!(features.answer_at(0, 4, 6).unwrap(), "Ada Lovelace");
        assert_eq!(features.answer_at(0, 1, 4), None, "a start in the question");
    }

    #[test]
    fn an_answer_is_given_once_and_impossible_pairs_never() {
        let features = features();
        let all = logits(&[(0, 50.0), (1, 50.0), (7, 50.0)], &[(0, 50.0), (7, 50.0), (3, 5.0)]);
        let best = features.best_answers(0, |row| (row == 0).then_some(&all)).unwrap();
        let texts: Vec<_> = best.iter().map(|best| best.text.as_str()).collect();
        assert_eq!(texts[0], "(");
        let mut different = texts.clone();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), texts.len(), "{texts:?}");
        assert_eq!((best[0].start_logit, best[0].end_logit), (0.0, 5.0));
    }

    #[test]
    fn without_a_possible_pair_the_answer_is_empty() {
        let features = features();
        assert_eq!(features.answer(0, |_| None).unwrap(), "empty");
        assert_eq!(features.best_answers(0, |_| None).unwrap(), []);
    }

    #[test]
    fn equal_logits_are_taken_in_order_and_missing_ones_are_very_low() {
        assert_eq!(
            best_positions(&[1.0, 2.0, 2.0, -0.0, 0.0], 5),
            [(1, 2.0), (2, 2.0), (0, 1.0), (3, -0.0), (4, 0.0)]
        );
        assert_eq!(best_positions(&[-20_000.0, 0.0], 3), [(1, 0.0), (2, PADDING), (0, -20_000.0)]);
        let many = best_positions(&[7.0; 384], 384);
        assert!(many.iter().map(|(at, _)| *at).eq(0..20));
    }

    #[test]
    fn logits_that_are_none_are_refused_by_row_and_position() {
        let features = features();
        for bad in [f64::NAN, f64::INFINITY] {
            let bad = logits(&[], &[(3, bad)]);
            let error = features.answer(0, |row| (row == 1).then_some(&bad)).unwrap_err();
            assert_eq!(error, AnswerError::NotANumber { row: 1, position: 3 });
        }
        let masked = logits(&[(0, f64::NEG_INFINITY)], &[(0, f64::NEG_INFINITY)]);
        assert!(features.answer(0, |_| Some(&masked)).is_ok());
        let long = Logits { start: vec![0.0; 8], end: vec![0.0; 9] };
        assert_eq!(
            features.answer(0, |_| Some(&long)).unwrap_err(),
            AnswerError::Length { row: 0, most: 8, got: 9 }
        );
    }

    #[test]
    fn pairs_and_halves_are_taken_apart() {
        let expected = Logits { start: vec![1.0, 3.0], end: vec![2.0, 4.0] };
        assert_eq!(Logits::from_pairs(&[1.0, 2.0, 3.0, 4.0]).unwrap(), expected);
        assert_eq!(Logits::from_halves(&[1.0, 3.0, 2.0, 4.0]).unwrap(), expected);
        assert_eq!(Logits::from_pairs(&[1.0]).unwrap_err(), LogitsError(1));
        assert_eq!(Logits::from_halves(&[1.0, 2.0, 3.0]).unwrap_err(), LogitsError(3));
    }

    #[test]
    fn logits_at_the_positions_of_a_text_lead_to_it() {
        let features = features();
        for text in ["Ada Lovelace", "ADA", "was", ", was"] {
            let mut places = (0..2).filter_map(|row| Some((row, features.positions_of(row, text)?)));
            let (row, (start, end)) = places.next().unwrap();
            let known = logits(&[(start, 1.0)], &[(end, 1.0)]);
            assert_eq!(features.answer(0, |other| (other == row).then_some(&known)).unwrap(), text);
        }
        assert_eq!(features.positions_of(0, "Grace"), None);
    }
}

//! Metrics: from responses and right answers to one number.

use std::{collections::BTreeMap, fmt};

use proctor_vocabulary::registry::{self, Named};

use crate::{AccuracyError, Answers};

/// How a response is to be read. Part of the benchmark's definition; all numbers are little-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseForm {
    /// One f32 for each class; the largest wins.
    LogitsF32 {
        /// Number of classes, hence of logits.
        class_count: usize,
    },
    /// The class itself as i32.
    ClassI32,
    /// The class itself as i64.
    ClassI64,
    /// So many f32.
    ValuesF32 {
        /// Number of values of all outputs.
        count: usize,
    },
    /// Tokens as i32, as many as there are.
    TokensI32 {
        /// The most that there can be.
        count_max: usize,
    },
}

impl ResponseForm {
    /// Size of the largest response in bytes, which is that of all unless the number of tokens varies.
    #[must_use]
    pub fn size_bytes_max(self) -> usize {
        match self {
            Self::LogitsF32 { class_count: count }
            | Self::ValuesF32 { count }
            | Self::TokensI32 { count_max: count } => count.saturating_mul(4),
            Self::ClassI32 => 4,
            Self::ClassI64 => 8,
        }
    }

    /// Whether a response of this size can be read.
    #[must_use]
    pub fn fits(self, size_bytes: usize) -> bool {
        match self {
            Self::TokensI32 { .. } => size_bytes <= self.size_bytes_max() && size_bytes.is_multiple_of(4),
            _ => size_bytes == self.size_bytes_max(),
        }
    }

    /// The class that a response of the right size names; `None` if it names none: no logits, one of them is NaN, a
    /// negative class, or a form without classes.
    ///
    /// # Errors
    /// [`WrongSize`] if the response does not [`fit`](ResponseForm::fits).
    pub fn class(self, data: &[u8]) -> Result<Option<u64>, WrongSize> {
        if !self.fits(data.len()) {
            return Err(WrongSize);
        }
        Ok(match self {
            Self::LogitsF32 { .. } => largest(data.as_chunks().0.iter().copied().map(f32::from_le_bytes)),
            Self::ClassI32 => {
                data.first_chunk().and_then(|data| u64::try_from(i32::from_le_bytes(*data)).ok())
            }
            Self::ClassI64 => {
                data.first_chunk().and_then(|data| u64::try_from(i64::from_le_bytes(*data)).ok())
            }
            Self::ValuesF32 { .. } | Self::TokensI32 { .. } => None,
        })
    }
}

/// What a response is, in words: `40 bytes`.
impl fmt::Display for ResponseForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = self.size_bytes_max();
        match self {
            Self::TokensI32 { .. } => write!(f, "0 to {most} bytes, 4 for each token"),
            _ => write!(f, "{most} bytes"),
        }
    }
}

/// The response is not as long as its form says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrongSize;

/// Position of the largest number, the first of equals; `None` without numbers or with a NaN among them.
fn largest(numbers: impl Iterator<Item = f32>) -> Option<u64> {
    let mut best: Option<(u64, f32)> = None;
    for (position, number) in (0..).zip(numbers) {
        if number.is_nan() {
            return None;
        }
        if best.is_none_or(|(_, most)| number > most) {
            best = Some((position, number));
        }
    }
    best.map(|(position, _)| position)
}

/// What there is to score.
#[derive(Debug, Clone, Copy)]
pub struct Scored<'a> {
    /// How to read a response.
    pub form: ResponseForm,
    /// By sample index; `None` stands for a missing one, which is wrong.
    pub responses: &'a [Option<&'a [u8]>],
    /// By sample index; of the first samples at least.
    pub answers: &'a Answers,
    /// How far a value may lie from the right one.
    pub tolerance: Option<f64>,
}

/// What a metric makes of the responses.
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    /// The metric; larger is better.
    pub value: f64,
    /// Number of samples answered rightly.
    pub correct_count: u64,
    /// Further figures by name.
    pub details: BTreeMap<String, f64>,
}

impl Score {
    /// The share of right answers, in `[0, 1]`; 0 without answers.
    pub(crate) fn share(correct_count: u64, answers: &Answers) -> Self {
        let value = if answers.is_empty() { 0.0 } else { correct_count as f64 / answers.len() as f64 };
        Self { value, correct_count, details: BTreeMap::new() }
    }
}

/// Scores the responses to which there are answers; `None` if the metric does not judge responses or answers of this
/// kind, or lacks the tolerance.
pub type ScoreResponses = fn(&Scored<'_>) -> Option<Score>;

/// A metric, registered with `inventory::submit!`.
#[derive(Debug, Clone, Copy)]
pub struct MetricEntry {
    /// The name in benchmark definitions.
    pub name: &'static str,
    /// The metric itself.
    pub score: ScoreResponses,
}

inventory::collect!(MetricEntry);

impl Named for MetricEntry {
    const KIND: &'static str = "metric";

    fn name(&self) -> &'static str {
        self.name
    }
}

/// All registered metrics, by name.
#[must_use]
pub fn metric_entries() -> Vec<&'static MetricEntry> {
    registry::sorted(inventory::iter::<MetricEntry>())
}

/// The metric of this name.
///
/// # Errors
/// [`AccuracyError::Unknown`] with a suggestion.
pub fn metric(name: &str) -> Result<&'static MetricEntry, AccuracyError> {
    Ok(registry::find(inventory::iter::<MetricEntry>(), name)?)
}

inventory::submit! { MetricEntry { name: "top1", score: top1 } }

/// Share of the samples whose class is the label.
fn top1(scored: &Scored<'_>) -> Option<Score> {
    let Answers::Classes(labels) = scored.answers else { return None };
    if matches!(scored.form, ResponseForm::ValuesF32 { .. } | ResponseForm::TokensI32 { .. }) {
        return None;
    }
    let is_right = |(response, label): &(&Option<&[u8]>, &u64)| {
        response.is_some_and(|data| scored.form.class(data) == Ok(Some(**label)))
    };
    let correct_count = scored.responses.iter().zip(labels).filter(is_right).count() as u64;
    Some(Score::share(correct_count, scored.answers))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAN: f32 = f32::NAN;

    fn logits(numbers: &[f32]) -> Result<Option<u64>, WrongSize> {
        let data: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        ResponseForm::LogitsF32 { class_count: 3 }.class(&data)
    }

    #[test]
    fn the_largest_logit_wins_and_the_first_of_equals() {
        assert_eq!(logits(&[-2.0, -1.0, -3.0]), Ok(Some(1)));
        assert_eq!(logits(&[1.0, 4.0, 4.0]), Ok(Some(1)));
        assert_eq!(logits(&[f32::NEG_INFINITY; 3]), Ok(Some(0)));
        assert_eq!(logits(&[0.0, 1.0, f32::INFINITY]), Ok(Some(2)));
    }

    #[test]
    fn a_nan_anywhere_is_wrong() {
        for numbers in [[NAN, 1.0, 0.0], [1.0, NAN, 0.0], [1.0, 0.0, NAN]] {
            assert_eq!(logits(&numbers), Ok(None));
        }
    }

    #[test]
    fn a_class_is_read_as_the_definition_says() {
        assert_eq!(ResponseForm::ClassI32.class(&7_i32.to_le_bytes()), Ok(Some(7)));
        assert_eq!(ResponseForm::ClassI64.class(&7_i64.to_le_bytes()), Ok(Some(7)));
        assert_eq!(ResponseForm::ClassI32.class(&(-1_i32).to_le_bytes()), Ok(None));
        assert_eq!(ResponseForm::ClassI64.class(&7_i32.to_le_bytes()), Err(WrongSize));
        assert_eq!(logits(&[1.0, 2.0]), Err(WrongSize));
    }

    #[test]
    fn top1_counts_missing_and_malformed_responses_as_wrong() {
        let (one, two) = (1_i32.to_le_bytes(), 2_i32.to_le_bytes());
        let responses = [Some(&one[..]), Some(&two[..]), None, Some(&[1][..])];
        let scored = Scored {
            form: ResponseForm::ClassI32,
            responses: &responses,
            answers: &Answers::Classes(vec![1; 4]),
            tolerance: None,
        };
        let score = (metric("top1").unwrap().score)(&scored).unwrap();
        assert_eq!((score.value, score.correct_count), (0.25, 1));
    }

    #[test]
    fn top1_does_not_judge_what_has_no_classes() {
        let scored = |form, answers: &Answers| {
            let scored = Scored { form, responses: &[None], answers, tolerance: Some(1.0) };
            (metric("top1").unwrap().score)(&scored).is_some()
        };
        assert!(scored(ResponseForm::ClassI64, &Answers::Classes(vec![1])));
        assert!(!scored(ResponseForm::ValuesF32 { count: 1 }, &Answers::Classes(vec![1])));
        assert!(!scored(ResponseForm::ClassI64, &Answers::Tokens(vec![vec![1]])));
    }

    #[test]
    fn only_tokens_vary_in_number() {
        let tokens = ResponseForm::TokensI32 { count_max: 3 };
        assert_eq!([0, 4, 6, 12, 16].map(|size| tokens.fits(size)), [true, true, false, true, false]);
        let values = ResponseForm::ValuesF32 { count: 3 };
        assert_eq!([0, 4, 12].map(|size| values.fits(size)), [false, false, true]);
        assert_eq!(tokens.to_string(), "0 to 12 bytes, 4 for each token");
        assert_eq!(values.to_string(), "12 bytes");
    }

    #[test]
    fn an_unknown_metric_is_answered_with_the_near_one() {
        let error = metric("top-1").unwrap_err().to_string();
        assert!(error.starts_with("unknown metric \"top-1\", did you mean \"top1\"?; known are "), "{error}");
    }
}

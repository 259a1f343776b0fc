//! Metrics: from responses and labels to one number.

use proctor_vocabulary::did_you_mean;

use crate::AccuracyError;

/// How a response tells its class. Part of the benchmark's definition; all numbers are little-endian.
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
}

impl ResponseForm {
    /// Size of a whole response in bytes.
    #[must_use]
    pub fn size_bytes(self) -> usize {
        match self {
            Self::LogitsF32 { class_count } => class_count.saturating_mul(4),
            Self::ClassI32 => 4,
            Self::ClassI64 => 8,
        }
    }

    /// The class that a response of the right size names; `None` if it names none: no logits, one of them is NaN, or a
    /// negative class.
    ///
    /// # Errors
    /// [`WrongSize`] if the response is not of [`ResponseForm::size_bytes`].
    pub fn class(self, data: &[u8]) -> Result<Option<u64>, WrongSize> {
        if data.len() != self.size_bytes() {
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
        })
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

/// What a metric makes of the responses.
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    /// The metric; larger is better.
    pub value: f64,
    /// Number of samples answered rightly.
    pub correct_count: u64,
    /// Samples whose response is not of the size that the form demands.
    pub malformed_samples: Vec<u64>,
}

/// Scores one response for each label, by sample index; `None` stands for a missing one, which is wrong.
pub type ScoreResponses = fn(ResponseForm, &[Option<&[u8]>], &[u64]) -> Score;

/// A metric, registered with `inventory::submit!`.
#[derive(Debug, Clone, Copy)]
pub struct MetricEntry {
    /// The name in benchmark definitions.
    pub name: &'static str,
    /// The metric itself.
    pub score: ScoreResponses,
}

inventory::collect!(MetricEntry);

/// All registered metrics, by name.
#[must_use]
pub fn metric_entries() -> Vec<&'static MetricEntry> {
    let mut entries: Vec<_> = inventory::iter::<MetricEntry>().collect();
    entries.sort_by_key(|entry| entry.name);
    entries
}

/// The metric of this name.
///
/// # Errors
/// [`AccuracyError::Unknown`] with a suggestion.
pub fn metric(name: &str) -> Result<&'static MetricEntry, AccuracyError> {
    let entries = metric_entries();
    let found = entries.iter().copied().find(|entry| entry.name == name);
    found.ok_or_else(|| {
        let names: Vec<_> = entries.iter().map(|entry| entry.name).collect();
        AccuracyError::Unknown {
            kind: "metric",
            name: name.to_owned(),
            hint: did_you_mean(name, names.iter().copied()),
            known: names.join(", "),
        }
    })
}

inventory::submit! { MetricEntry { name: "top1", score: top1 } }

/// Share of the samples whose class is the label, in `[0, 1]`; 0 without samples.
fn top1(form: ResponseForm, responses: &[Option<&[u8]>], labels: &[u64]) -> Score {
    let (mut correct_count, mut malformed_samples) = (0, Vec::new());
    for ((sample, response), label) in (0..).zip(responses).zip(labels) {
        match response.map(|data| form.class(data)) {
            Some(Ok(class)) => correct_count += u64::from(class == Some(*label)),
            Some(Err(WrongSize)) => malformed_samples.push(sample),
            None => {}
        }
    }
    let value = if labels.is_empty() { 0.0 } else { correct_count as f64 / labels.len() as f64 };
    Score { value, correct_count, malformed_samples }
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
        let score = (metric("top1").unwrap().score)(ResponseForm::ClassI32, &responses, &[1, 1, 1, 1]);
        assert_eq!(score, Score { value: 0.25, correct_count: 1, malformed_samples: vec![3] });
    }

    #[test]
    fn an_unknown_metric_is_answered_with_the_near_one() {
        let error = metric("top-1").unwrap_err().to_string();
        assert_eq!(error, "unknown metric \"top-1\", did you mean \"top1\"?; known are top1");
    }
}

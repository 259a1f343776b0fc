//! An accuracy for people.

use proctor_accuracy::AccuracyResult;
use proctor_words::text::{counted, four_digits};

/// An accuracy in one line: whether it passed, and value and target in the five figures in which they are compared.
pub(crate) fn in_words(accuracy: &AccuracyResult) -> String {
    let word = if accuracy.passed { "PASS" } else { "FAIL" };
    let details = accuracy
        .details
        .iter()
        .map(|(name, value)| format!("; {} {}", name.replace('_', " "), small(*value)));
    let judged = match accuracy.correct_count {
        Some(correct_count) => format!("{correct_count} of {}", accuracy.judged_count),
        None => counted(accuracy.judged_count, "sample"),
    };
    let ([value, target], metric) = (accuracy.compared(), &accuracy.metric);
    format!("{word}: {metric} {value} ({judged}), the target is {target}{}", details.collect::<String>())
}

/// A figure that may be far below 1.
fn small(value: f64) -> String {
    if value != 0.0 && value.abs() < 1e-3 { format!("{value:.1e}") } else { four_digits(value) }
}

//! An accuracy for people.

use proctor_accuracy::five_figures;
use proctor_results::AccuracyPart;
use proctor_words::text::{counted, four_digits};

/// Returns an accuracy in one line: whether it passed, and value and target in the five figures in which they are
/// compared.
pub(crate) fn in_words(accuracy: &AccuracyPart) -> String {
    let word = if accuracy.passed { "PASS" } else { "FAIL" };
    let details = accuracy
        .details
        .iter()
        .map(|(name, value)| format!("; {} {}", name.replace('_', " "), small(*value)));
    let judged_count = accuracy.judged_count.unwrap_or_default();
    let judged = match accuracy.correct_count {
        Some(correct_count) => format!("{correct_count} of {judged_count}"),
        None => counted(judged_count, "sample"),
    };
    let ([value, target], metric) = ([accuracy.value, accuracy.target].map(five_figures), &accuracy.metric);
    format!("{word}: {metric} {value} ({judged}), the target is {target}{}", details.collect::<String>())
}

/// Returns a figure that may be far below 1.
fn small(value: f64) -> String {
    if value != 0.0 && value.abs() < 1e-3 { format!("{value:.1e}") } else { four_digits(value) }
}

//! An accuracy for people.

use proctor_accuracy::five_figures;
use proctor_results::AccuracyPart;
use proctor_words::text::{counted, four_digits};

/// Returns an accuracy in one line: whether it passed, and value and target in the five figures in which they are
/// compared, with the number of samples, and of a share its 95 % interval.
pub(crate) fn in_words(accuracy: &AccuracyPart) -> String {
    let word = if accuracy.passed { "PASS" } else { "FAIL" };
    let details = accuracy
        .details
        .iter()
        .map(|(name, value)| format!("; {} {}", name.replace('_', " "), small(*value)));
    let judged_count = accuracy.judged_count.unwrap_or_default();
    let interval = accuracy.interval_95.map(|ends| {
        let [low, high] = ends.map(five_figures);
        format!("; 95 % interval {low} to {high}")
    });
    let judged = match accuracy.correct_count {
        Some(correct_count) => format!("{correct_count} of {judged_count}{}", interval.unwrap_or_default()),
        None => counted(judged_count, "sample"),
    };
    let ([value, target], metric) = ([accuracy.value, accuracy.target].map(five_figures), &accuracy.metric);
    format!("{word}: {metric} {value} ({judged}), the target is {target}{}", details.collect::<String>())
}

/// Returns a figure that may be far below 1.
fn small(value: f64) -> String {
    if value != 0.0 && value.abs() < 1e-3 { format!("{value:.1e}") } else { four_digits(value) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn words(keys: serde_json::Value) -> String {
        let mut accuracy = json!({"metric": "m", "value": 0.975, "target": 0.96525, "passed": true});
        let (accuracy_keys, keys) = (accuracy.as_object_mut().unwrap(), keys.as_object().unwrap().clone());
        accuracy_keys.extend(keys);
        in_words(&serde_json::from_value(accuracy).unwrap())
    }

    #[test]
    fn a_share_has_its_interval_and_any_other_figure_its_number_of_samples() {
        let share = json!({"correct_count": 585, "judged_count": 600, "interval_95": [0.959164, 0.984792]});
        assert_eq!(
            words(share),
            "PASS: m 0.97500 (585 of 600; 95 % interval 0.95916 to 0.98479), the target is 0.96525"
        );
        // Of an earlier version.
        let share = json!({"correct_count": 585, "judged_count": 600});
        assert_eq!(words(share), "PASS: m 0.97500 (585 of 600), the target is 0.96525");
        assert_eq!(words(json!({"judged_count": 24})), "PASS: m 0.97500 (24 samples), the target is 0.96525");
    }
}

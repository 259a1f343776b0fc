//! Conditions under which a comparison fails: `p99 > 5%`.

use std::{fmt, str::FromStr};

use crate::figure::{Figure, PERCENTILES};

/// A figure may not get worse by more than a share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Condition {
    /// Figure of the condition.
    pub figure: Figure,
    /// Limit of its change for the worse, as a share, not negative.
    pub limit: f64,
}

/// A text that is not a condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("--fail-if \"{text}\", at character {place}: {expected}; write it as in \"p99 > 5%\"")]
pub struct ConditionError {
    /// Text of the condition.
    pub text: String,
    /// Place of the fault in characters, from 1.
    pub place: usize,
    /// A description of a right one.
    pub expected: String,
}

impl Condition {
    /// Returns whether the whole interval of a change, B over A less 1, lies beyond the limit; `None` without
    /// an interval.
    #[must_use]
    pub fn fails(&self, interval: Option<(f64, f64)>) -> Option<bool> {
        let (low, high) = interval?;
        // A greater latency is worse, and a smaller figure of any other kind.
        let least_worsening = if self.figure.is_latency() { low } else { -high };
        Some(least_worsening > self.limit)
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Rounded, as a percentage that was read need not be a share in binary.
        write!(f, "{} > {}%", self.figure, (self.limit * 1e10).round() / 1e8)
    }
}

impl FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, ConditionError> {
        let error = |rest: &str, expected: String| ConditionError {
            text: text.to_owned(),
            place: text.chars().count() - rest.chars().count() + 1,
            expected,
        };
        let start = text.trim_start();
        let name_end = start.find(|c: char| c.is_whitespace() || c == '>').unwrap_or(start.len());
        let (name, rest) = start.split_at(name_end);
        let figure = Figure::named(name).ok_or_else(|| error(start, format!("expected {}", figures())))?;
        let rest = rest.trim_start();
        let rest = rest.strip_prefix('>').ok_or_else(|| error(rest, "expected >".to_owned()))?.trim_start();
        let number_end = rest.find(|c: char| c.is_whitespace() || c == '%').unwrap_or(rest.len());
        let (number, end) = rest.split_at(number_end);
        let percent = number.parse::<f64>().ok().filter(|percent| percent.is_finite() && *percent >= 0.0);
        let percent = percent.ok_or_else(|| error(rest, "expected a percentage of 0 or more".to_owned()))?;
        let end = end.trim_start();
        let behind = end.strip_prefix('%').ok_or_else(|| error(end, "expected %".to_owned()))?.trim_start();
        if !behind.is_empty() {
            return Err(error(behind, "expected the end".to_owned()));
        }
        Ok(Self { figure, limit: percent / 100.0 })
    }
}

fn figures() -> String {
    let percentiles = PERCENTILES.map(|tenths| Figure::Percentile(tenths).to_string());
    format!("{}, mean, throughput or accuracy", percentiles.join(", "))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Result<Condition, String> {
        text.parse().map_err(|error: ConditionError| error.to_string())
    }

    #[test]
    fn conditions_are_read_and_faults_have_their_place() {
        let p99 = Condition { figure: Figure::Percentile(990), limit: 0.05 };
        for text in ["p99 > 5%", "p99>5%", "  p99  >  5.0 % "] {
            assert_eq!(parse(text), Ok(p99), "{text}");
        }
        assert_eq!(p99.to_string(), "p99 > 5%");
        assert_eq!(parse("throughput > 0%").unwrap().to_string(), "throughput > 0%");
        assert_eq!(parse("p99.9 > 0.3%").unwrap().to_string(), "p99.9 > 0.3%");
        for (text, fault) in [
            ("", "at character 1: expected p50, p90, p95, p97, p99, p99.9, mean, throughput or accuracy"),
            (" p98 > 5%", "at character 2: expected p50"),
            ("p99 < 5%", "at character 5: expected >"),
            ("p99 > five%", "at character 7: expected a percentage of 0 or more"),
            ("p99 > -5%", "at character 7: expected a percentage"),
            ("p99 > NaN%", "at character 7: expected a percentage"),
            ("p99 > 5", "at character 8: expected %"),
            ("p99 > 5% or so", "at character 10: expected the end"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(fault) && error.starts_with(&format!("--fail-if \"{text}\"")), "{error}");
        }
    }

    #[test]
    fn it_fails_only_where_the_whole_interval_is_beyond_the_limit() {
        let fails = |text: &str, low, high| {
            let condition: Condition = text.parse().unwrap();
            condition.fails(Some((low, high)))
        };
        assert_eq!(fails("p99 > 5%", 0.051, 0.09), Some(true));
        assert_eq!(fails("p99 > 5%", 0.049, 0.09), Some(false));
        assert_eq!(fails("p99 > 5%", -0.9, -0.8), Some(false));
        assert_eq!(fails("throughput > 5%", -0.2, -0.06), Some(true));
        assert_eq!(fails("throughput > 5%", -0.2, -0.04), Some(false));
        assert_eq!(fails("accuracy > 0%", 0.0, 0.0), Some(false));
        let condition: Condition = "p50 > 1%".parse().unwrap();
        assert_eq!(condition.fails(None), None);
    }

    proptest! {
        #[test]
        fn any_text_is_a_condition_or_an_error_with_a_place_in_it(text in "\\PC{0,20}") {
            if let Err(error) = text.parse::<Condition>() {
                prop_assert!((1..=text.chars().count() + 1).contains(&error.place));
            }
        }
    }
}

//! Cases that are measured, and their limits.

use std::fmt;

use serde::Serialize;

use super::estimate::{Estimate, Paired};
use proctor_words::text::counted;

/// The plugin that has limits: it runs the library that serves as the reference.
pub(super) const LIMITED_PLUGIN: &str = "onnx";

/// One benchmark with a number of samples at once and a number of threads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Case {
    pub(super) benchmark: String,
    pub(super) model: String,
    /// Number of samples in a query, which is one batch.
    pub(super) batch: usize,
    pub(super) threads: usize,
}

/// Limit on the additional time of a query through host and plugin relative to the package, in the median.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Limit {
    Ns(f64),
    /// A share of the package's time.
    Share(f64),
}

/// Relation of a figure to its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Standing {
    Met,
    /// The limit lies within the interval of the figure: more rounds would decide.
    Unclear,
    Missed,
}

impl Case {
    /// Returns the limit of the overhead of host and plugin over the library that the plugin runs: 5 us for a query of
    /// a network that takes no time, 2 % for ResNet-50 with one sample. Other cases have no limit.
    pub(super) fn limit(&self) -> Option<Limit> {
        match self.model.as_str() {
            model if model.starts_with("digits-") => Some(Limit::Ns(5_000.0)),
            model if model.starts_with("resnet50") && self.batch == 1 => Some(Limit::Share(0.02)),
            _ => None,
        }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let threads = counted(self.threads as u64, "thread");
        write!(f, "{}, batch {}, {threads}", self.benchmark, self.batch)
    }
}

impl Limit {
    /// Returns whether the median over the rounds is within it, as far as can be said.
    pub(super) fn standing(self, paired: &Paired) -> Standing {
        let (Estimate { low, high, .. }, most) = match self {
            Self::Ns(most) => (paired.added_ns, most),
            Self::Share(most) => (paired.ratio, 1.0 + most),
        };
        match (high <= most, low > most) {
            (true, _) => Standing::Met,
            (_, true) => Standing::Missed,
            _ => Standing::Unclear,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ns(ns) => write!(f, "{} us", ns / 1e3),
            Self::Share(share) => write!(f, "{} %", share * 100.0),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::engines) fn case(model: &str, batch: usize, threads: usize) -> Case {
        Case { benchmark: format!("{model}-generated"), model: model.to_owned(), batch, threads }
    }

    #[test]
    fn digits_and_a_single_sample_of_resnet50_have_limits() {
        assert_eq!(case("digits-cnn", 8, 2).limit(), Some(Limit::Ns(5_000.0)));
        assert_eq!(case("resnet50", 1, 2).limit(), Some(Limit::Share(0.02)));
        assert_eq!(case("resnet50", 8, 1).limit(), None);
        assert_eq!(case("bert-base", 1, 1).limit(), None);
        assert_eq!(case("resnet50", 8, 1).to_string(), "resnet50-generated, batch 8, 1 thread");
    }

    #[test]
    fn a_limit_is_met_or_missed_where_the_whole_interval_is_on_one_side_of_it() {
        let paired = |added_ns: &[f64], ratio: &[f64]| Paired {
            rounds: added_ns.len(),
            added_ns: Estimate::of(added_ns),
            ratio: Estimate::of(ratio),
        };
        let (us, share) = (Limit::Ns(5_000.0), Limit::Share(0.02));
        assert_eq!(us.standing(&paired(&[-7_000.0, 5_000.0], &[2.0])), Standing::Met);
        assert_eq!(us.standing(&paired(&[5_001.0, 9_000.0], &[1.0])), Standing::Missed);
        assert_eq!(us.standing(&paired(&[1_000.0, 1_000.0, 9_000.0], &[1.0])), Standing::Unclear);
        assert_eq!(share.standing(&paired(&[1e9], &[1.019])), Standing::Met);
        assert_eq!(share.standing(&paired(&[0.0], &[1.021, 9.0])), Standing::Missed);
        assert_eq!(share.standing(&paired(&[0.0], &[0.9, 1.0, 1.021])), Standing::Unclear);
        assert_eq!(serde_json::to_value(Standing::Unclear).unwrap(), "unclear");
        assert_eq!(
            (Limit::Ns(5_000.0).to_string(), Limit::Share(0.02).to_string()),
            ("5 us".into(), "2 %".into())
        );
    }
}

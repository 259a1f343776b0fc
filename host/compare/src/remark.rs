//! Remarks without which a comparison would be read wrongly.

use std::{fmt, path::PathBuf};

use proctor_results::OtherSampleCount;

use crate::figure::Figure;

/// A remark.
#[derive(Debug, Clone, PartialEq)]
pub enum Remark {
    /// Each side has one run.
    OneRunEach,
    /// One side has one run.
    OneRun,
    /// A side has few repeats.
    FewRepeats {
        /// Smaller number of runs.
        count: usize,
    },
    /// A run is not whole.
    LeftOut {
        /// Folder of the run.
        run: PathBuf,
        /// True if the user ended it.
        is_interrupted: bool,
    },
    /// The file of samples ends within one.
    Torn {
        /// Folder of the run.
        run: PathBuf,
        /// Bytes at the end that are not a sample.
        bytes: u64,
    },
    /// The file of samples has another number of them than the result.
    OtherCount {
        /// Folder of the run.
        run: PathBuf,
        /// Number in the file, and number that were issued.
        count: OtherSampleCount,
    },
    /// Samples have no latency to compare.
    WithoutLatency {
        /// Folder of the run.
        run: PathBuf,
        /// Number of samples that completed as failed.
        failed: usize,
        /// Number of samples that never completed.
        missing: usize,
    },
    /// A run is INVALID.
    Invalid {
        /// Folder of the run.
        run: PathBuf,
    },
    /// The accuracy of a run did not pass.
    Inaccurate {
        /// Folder of the run.
        run: PathBuf,
    },
    /// The detail log of a run has errors, so the result checkers accept no such run.
    Errors {
        /// Folder of the run.
        run: PathBuf,
        /// Number of errors.
        count: u64,
    },
    /// A greater share of the samples has no answer in B than in A.
    AnswersLess {
        /// Number of samples without an answer in A, and the total.
        a: (u64, u64),
        /// The same of B.
        b: (u64, u64),
    },
    /// Unanswered samples make figures meaningless.
    Withheld {
        /// Withheld figures.
        figures: Vec<Figure>,
    },
    /// The latencies of Offline are the progress of the run.
    OfflineLatencies,
    /// Neighbours correlate over too large a part of the run.
    LongCorrelation {
        /// Names of the figures.
        figures: Vec<Figure>,
    },
    /// The samples do not carry an interval.
    TooFewSamples {
        /// Names of the figures.
        figures: Vec<Figure>,
    },
    /// All runs issued their queries at the same instants.
    SameSchedule,
    /// The accuracy is judged by different metrics.
    OtherMetric,
    /// Runs are not results by the rules of their round.
    Deviates {
        /// Everything that a run of A deviates in, in words.
        a: Vec<String>,
        /// The same of B.
        b: Vec<String>,
    },
}

impl Remark {
    /// Returns whether this prevents any figure from passing a condition: the measurement is not the request.
    pub(crate) fn is_obstacle(&self) -> bool {
        matches!(
            self,
            Self::LeftOut { is_interrupted: false, .. }
                | Self::OtherCount { .. }
                | Self::Invalid { .. }
                | Self::Inaccurate { .. }
                | Self::Errors { .. }
                | Self::AnswersLess { .. }
                | Self::Withheld { .. }
        )
    }

    /// Returns the name for programs.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::OneRunEach => "one_run_each",
            Self::OneRun => "one_run",
            Self::FewRepeats { .. } => "few_repeats",
            Self::LeftOut { .. } => "left_out",
            Self::Torn { .. } => "torn",
            Self::OtherCount { .. } => "other_count",
            Self::WithoutLatency { .. } => "without_latency",
            Self::Invalid { .. } => "invalid",
            Self::Inaccurate { .. } => "inaccurate",
            Self::Errors { .. } => "errors",
            Self::AnswersLess { .. } => "answers_less",
            Self::Withheld { .. } => "withheld",
            Self::OfflineLatencies => "offline_latencies",
            Self::LongCorrelation { .. } => "long_correlation",
            Self::TooFewSamples { .. } => "too_few_samples",
            Self::SameSchedule => "same_schedule",
            Self::OtherMetric => "other_metric",
            Self::Deviates { .. } => "deviates",
        }
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names =
            |figures: &[Figure]| figures.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match self {
            Self::OneRunEach => f.write_str(
                "one run on each side: the intervals hold what varies within a run, and not what varies from run to run, \
                 which is often more; host run --repeat 5 --against PLUGIN makes runs that tell",
            ),
            Self::OneRun => f.write_str(
                "one side is a single run: it is taken to vary from run to run as much as the repeats of the other",
            ),
            Self::FewRepeats { count } => {
                write!(f, "{count} repeats tell little of how runs vary, and the intervals are as wide as that: make 5")
            }
            Self::LeftOut { run, .. } => write!(f, "{} is not whole and left out", run.display()),
            Self::Torn { run, bytes } => {
                write!(f, "samples.bin of {} ends within a sample: its last {bytes} bytes are left out", run.display())
            }
            Self::OtherCount { run, count } => write!(f, "samples.bin of {} has {count}", run.display()),
            Self::WithoutLatency { run, failed, missing } => write!(
                f,
                "{}: {failed} samples failed and {missing} never completed; to a percentile their queries are slower than all \
                 others, and they are in no mean and no throughput",
                run.display()
            ),
            Self::Invalid { run } => write!(f, "{} is INVALID; host report tells why", run.display()),
            Self::Inaccurate { run } => {
                write!(f, "the accuracy of {} did not pass; host report tells why", run.display())
            }
            Self::Errors { run, count } => write!(
                f,
                "the detail log of {} has {count} {}: the result checkers take no such run",
                run.display(),
                if *count == 1 { "error" } else { "errors" }
            ),
            Self::AnswersLess { a, b } => {
                write!(f, "B has no answer to {} of {} samples, and A to {} of {}", b.0, b.1, a.0, a.1)
            }
            Self::Withheld { figures } => {
                write!(f, "{}: withheld, as samples without an answer have no latency", names(figures))
            }
            Self::OfflineLatencies => f.write_str(
                "in Offline every latency counts from the start, so that percentiles are the progress of the run: \
                 throughput is compared",
            ),
            Self::LongCorrelation { figures } => write!(
                f,
                "{}: neighbours hang together over too large a part of a run for a good interval; run longer",
                names(figures)
            ),
            Self::TooFewSamples { figures } => {
                write!(f, "{}: too few independent samples beyond for an interval; run longer", names(figures))
            }
            Self::SameSchedule => f.write_str(
                "all runs have the same arrivals: what these do to both sides is taken out of the difference",
            ),
            Self::OtherMetric => f.write_str("the accuracies are of different metrics and not compared"),
            Self::Deviates { a, b } if a == b => {
                write!(f, "by the rules of the round these runs are not results: {}", a.join("; "))
            }
            Self::Deviates { a, b } => {
                let sides = [("A", a), ("B", b)].into_iter().filter(|(_, texts)| !texts.is_empty());
                let told = sides.map(|(side, texts)| {
                    format!("by the rules of the round {side} is not a result: {}", texts.join("; "))
                });
                f.write_str(&told.collect::<Vec<_>>().join("; "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_side_that_deviates_is_named() {
        let told = |a: &[&str], b: &[&str]| {
            let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
            Remark::Deviates { a: owned(a), b: owned(b) }.to_string()
        };
        let rules = "by the rules of the round";
        assert_eq!(told(&["x", "y"], &["x", "y"]), format!("{rules} these runs are not results: x; y"));
        assert_eq!(told(&[], &["x", "y"]), format!("{rules} B is not a result: x; y"));
        assert_eq!(
            told(&["x"], &["y"]),
            format!("{rules} A is not a result: x; {rules} B is not a result: y")
        );
    }
}

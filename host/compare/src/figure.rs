//! The figures that are compared.

use std::fmt;

use proctor_vocabulary::Scenario;
use proctor_words::text::{duration, four_digits};

/// A figure of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Figure {
    /// The latency that this share of the queries keep, in tenths of a percent.
    Percentile(u16),
    /// The mean latency.
    Mean,
    /// Completed samples per second.
    Throughput,
    /// Accuracy, by the metric of the benchmark.
    Accuracy,
}

/// Percentiles that have their own line: the ones in LoadGen's summary, from the median.
pub(crate) const PERCENTILES: [u16; 6] = [500, 900, 950, 970, 990, 999];
/// The percentiles of the shift plot.
pub(crate) const SHIFTS: [u16; 13] = [100, 200, 300, 400, 500, 600, 700, 800, 900, 950, 970, 990, 999];

impl Figure {
    /// Returns the figures with their own line in a scenario. In Offline all samples count from the start of the one
    /// query, so that their latencies are the progress of the run and no latency of any work.
    #[must_use]
    pub fn of(scenario: Scenario) -> Vec<Self> {
        let latencies = PERCENTILES.map(Self::Percentile).into_iter().chain([Self::Mean]);
        let latencies = latencies.filter(|_| scenario != Scenario::Offline);
        latencies.chain([Self::Throughput]).collect()
    }

    /// Returns the figure of a name, such as `p99.9`, `mean`, `throughput` or `accuracy`; `None` for any other name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let percentiles = PERCENTILES.map(Self::Percentile);
        let all = percentiles.into_iter().chain([Self::Mean, Self::Throughput, Self::Accuracy]);
        all.into_iter().find(|figure| figure.to_string() == name)
    }

    /// Returns the unit of its values.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Self::Percentile(_) | Self::Mean => "ns",
            Self::Throughput => "samples/s",
            Self::Accuracy => "metric",
        }
    }

    /// Returns a value for people, with its unit.
    pub(crate) fn shown(self, value: f64) -> String {
        match self {
            // Not negative, and far below 2^64.
            Self::Percentile(_) | Self::Mean => duration(value.round() as u64),
            Self::Throughput => format!("{}/s", four_digits(value)),
            Self::Accuracy => format!("{value:.5}"),
        }
    }

    /// Returns whether it is a latency, in ns.
    #[must_use]
    pub fn is_latency(self) -> bool {
        matches!(self, Self::Percentile(_) | Self::Mean)
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Percentile(tenths) if tenths % 10 == 0 => write!(f, "p{}", tenths / 10),
            Self::Percentile(tenths) => write!(f, "p{}.{}", tenths / 10, tenths % 10),
            Self::Mean => f.write_str("mean"),
            Self::Throughput => f.write_str("throughput"),
            Self::Accuracy => f.write_str("accuracy"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_names_and_are_found_by_them() {
        let names: Vec<_> = Figure::of(Scenario::Server).iter().map(ToString::to_string).collect();
        assert_eq!(names, ["p50", "p90", "p95", "p97", "p99", "p99.9", "mean", "throughput"]);
        assert!(
            names.iter().all(|name| Figure::named(name).is_some_and(|figure| figure.to_string() == *name))
        );
        assert_eq!(Figure::named("accuracy"), Some(Figure::Accuracy));
        assert_eq!((Figure::named("p98"), Figure::named("P50"), Figure::named("")), (None, None, None));
        assert_eq!(Figure::of(Scenario::Offline), [Figure::Throughput]);
    }
}

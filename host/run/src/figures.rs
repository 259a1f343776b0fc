//! The figures of a performance run under the names that people and `result.json` use.

use proctor_loadgen::{
    EffectiveSettings, LatencyStatistics, PerformanceResult, ScenarioFigures, rounds::ServerMetric,
};
use serde::Serialize;

use crate::text;

/// The unit of a whole number of streams.
const STREAMS: &str = "streams";

/// The one number of a scenario.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Metric {
    pub(crate) name: String,
    /// Null if the run was too short for it.
    pub(crate) value: f64,
    pub(crate) unit: &'static str,
}

/// The spread of latencies, all in ns. Percentiles are whole measured values, not interpolated.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Latencies {
    /// Number of latencies.
    pub count: u64,
    /// The shortest.
    pub min_ns: u64,
    /// Their mean, rounded down.
    pub mean_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// The median.
    pub p50_ns: u64,
    /// 90th percentile.
    pub p90_ns: u64,
    /// 95th percentile.
    pub p95_ns: u64,
    /// 97th percentile.
    pub p97_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p99_9_ns: u64,
}

impl From<&LatencyStatistics> for Latencies {
    fn from(statistics: &LatencyStatistics) -> Self {
        let [p50_ns, p90_ns, p95_ns, p97_ns, p99_ns, p99_9_ns] = statistics.percentiles_ns;
        let LatencyStatistics { count, min_ns, max_ns, mean_ns, .. } = *statistics;
        Self { count, min_ns, mean_ns, max_ns, p50_ns, p90_ns, p95_ns, p97_ns, p99_ns, p99_9_ns }
    }
}

/// The metric of the scenario under the rules of the test.
///
/// The round decides whether that of MultiStream is the number of streams, and which rate that of Server is.
pub(crate) fn metric(result: &PerformanceResult, settings: &EffectiveSettings) -> Metric {
    let quantile = settings.target_latency_percentile;
    if let Some(intervals) = &result.intervals {
        let name = "samples of each query".to_owned();
        return Metric { name, value: intervals.stream_count as f64, unit: STREAMS };
    }
    let latency = |what: &str, ns: u64| Metric {
        name: format!("{} percentile of the {what} latency", ordinal(quantile * 100.0)),
        value: ns as f64,
        unit: "ns",
    };
    match &result.figures {
        ScenarioFigures::SingleStream { .. } => latency("query", result.sample_latencies.target_ns),
        ScenarioFigures::MultiStream { query_latencies } => latency("query", query_latencies.target_ns),
        ScenarioFigures::Server { scheduled_samples_per_second, completed_samples_per_second, .. } => {
            match result.rules.server_metric {
                ServerMetric::ScheduledSamples => scheduled_rate(*scheduled_samples_per_second),
                ServerMetric::CompletedSamples => {
                    let value = *completed_samples_per_second;
                    rate("throughput of completed samples", if value > 0.0 { value } else { f64::NAN })
                }
            }
        }
        ScenarioFigures::Offline { samples_per_second, .. } => rate("throughput", *samples_per_second),
    }
}

/// The metric by the text of the round's rules, where its result checker, which is followed here, has another one: that
/// of Server from v5.0 on.
pub(crate) fn metric_by_text(result: &PerformanceResult) -> Option<Metric> {
    match (&result.figures, result.rules.server_metric) {
        (ScenarioFigures::Server { scheduled_samples_per_second, .. }, ServerMetric::CompletedSamples) => {
            Some(scheduled_rate(*scheduled_samples_per_second))
        }
        _ => None,
    }
}

fn rate(name: &str, value: f64) -> Metric {
    Metric { name: name.to_owned(), value, unit: "samples/s" }
}

fn scheduled_rate(value: f64) -> Metric {
    rate("rate of scheduled samples", value)
}

pub(crate) fn peak_metric(qps: f64) -> Metric {
    Metric { name: "peak rate".to_owned(), value: qps, unit: "queries/s" }
}

/// The latencies that people want to see: those of queries.
pub fn query_latencies(result: &PerformanceResult) -> &LatencyStatistics {
    match &result.figures {
        ScenarioFigures::MultiStream { query_latencies } => query_latencies,
        _ => &result.sample_latencies,
    }
}

impl Metric {
    /// The value with its unit, for people.
    pub(crate) fn shown(&self) -> String {
        match self.unit {
            STREAMS => text::counted(self.value as u64, "stream"),
            unit => text::quantity(self.value, unit),
        }
    }
}

/// `90th`, `99.9th`; percentiles that end in 1, 2 or 3 are rare enough to be written alike, as LoadGen does.
fn ordinal(percentile: f64) -> String {
    // Multiplying a fraction by 100 leaves dust at the end.
    let rounded = (percentile * 1e6).round() / 1e6;
    format!("{rounded}th")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_named_without_dust() {
        assert_eq!(ordinal(0.999 * 100.0), "99.9th");
        assert_eq!(ordinal(0.57 * 100.0), "57th");
    }

    #[test]
    fn a_metric_is_shown_with_its_unit() {
        let metric = |value, unit| Metric { name: String::new(), value, unit };
        assert_eq!(metric(1_500_000.0, "ns").shown(), "1.500 ms");
        assert_eq!(metric(8.0, STREAMS).shown(), "8 streams");
        assert_eq!(metric(f64::NAN, "samples/s").shown(), "not known");
        assert_eq!(metric(f64::INFINITY, "samples/s").shown(), "not known");
        assert_eq!(metric(12_345.6, "samples/s").shown(), "12346 samples/s");
    }
}

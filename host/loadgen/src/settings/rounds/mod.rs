//! The rounds of MLPerf Inference as data: everything in which their rules differ, one file for each round.
//!
//! A new round is a file beside this one with a [`Round`], and its lines in this one. Nothing else asks which round a
//! run follows: it asks the round for the rule.

mod v0_5;
mod v0_7;
mod v5_0;

use proctor_vocabulary::Scenario;

use super::query_count::statistical_query_count;

/// All rounds.
pub(super) const ROUNDS: &[&Round] = &[
    // The newest first, which is the default.
    &v5_0::ROUND,
    &v0_7::ROUND,
    &v0_5::ROUND,
];

/// The rules of one round, as far as rounds differ.
#[derive(Debug, PartialEq)]
pub struct Round {
    /// Name of the round, which is the value of the setting `rules`.
    pub name: &'static str,
    /// Whether MultiStream sends a query at each fixed interval, which is also its latency bound, and has the samples
    /// of a query for its metric. Otherwise a query follows when the last one is complete, and the metric is a
    /// latency.
    pub has_intervals: bool,
    /// Whether early stopping judges if enough queries were seen.
    pub stops_early: bool,
    /// Whether tokens are measured.
    pub has_tokens: bool,
    /// Whether the logs name the round and its figures. LoadGen 6 knows of no round.
    pub extends_logs: bool,
    /// Metric of Server.
    pub server_metric: ServerMetric,
    /// Performance runs of Server that make a result, which is the lowest of them. The other scenarios have one run.
    pub server_run_count: u64,
    /// The values of the round's tables. `None` if they are those of LoadGen's built-in `mlperf.conf`.
    pub tables: Option<Tables>,
}

/// Rate that Server reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerMetric {
    /// Samples over the time until the last was scheduled.
    ScheduledSamples,
    /// Samples over the time until the last was completed.
    CompletedSamples,
}

/// Values that a round states itself.
#[derive(Debug, PartialEq)]
pub struct Tables {
    /// Shortest valid run, in ms.
    pub min_duration_ms: u64,
    /// Fewest queries of SingleStream.
    pub single_stream_query_count: u64,
    /// Percentile that SingleStream reports, as a fraction.
    pub single_stream_percentile: f64,
    /// Percentile of which Offline has to have the samples, as a fraction.
    pub offline_percentile: f64,
    /// Bounds of the round's benchmarks.
    pub benchmarks: &'static [BenchmarkRow],
    /// Bounds of a benchmark that is like none of the round.
    pub unknown: Bounds,
}

/// Bounds of one benchmark in the scenarios that have them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// MultiStream: from one query to the next, in ms. `None` where the round has no MultiStream.
    pub interval_ms: Option<u64>,
    /// Server: latency bound in ms. `None` where the round has no Server.
    pub server_latency_ms: Option<u64>,
    /// Share of the queries that has to meet the bound.
    pub tail: f64,
}

/// Row of a round's table of benchmarks.
#[derive(Debug, PartialEq)]
pub struct BenchmarkRow {
    /// Model, as definitions of benchmarks and `mlperf.conf` name it.
    pub model: &'static str,
    /// Task of the model.
    pub task: &'static str,
    /// Bounds of the benchmark.
    pub bounds: Bounds,
}

impl Round {
    /// Returns the number of performance runs that make a result.
    #[must_use]
    pub fn run_count(&self, scenario: Scenario) -> u64 {
        if scenario == Scenario::Server { self.server_run_count } else { 1 }
    }

    /// Returns the fewest queries of a valid run, in Offline the fewest samples, where `tail` is the share of queries
    /// that has to meet the latency bound. `None` in rounds without tables of their own.
    #[must_use]
    pub fn min_query_count(&self, scenario: Scenario, tail: f64) -> Option<u64> {
        self.tables.as_ref().map(|tables| tables.min_query_count(scenario, tail))
    }
}

impl Tables {
    /// Returns the fewest queries of a valid run, in Offline the fewest samples.
    ///
    /// SingleStream has few queries so that embedded devices come to an end; the counts of the scenarios with a bound
    /// are those that make the share `tail` believable.
    #[must_use]
    pub fn min_query_count(&self, scenario: Scenario, tail: f64) -> u64 {
        match scenario {
            Scenario::SingleStream => self.single_stream_query_count,
            Scenario::MultiStream | Scenario::Server => statistical_query_count(tail),
            Scenario::Offline => statistical_query_count(self.offline_percentile),
        }
    }

    /// Returns the bounds of a benchmark: those of its model's row; else what all rows of its task agree on; else those
    /// of an unknown one.
    #[must_use]
    pub fn bounds(&self, model: &str, task: &str) -> Bounds {
        if let Some(row) = self.benchmarks.iter().find(|row| row.model == model) {
            return row.bounds;
        }
        let of_task = self.benchmarks.iter().filter(|row| row.task == task).map(|row| row.bounds);
        let common = of_task.reduce(|a, b| Bounds {
            interval_ms: a.interval_ms.filter(|_| a.interval_ms == b.interval_ms),
            server_latency_ms: a.server_latency_ms.filter(|_| a.server_latency_ms == b.server_latency_ms),
            tail: a.tail.max(b.tail),
        });
        common.unwrap_or(self.unknown)
    }
}

/// Makes a row of a table: model, task, interval and bound of Server in ms, share of the queries that has to meet them.
const fn row(
    model: &'static str,
    task: &'static str,
    interval_ms: Option<u64>,
    server_latency_ms: Option<u64>,
    tail: f64,
) -> BenchmarkRow {
    BenchmarkRow { model, task, bounds: Bounds { interval_ms, server_latency_ms, tail } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_has_its_row_and_another_one_what_its_task_agrees_on() {
        let of = |round: &Round, model, task| {
            let tables = round.tables.as_ref().expect("the older rounds have tables");
            let Bounds { interval_ms, server_latency_ms, tail } = tables.bounds(model, task);
            (interval_ms, server_latency_ms, tail)
        };
        let (v0_5, v0_7) = (&v0_5::ROUND, &v0_7::ROUND);
        assert_eq!(of(v0_5, "mobilenet", "whatever"), (Some(50), Some(10), 0.99));
        assert_eq!(of(v0_5, "gnmt", "translation"), (Some(100), Some(250), 0.97));
        assert_eq!(of(v0_7, "rnnt", "speech recognition"), (None, Some(1000), 0.97));
        // ResNet-50 and MobileNet have different bounds and the same interval; the detectors share nothing.
        assert_eq!(of(v0_5, "digits-lstm", "image classification"), (Some(50), None, 0.99));
        assert_eq!(of(v0_5, "yolo", "object detection"), (None, None, 0.99));
        assert_eq!(of(v0_7, "mine", "weather"), (None, None, 0.99));
    }

    /// Table 5 of the paper, and the table of scenarios of the rules v0.7.
    #[test]
    fn query_counts_are_those_of_the_tables() {
        for (scenario, vision, translation) in [
            (Scenario::SingleStream, 1024, 1024),
            (Scenario::MultiStream, 270_336, 90_112),
            (Scenario::Server, 270_336, 90_112),
            (Scenario::Offline, 24_576, 24_576),
        ] {
            for round in [&v0_5::ROUND, &v0_7::ROUND] {
                assert_eq!(round.min_query_count(scenario, 0.99), Some(vision), "{scenario}");
                assert_eq!(round.min_query_count(scenario, 0.97), Some(translation), "{scenario}");
            }
            assert_eq!(v5_0::ROUND.min_query_count(scenario, 0.99), None);
        }
    }

    #[test]
    fn server_takes_five_runs_in_the_rounds_with_intervals() {
        assert_eq!(v0_5::ROUND.run_count(Scenario::Server), 5);
        assert_eq!(v0_7::ROUND.run_count(Scenario::Server), 5);
        assert_eq!(v0_5::ROUND.run_count(Scenario::MultiStream), 1);
        assert_eq!(v5_0::ROUND.run_count(Scenario::Server), 1);
    }
}

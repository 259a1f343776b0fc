//! The figures of a performance phase, and which of its rules they keep.

pub(crate) mod early;
pub(crate) mod interval;
pub(crate) mod recommendation;
pub(crate) mod tokens;

use proctor_loadgen_settings::{EffectiveSettings, Rules};
use proctor_vocabulary::Scenario;

use early::EarlyStopping;
use interval::IntervalResult;
use recommendation::Recommendation;
use tokens::{TokenLatencies, TokenResult};

use crate::measure::{order_statistics::Ordered, phase_record::PhaseRecord, statistics::LatencyStatistics};

/// The result of a performance phase.
///
/// Source: LoadGen 6.0.17, `PerformanceSummary`.
#[derive(Debug, Clone, PartialEq)]
pub struct PerformanceResult {
    /// Rules by which it is judged.
    pub rules: Rules,
    /// Number of queries that were issued.
    pub issued_query_count: u64,
    /// Latencies of the completed samples.
    pub sample_latencies: LatencyStatistics,
    /// Figures that are reported for this scenario only.
    pub figures: ScenarioFigures,
    /// MultiStream at fixed intervals: whether the system kept up with the intervals.
    pub intervals: Option<IntervalResult>,
    /// Figures of tokens, in token runs.
    pub tokens: Option<TokenResult>,
    /// True if the run was long enough.
    pub min_duration_met: bool,
    /// True if enough queries were issued and enough samples completed.
    pub min_queries_met: bool,
    /// True if the latency bound was met, in token runs the bounds of the first and of the further tokens.
    /// Always true without a bound, which only Server, and MultiStream at fixed intervals, have.
    pub perf_constraints_met: bool,
    /// Whether enough queries were seen to believe the percentile. In token runs this is about the time to the first
    /// token, or, if that has failed already, about the time per output token.
    pub early_stopping: EarlyStopping,
    /// Changes to make, for the bounds, the duration and the queries as far as they were not met.
    pub recommendations: Vec<Recommendation>,
}

/// Figures that one scenario alone has. Rates are per second, NaN or infinite if a run is too short for them.
#[derive(Debug, Clone, PartialEq)]
pub enum ScenarioFigures {
    /// The metric is a percentile of the sample latency.
    SingleStream {
        /// Number of queries over the time until the last was issued.
        qps_with_loadgen_overhead: f64,
        /// One over the mean latency.
        qps_without_loadgen_overhead: f64,
    },
    /// The metric is a percentile of the query latency; at fixed intervals see [`PerformanceResult::intervals`].
    MultiStream {
        /// Latencies of the completed queries.
        query_latencies: LatencyStatistics,
    },
    /// The metric is the requested rate, if the latency bound is met.
    Server {
        /// Number of samples over the time until the last was scheduled.
        scheduled_samples_per_second: f64,
        /// Number of samples over the time until the last was completed; 0 if it never was.
        completed_samples_per_second: f64,
        /// Number of samples over the latency bound.
        over_latency_count: u64,
        /// Number of completed samples times a factor, if tokens are to be inferred from samples.
        inferred_tokens_per_second: Option<f64>,
    },
    /// The metric is the throughput.
    Offline {
        /// Number of samples over the time until the slowest was completed.
        samples_per_second: f64,
        /// Same rate times a factor, if tokens are to be inferred from samples.
        inferred_tokens_per_second: Option<f64>,
    },
}

impl PerformanceResult {
    /// Computes the figures of a phase.
    #[must_use]
    pub fn new(record: &PhaseRecord, settings: &EffectiveSettings) -> Self {
        let samples = Ordered::new(record.sample_latencies_ns.view());
        let queries = Ordered::new(&record.query_latencies_ns[..]);
        let quantile = settings.target_latency_percentile;
        let sample_latencies = LatencyStatistics::of(&samples, quantile);
        let over_latency_count = samples.over_count(settings.target_latency_ns);
        let intervals = IntervalResult::new(record, settings);
        let tokens = record.tokens.as_ref();
        let tokens = tokens.map(|tokens| TokenResult::new(record, tokens, settings, &sample_latencies));
        let (perf_constraints_met, early_stopping) =
            match tokens.as_ref().and_then(|tokens| tokens.latencies.as_ref()) {
                Some(token) => (token.ttft_met && token.tpot_met, token.early_stopping().clone()),
                None => {
                    let is_met = match (settings.request.scenario, &intervals) {
                        (Scenario::Server, _) => sample_latencies.target_ns <= settings.target_latency_ns,
                        (_, intervals) => intervals.is_none_or(|intervals| intervals.met()),
                    };
                    let is_multi_stream = settings.request.scenario == Scenario::MultiStream;
                    let judged = if is_multi_stream { &queries } else { &samples };
                    let query_count = record.issued_query_count;
                    (is_met, EarlyStopping::new(settings, query_count, judged, over_latency_count))
                }
            };

        let mut result = Self {
            rules: settings.request.rules,
            issued_query_count: record.issued_query_count,
            figures: match settings.request.scenario {
                Scenario::SingleStream => single_stream(record, &sample_latencies),
                Scenario::MultiStream => ScenarioFigures::MultiStream {
                    query_latencies: LatencyStatistics::of(&queries, quantile),
                },
                Scenario::Server => server(record, settings, over_latency_count),
                Scenario::Offline => offline(record, settings),
            },
            min_duration_met: deciding_duration_ns(record, settings)
                >= settings.request.min_duration_ms * 1_000_000,
            min_queries_met: record.issued_query_count >= settings.min_query_count
                && sample_latencies.count >= settings.min_sample_count,
            perf_constraints_met,
            intervals,
            tokens,
            sample_latencies,
            early_stopping,
            recommendations: Vec::new(),
        };
        result.recommendations = Recommendation::of(&result, settings.request.scenario);
        result
    }

    /// Returns the figures of the same phase by a record without its failed samples. Whether it had enough of queries
    /// and samples stays as it is.
    pub(crate) fn answered(&self, record: &PhaseRecord, settings: &EffectiveSettings) -> Self {
        let mut answered = Self { min_queries_met: self.min_queries_met, ..Self::new(record, settings) };
        answered.recommendations = Recommendation::of(&answered, settings.request.scenario);
        answered
    }

    /// Returns the times of first and further tokens, in token runs other than Offline.
    #[must_use]
    pub fn token_latencies(&self) -> Option<&TokenLatencies> {
        self.tokens.as_ref()?.latencies.as_ref()
    }

    /// Returns early stopping's texts about the first and the further tokens. Empty in Offline, and for the first if
    /// the others have failed.
    pub(crate) fn token_early_stopping_texts(&self) -> [&str; 2] {
        self.token_latencies().map_or(["", ""], |latencies| {
            let ttft = latencies.ttft_early_stopping.as_ref();
            [ttft.map_or("", |early| &early.text), &latencies.tpot_early_stopping.text]
        })
    }
}

/// Returns the time that the minimum duration is about.
pub(crate) fn deciding_duration_ns(record: &PhaseRecord, settings: &EffectiveSettings) -> u64 {
    match settings.request.scenario {
        Scenario::SingleStream | Scenario::MultiStream => record.final_query_issued_ns,
        Scenario::Server => record.final_query_scheduled_ns,
        Scenario::Offline => record.max_latency_ns,
    }
}

fn single_stream(record: &PhaseRecord, latencies: &LatencyStatistics) -> ScenarioFigures {
    ScenarioFigures::SingleStream {
        qps_with_loadgen_overhead: intervals(record) / seconds(record.final_query_issued_ns),
        qps_without_loadgen_overhead: 1.0 / seconds(latencies.mean_ns),
    }
}

fn server(record: &PhaseRecord, settings: &EffectiveSettings, over_latency_count: u64) -> ScenarioFigures {
    let done_s = seconds(record.final_query_all_samples_done_ns);
    ScenarioFigures::Server {
        scheduled_samples_per_second: intervals(record) / seconds(record.final_query_scheduled_ns),
        completed_samples_per_second: if done_s > 0.0 { intervals(record) / done_s } else { 0.0 },
        over_latency_count,
        inferred_tokens_per_second: settings.request.infer_token_latencies.then(|| {
            if done_s > 0.0 { inferred_tokens(settings, interval_count(record)) / done_s } else { 0.0 }
        }),
    }
}

fn offline(record: &PhaseRecord, settings: &EffectiveSettings) -> ScenarioFigures {
    let samples = record.sample_latencies_ns.len() as f64;
    let duration_s = seconds(record.max_latency_ns);
    ScenarioFigures::Offline {
        samples_per_second: samples / duration_s,
        inferred_tokens_per_second: settings
            .request
            .infer_token_latencies
            .then(|| inferred_tokens(settings, record.sample_latencies_ns.len()) / duration_s),
    }
}

/// Returns the gaps between the completed samples: the times run from the first of them.
fn intervals(record: &PhaseRecord) -> f64 {
    interval_count(record) as f64
}

fn interval_count(record: &PhaseRecord) -> u64 {
    record.sample_latencies_ns.len().saturating_sub(1)
}

/// Computes the output tokens of a number of samples. LoadGen multiplies whole numbers, which wrap at 2^64.
fn inferred_tokens(settings: &EffectiveSettings, sample_count: u64) -> f64 {
    settings.request.token_latency_scaling_factor.wrapping_mul(sample_count) as f64
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use proctor_loadgen_settings::TestSettings;

    use super::*;
    use crate::plan::{phases::PhaseMode, schedule::GeneratedTotals};

    fn record(latencies_ns: Vec<u64>) -> PhaseRecord {
        let count = latencies_ns.len() as u64;
        PhaseRecord {
            mode: PhaseMode::Performance,
            loaded_set: Vec::new(),
            generated: GeneratedTotals { query_count: count, samples_per_query: 1, duration_ns: 0 },
            issued_query_count: count,
            issued_sample_count: count,
            max_latency_ns: latencies_ns.iter().copied().max().unwrap_or(0),
            sample_latencies_ns: latencies_ns.into(),
            query_latencies_ns: Vec::new(),
            intervals: None,
            tokens: None,
            final_query_scheduled_ns: 10_000_000_000,
            final_query_issued_ns: 10_000_000_000,
            final_query_all_samples_done_ns: 10_000_000_000,
        }
    }

    fn server_settings() -> EffectiveSettings {
        let request = TestSettings { scenario: Scenario::Server, ..TestSettings::default() };
        EffectiveSettings::new(&request, 4, 10).unwrap().0
    }

    #[test]
    fn a_latency_on_the_bound_is_under_it() {
        let settings = server_settings();
        let result = PerformanceResult::new(&record(vec![settings.target_latency_ns; 500]), &settings);
        assert!(result.perf_constraints_met && result.early_stopping.met);
        let result = PerformanceResult::new(&record(vec![settings.target_latency_ns + 1; 500]), &settings);
        assert!(!result.perf_constraints_met && !result.early_stopping.met);
        assert!(matches!(result.figures, ScenarioFigures::Server { over_latency_count: 500, .. }));
    }

    #[test]
    fn inferred_tokens_wrap_as_loadgens_do() {
        let inferred = |scenario, latencies_ns| {
            let request = TestSettings {
                scenario,
                infer_token_latencies: true,
                token_latency_scaling_factor: (1 << 62) + 1,
                ..TestSettings::default()
            };
            let settings = EffectiveSettings::new(&request, 4, 10).unwrap().0;
            match PerformanceResult::new(&record(latencies_ns), &settings).figures {
                ScenarioFigures::Server { inferred_tokens_per_second, .. }
                | ScenarioFigures::Offline { inferred_tokens_per_second, .. } => inferred_tokens_per_second,
                _ => None,
            }
        };
        // In Server from the first to the last of five samples in 10 s, in Offline all of four in 2 s.
        assert_eq!(inferred(Scenario::Server, vec![1; 5]), Some(0.4));
        assert_eq!(inferred(Scenario::Offline, vec![2_000_000_000; 4]), Some(2.0));
    }

    #[test]
    fn a_run_without_completions_has_figures_that_keep_no_rule() {
        let mut record = record(Vec::new());
        record.issued_query_count = 500;
        for scenario in Scenario::ALL {
            let request = TestSettings { scenario: *scenario, ..TestSettings::default() };
            let settings = EffectiveSettings::new(&request, 4, 10).unwrap().0;
            assert!(!PerformanceResult::new(&record, &settings).min_queries_met);
        }
    }
}

//! The settings that apply: the request, completed by the scenario's rules and the library's counts, and checked.

pub(crate) mod check;

use proctor_vocabulary::{Scenario, TestMode};

use crate::settings::{rules::Rules, test_settings::TestSettings};
use check::{SettingsError, check_library, check_ranges};

/// The settings as one test uses them.
///
/// Fields that do not depend on the scenario are copies of the request under the same name.
///
/// Source: LoadGen 6.0.17, `TestSettingsInternal`.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)] // The plain copies are explained at [`TestSettings`].
pub struct EffectiveSettings {
    pub scenario: Scenario,
    pub mode: TestMode,
    pub rules: Rules,
    /// MultiStream in a round with intervals: from one query to the next, in ns. `None` elsewhere.
    pub interval_ns: Option<u64>,
    /// Samples in each query; for Offline, in the one query.
    pub samples_per_query: u64,
    /// Queries per second that are expected or, for Server, sent.
    pub target_qps: f64,
    /// Latency bound of Server, and of MultiStream in a round with intervals; else 0.
    pub target_latency_ns: u64,
    /// Quantile of the latency that is reported, as a fraction.
    pub target_latency_percentile: f64,
    /// Outstanding queries at which a Server test ends early; 0 is no limit. Printed as 1 for the others.
    pub max_async_queries: u64,
    /// How long queries are issued. Offline has one query, hence 0.
    pub target_duration_ms: u64,
    pub min_duration_ms: u64,
    pub max_duration_ms: u64,
    /// Fewest queries of a valid run.
    pub min_query_count: u64,
    pub max_query_count: u64,
    /// Fewest samples of a valid run.
    pub min_sample_count: u64,
    pub qsl_rng_seed: u64,
    pub sample_index_rng_seed: u64,
    pub schedule_rng_seed: u64,
    pub accuracy_log_rng_seed: u64,
    pub accuracy_log_probability: f64,
    pub accuracy_log_sampling_target: u64,
    pub print_timestamps: bool,
    pub performance_issue_unique: bool,
    pub performance_issue_same: bool,
    pub performance_issue_same_index: u64,
    /// Samples of the performance set and of each accuracy set, before clamping to the library.
    pub performance_sample_count: u64,
    /// Samples of the accuracy run, before clamping to the library.
    pub accuracy_sample_count: u64,
    pub sample_concatenate_permutation: bool,
    pub server_coalesce_queries: bool,
    /// How many threads issue queries: in Server as many as asked for, but one at least; else one.
    pub issuer_count: u64,
    pub use_token_latencies: bool,
    pub server_ttft_latency: u64,
    pub server_tpot_latency: u64,
    pub infer_token_latencies: bool,
    pub token_latency_scaling_factor: u64,
    /// Samples in the library, as it reports.
    pub qsl_total_count: u64,
}

impl TestSettings {
    /// Returns the settings with audit test 05 applied if `test05` is on: PerformanceOnly and the three test05 seeds.
    #[must_use]
    pub fn with_test05_applied(mut self) -> Self {
        if self.test05 {
            self.mode = TestMode::PerformanceOnly;
            self.qsl_rng_seed = self.test05_qsl_rng_seed;
            self.sample_index_rng_seed = self.test05_sample_index_rng_seed;
            self.schedule_rng_seed = self.test05_schedule_rng_seed;
        }
        self
    }
}

impl EffectiveSettings {
    /// Whether queries have scheduled instants, from which their latencies count: in Server, and in MultiStream at
    /// fixed intervals.
    #[must_use]
    pub fn has_schedule(&self) -> bool {
        self.scenario == Scenario::Server || self.interval_ns.is_some()
    }

    /// Derives the effective settings from a request and the two counts that the library reports.
    ///
    /// The strings returned beside are LoadGen's `error_invalid_test_settings`: contradictions that are logged as
    /// errors but do not stop the run.
    ///
    /// # Errors
    /// [`SettingsError`] where LoadGen would crash, hang or compute with undefined values, and for a negative rate,
    /// which it replaces by 1.
    ///
    /// Source: LoadGen 6.0.17, constructor of `TestSettingsInternal`.
    pub fn new(
        request: &TestSettings,
        qsl_performance_count: u64,
        qsl_total_count: u64,
    ) -> Result<(Self, Vec<String>), SettingsError> {
        let request = request.clone().with_test05_applied();
        check_library(&request, qsl_performance_count, qsl_total_count)?;
        check_ranges(&request)?;

        let mut effective = Self::start(&request, qsl_performance_count, qsl_total_count);
        match request.scenario {
            Scenario::SingleStream => effective.single_stream(&request, qsl_performance_count),
            Scenario::MultiStream => effective.multi_stream(&request),
            Scenario::Server => effective.server(&request),
            Scenario::Offline => effective.offline(&request),
        }
        effective.check_queries()?;
        effective.check_sizes(&request)?;
        effective.check_issue_same()?;
        effective.min_sample_count = effective.min_query_count * effective.samples_per_query;
        let errors = effective.contradictions();
        Ok((effective, errors))
    }

    /// Copies what does not depend on the scenario, as if every query had one sample.
    fn start(request: &TestSettings, qsl_performance_count: u64, qsl_total_count: u64) -> Self {
        let or_library = |count: u64, reported: u64| if count == 0 { reported } else { count };
        Self {
            scenario: request.scenario,
            mode: request.mode,
            rules: request.rules,
            interval_ns: None,
            issuer_count: 1,
            samples_per_query: 1,
            target_qps: 1.0,
            target_latency_ns: 0,
            target_latency_percentile: 0.99,
            max_async_queries: 1,
            target_duration_ms: request.min_duration_ms,
            min_duration_ms: request.min_duration_ms,
            max_duration_ms: request.max_duration_ms,
            min_query_count: request.min_query_count,
            max_query_count: request.max_query_count,
            min_sample_count: 0,
            qsl_rng_seed: request.qsl_rng_seed,
            sample_index_rng_seed: request.sample_index_rng_seed,
            schedule_rng_seed: request.schedule_rng_seed,
            accuracy_log_rng_seed: request.accuracy_log_rng_seed,
            accuracy_log_probability: request.accuracy_log_probability,
            accuracy_log_sampling_target: request.accuracy_log_sampling_target,
            print_timestamps: request.print_timestamps,
            performance_issue_unique: request.performance_issue_unique,
            performance_issue_same: request.performance_issue_same,
            performance_issue_same_index: request.performance_issue_same_index,
            performance_sample_count: or_library(
                request.performance_sample_count_override,
                qsl_performance_count,
            ),
            accuracy_sample_count: or_library(request.accuracy_sample_count_override, qsl_total_count),
            sample_concatenate_permutation: request.sample_concatenate_permutation,
            server_coalesce_queries: request.server_coalesce_queries,
            use_token_latencies: request.use_token_latencies,
            server_ttft_latency: request.server_ttft_latency,
            server_tpot_latency: request.server_tpot_latency,
            infer_token_latencies: request.infer_token_latencies,
            token_latency_scaling_factor: request.token_latency_scaling_factor,
            qsl_total_count,
        }
    }

    fn single_stream(&mut self, request: &TestSettings, qsl_performance_count: u64) {
        self.target_qps = 1e9 / request.single_stream_expected_latency_ns;
        self.target_latency_percentile = request.single_stream_target_latency_percentile;
        if self.sample_concatenate_permutation {
            // LoadGen takes the library's count here, not the override, and adds a full round to a multiple.
            let expected = (2.0 * (self.target_duration_ms as f64 / 1000.0)) * self.target_qps;
            let count = self.min_query_count.max(expected as u64);
            self.min_query_count =
                count.saturating_add(qsl_performance_count - count % qsl_performance_count);
        }
    }

    fn multi_stream(&mut self, request: &TestSettings) {
        self.target_qps = 1e9 / request.multi_stream_expected_latency_ns;
        self.target_latency_percentile = request.multi_stream_target_latency_percentile;
        self.samples_per_query = request.multi_stream_samples_per_query;
        if self.rules.has_intervals {
            let interval_ns = (request.multi_stream_interval_ms * 1e6).round() as u64;
            self.interval_ns = Some(interval_ns);
            self.target_qps = 1e9 / interval_ns as f64;
            self.target_latency_ns = interval_ns;
        }
    }

    fn server(&mut self, request: &TestSettings) {
        self.target_qps = request.server_target_qps;
        self.target_latency_ns = request.server_target_latency_ns;
        self.target_latency_percentile = request.server_target_latency_percentile;
        self.max_async_queries = request.server_max_async_queries;
        self.issuer_count = request.server_num_issue_query_threads.max(1);
    }

    fn offline(&mut self, request: &TestSettings) {
        self.target_qps = request.offline_expected_qps;
        let target_samples = (1.1 * (self.min_duration_ms as f64 / 1000.0)) * self.target_qps;
        self.samples_per_query = if self.performance_issue_unique {
            self.performance_sample_count
        } else {
            self.min_query_count.max(target_samples as u64)
        };
        self.min_query_count = 1;
        self.target_duration_ms = 0;
    }

    /// LoadGen's own checks, which are logged only.
    pub(super) fn contradictions(&self) -> Vec<String> {
        let mut errors = Vec::new();
        if self.performance_issue_same && self.performance_issue_same_index >= self.performance_sample_count {
            errors.push(format!(
                "Sample Idx to be repeated in performance_issue_same mode cannot be greater than loaded performance_sample_count. performance_issue_same_index: {} performance_sample_count: {}",
                self.performance_issue_same_index, self.performance_sample_count
            ));
        }
        if self.performance_issue_unique && self.performance_issue_same {
            errors.push(
                "Performance_issue_unique and performance_issue_same, both cannot be true at the same time. performance_issue_unique: 1 performance_issue_same: 1"
                    .to_owned(),
            );
        }
        errors
    }
}

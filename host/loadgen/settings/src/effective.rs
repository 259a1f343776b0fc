//! The settings that apply: the request, completed by the scenario's rules and the library's counts, and checked.

mod arrivals;
pub(crate) mod check;

use proctor_vocabulary::{Scenario, TestMode};

use crate::{arrivals::ArrivalProcess, test_settings::TestSettings};
use check::{SettingsError, check_library, check_ranges};

/// Settings as one test uses them: the request, adapted to the scenario and the library.
///
/// Source: LoadGen 6.0.17, `TestSettingsInternal`.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectiveSettings {
    /// The request with audit test 05 applied: everything that does not depend on the scenario or the library.
    pub request: TestSettings,
    /// MultiStream in a round with intervals: from one query to the next, in ns. `None` elsewhere.
    pub interval_ns: Option<u64>,
    /// Number of samples in each query; for Offline, in the one query.
    pub samples_per_query: u64,
    /// Number of queries per second that are expected or, for Server, sent.
    pub target_qps: f64,
    /// Latency bound of Server, and of MultiStream in a round with intervals; else 0.
    pub target_latency_ns: u64,
    /// Quantile of the latency that is reported, as a fraction.
    pub target_latency_percentile: f64,
    /// Number of outstanding queries at which a Server test ends early; 0 means no limit. Printed as 1 for the others.
    pub max_async_queries: u64,
    /// Duration of issuing. Offline has one query, hence 0.
    pub target_duration_ms: u64,
    /// Minimum number of queries of a valid run.
    pub min_query_count: u64,
    /// Minimum number of samples of a valid run.
    pub min_sample_count: u64,
    /// Number of samples of the performance set and of each accuracy set, before clamping to the library.
    pub performance_sample_count: u64,
    /// Number of samples of the accuracy run, before clamping to the library.
    pub accuracy_sample_count: u64,
    /// Number of issuing threads: in Server as requested, but at least one; else one.
    pub issuer_count: u64,
    /// Number of samples that the library loads at a time, as it reports.
    pub qsl_performance_count: u64,
    /// Number of samples in the library, as it reports.
    pub qsl_total_count: u64,
}

/// A contradiction in the settings that does not end a test. Displays as LoadGen's entry in the detail log, under
/// `error_invalid_test_settings`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Contradiction {
    /// The sample of `performance_issue_same` is not among those that are loaded.
    #[error(
        "Sample Idx to be repeated in performance_issue_same mode cannot be greater than loaded performance_sample_count. performance_issue_same_index: {index} performance_sample_count: {sample_count}"
    )]
    IssueSameIndex {
        /// The setting `performance_issue_same_index`.
        index: u64,
        /// Samples of the performance set.
        sample_count: u64,
    },
    /// The samples of a run should be both different and the same.
    #[error(
        "Performance_issue_unique and performance_issue_same, both cannot be true at the same time. performance_issue_unique: 1 performance_issue_same: 1"
    )]
    UniqueAndSame,
}

/// The cause of more queries in SingleStream with equal issue, `sample_concatenate_permutation`, than
/// `min_query_count` asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RaisedBy {
    /// Number of queries for twice `min_duration_ms`, if each takes the expected latency.
    ExpectedLatency {
        /// The setting `single_stream_expected_latency_ns`.
        ns: f64,
    },
    /// The permutations of the performance set are whole.
    WholePermutations,
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

    /// Returns the arrival process, if queries have arrivals and it differs from the rules'.
    #[must_use]
    pub fn other_arrivals(&self) -> Option<&ArrivalProcess> {
        Some(&self.arrivals)
            .filter(|process| self.scenario == Scenario::Server && **process != ArrivalProcess::Poisson)
    }
}

impl EffectiveSettings {
    /// Returns whether queries have scheduled instants, from which latency is measured: in Server, and in
    /// MultiStream at fixed intervals.
    #[must_use]
    pub fn has_schedule(&self) -> bool {
        self.request.scenario == Scenario::Server || self.interval_ns.is_some()
    }

    /// Derives the effective settings from a request and the two counts that the library reports.
    ///
    /// The contradictions returned beside are logged as errors but do not stop the run.
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
    ) -> Result<(Self, Vec<Contradiction>), SettingsError> {
        let request = request.clone().with_test05_applied();
        check_library(&request, qsl_performance_count, qsl_total_count)?;
        check_ranges(&request)?;

        // LoadGen replaces a count of 0 by the library's own.
        let or_library = |count: u64, reported: u64| if count == 0 { reported } else { count };
        let mut effective = Self {
            interval_ns: None,
            samples_per_query: 1,
            target_qps: 1.0,
            target_latency_ns: 0,
            target_latency_percentile: 0.99,
            max_async_queries: 1,
            target_duration_ms: request.min_duration_ms,
            min_query_count: request.min_query_count,
            min_sample_count: 0,
            performance_sample_count: or_library(
                request.performance_sample_count_override,
                qsl_performance_count,
            ),
            accuracy_sample_count: or_library(request.accuracy_sample_count_override, qsl_total_count),
            issuer_count: 1,
            qsl_performance_count,
            qsl_total_count,
            request,
        };
        match effective.request.scenario {
            Scenario::SingleStream => effective.single_stream(),
            Scenario::MultiStream => effective.multi_stream(),
            Scenario::Server => effective.server(),
            Scenario::Offline => effective.offline(),
        }
        effective.check_queries()?;
        effective.check_sizes()?;
        effective.check_issue_same()?;
        effective.min_sample_count = effective.min_query_count * effective.samples_per_query;
        let errors = effective.contradictions();
        Ok((effective, errors))
    }

    fn single_stream(&mut self) {
        self.target_qps = 1e9 / self.request.single_stream_expected_latency_ns;
        self.target_latency_percentile = self.request.single_stream_target_latency_percentile;
        let expected_latency_ns = self.request.single_stream_expected_latency_ns;
        self.min_query_count = self.fewest_queries(self.request.min_query_count, expected_latency_ns);
    }

    /// Returns the fewest queries of a run with these two settings in place of its own. The latency only counts in
    /// SingleStream with equal issue, which rounds up, too.
    #[must_use]
    pub fn fewest_queries(&self, min_query_count: u64, expected_latency_ns: f64) -> u64 {
        let request = &self.request;
        if request.scenario != Scenario::SingleStream || !request.sample_concatenate_permutation {
            return min_query_count;
        }
        let count = min_query_count.max(self.queries_for_permutations(expected_latency_ns));
        // LoadGen takes the library's count here, not the override, and adds a full round to a multiple.
        count.saturating_add(self.qsl_performance_count - count % self.qsl_performance_count)
    }

    /// Returns the queries for equal issue in SingleStream: the queries of twice the duration at the expected latency.
    fn queries_for_permutations(&self, expected_latency_ns: f64) -> u64 {
        let qps = 1e9 / expected_latency_ns;
        let expected = (2.0 * (self.request.min_duration_ms as f64 / 1000.0)) * qps;
        expected as u64
    }

    /// Returns the samples of Offline's query at this expected rate, before equal issue rounds them up.
    #[must_use]
    pub fn offline_sample_count(&self, expected_qps: f64) -> u64 {
        let target_samples = (1.1 * (self.request.min_duration_ms as f64 / 1000.0)) * expected_qps;
        self.request.min_query_count.max(target_samples as u64)
    }

    /// Returns the setting by which equal issue raised the number of SingleStream queries; `None` if it did not.
    #[must_use]
    pub fn raised_by_permutations(&self) -> Option<RaisedBy> {
        let request = &self.request;
        let is_raised = request.scenario == Scenario::SingleStream
            && request.sample_concatenate_permutation
            && self.min_query_count > request.min_query_count;
        let ns = request.single_stream_expected_latency_ns;
        is_raised.then(|| match self.queries_for_permutations(ns) > request.min_query_count {
            true => RaisedBy::ExpectedLatency { ns },
            false => RaisedBy::WholePermutations,
        })
    }

    fn multi_stream(&mut self) {
        self.target_qps = 1e9 / self.request.multi_stream_expected_latency_ns;
        self.target_latency_percentile = self.request.multi_stream_target_latency_percentile;
        self.samples_per_query = self.request.multi_stream_samples_per_query;
        if self.request.rules.has_intervals {
            let interval_ns = (self.request.multi_stream_interval_ms * 1e6).round() as u64;
            self.interval_ns = Some(interval_ns);
            self.target_qps = 1e9 / interval_ns as f64;
            self.target_latency_ns = interval_ns;
        }
    }

    fn server(&mut self) {
        self.target_qps = self.request.server_target_qps;
        self.target_latency_ns = self.request.server_target_latency_ns;
        self.target_latency_percentile = self.request.server_target_latency_percentile;
        self.max_async_queries = self.request.server_max_async_queries;
        self.issuer_count = self.request.server_num_issue_query_threads.max(1);
    }

    fn offline(&mut self) {
        self.target_qps = self.request.offline_expected_qps;
        self.samples_per_query = if self.request.performance_issue_unique {
            self.performance_sample_count
        } else {
            self.offline_sample_count(self.target_qps)
        };
        self.min_query_count = 1;
        self.target_duration_ms = 0;
    }

    /// Returns the contradictions that LoadGen itself checks for, and only logs.
    pub(super) fn contradictions(&self) -> Vec<Contradiction> {
        let (index, sample_count) =
            (self.request.performance_issue_same_index, self.performance_sample_count);
        let is_same = self.request.performance_issue_same;
        let outside = Contradiction::IssueSameIndex { index, sample_count };
        let outside = (is_same && index >= sample_count).then_some(outside);
        let both = (is_same && self.request.performance_issue_unique).then_some(Contradiction::UniqueAndSame);
        outside.into_iter().chain(both).collect()
    }
}

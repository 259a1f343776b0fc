//! Warnings about settings that seem to request more than LoadGen does.

use proctor_vocabulary::{Scenario, TestMode};

use crate::{
    arrivals::ArrivalProcess,
    effective::{EffectiveSettings, RaisedBy},
};

/// An accuracy run that is paced for longer than this deserves a word, in seconds.
const LONG_ACCURACY_RUN_S: f64 = 3600.0;

impl EffectiveSettings {
    /// Returns everything that a user should know before the run: settings without effect, ambiguous
    /// settings, and settings with which the run cannot become VALID. Nothing of it changes the run. Empty
    /// for settings by the rules.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings: Vec<_> = self.contradictions().iter().map(ToString::to_string).collect();
        warnings.extend(self.without_effect());
        let processors = std::thread::available_parallelism().ok();
        warnings.extend(processors.and_then(|count| self.more_issuers_than(count.get() as u64)));
        if self.request.mode != TestMode::AccuracyOnly {
            warnings.extend(self.limits());
            warnings.extend(self.part_of_a_period());
        }
        if matches!(self.request.mode, TestMode::AccuracyOnly | TestMode::SubmissionRun) {
            warnings.extend(self.long_accuracy_run());
        }
        warnings
    }

    fn without_effect(&self) -> Vec<String> {
        let request = &self.request;
        let mut warnings = Vec::new();
        let mut tell = |is_so: bool, text: String| warnings.extend(is_so.then_some(text));
        let scenario = self.request.scenario;
        for (key, is_set) in [
            ("arrivals", request.arrivals != ArrivalProcess::Poisson),
            ("server_coalesce_queries", request.server_coalesce_queries),
            ("server_max_async_queries", request.server_max_async_queries != 0),
            ("server_num_issue_query_threads", request.server_num_issue_query_threads != 0),
        ] {
            let is_idle = is_set && scenario != Scenario::Server;
            tell(is_idle, format!("{key} has no effect in {scenario}"));
        }
        for (key, limit) in
            [("max_query_count", request.max_query_count), ("max_duration_ms", request.max_duration_ms)]
        {
            let is_idle = limit != 0 && scenario == Scenario::Offline;
            tell(is_idle, format!("{key} has no effect in Offline, which has one query"));
        }
        let infers = self.request.infer_token_latencies;
        let can_infer = matches!(scenario, Scenario::Server | Scenario::Offline);
        tell(infers && !can_infer, format!("infer_token_latencies has no effect in {scenario}"));
        tell(
            infers && can_infer && self.request.token_latency_scaling_factor == 0,
            "infer_token_latencies makes 0 tokens per second of everything: set token_latency_scaling_factor"
                .to_owned(),
        );
        tell(
            self.request.accuracy_log_sampling_target > 0 && self.request.accuracy_log_probability > 0.0,
            "accuracy_log_probability has no effect: accuracy_log_sampling_target replaces it".to_owned(),
        );
        tell(
            !self.request.performance_issue_same && self.request.performance_issue_same_index != 0,
            "performance_issue_same_index has no effect without performance_issue_same".to_owned(),
        );
        for (key, count) in [
            ("performance_sample_count_override", request.performance_sample_count_override),
            ("accuracy_sample_count_override", request.accuracy_sample_count_override),
        ] {
            let total = self.qsl_total_count;
            tell(
                count > total,
                format!("{key} = {count} is more than the library has: {total} samples are used"),
            );
        }
        warnings
    }

    /// Warns that an issuing thread waits awake, at least for the last moment before each query.
    fn more_issuers_than(&self, processor_count: u64) -> Option<String> {
        let issuer_count = self.issuer_count;
        (issuer_count > 1 && issuer_count > processor_count).then(|| {
            format!(
                "server_num_issue_query_threads = {issuer_count} is more than the {processor_count} processors there are: \
                 the threads take turns, and issue late"
            )
        })
    }

    /// Returns the limits below the run's requirements. Offline has one query, which always ends naturally.
    fn limits(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let mut tell = |key: &str, limit: u64, least_key: &str, least: u64, requested: u64| {
            if self.request.scenario != Scenario::Offline && limit != 0 && limit < least {
                let by = "by sample_concatenate_permutation";
                let raised = match self.raised_by_permutations().filter(|_| requested != least) {
                    None => String::new(),
                    Some(RaisedBy::WholePermutations) => format!(", raised from {requested} {by}"),
                    Some(RaisedBy::ExpectedLatency { ns }) => format!(
                        ", raised from {requested} {by} to twice min_duration_ms at \
                         single_stream_expected_latency_ns = {ns}"
                    ),
                };
                warnings.push(format!(
                    "{key} = {limit} is below {least_key} = {least}{raised}: the run ends early with an error, and is \
                     INVALID"
                ));
            }
        };
        let request = &self.request;
        let (min_queries, min_duration_ms) = (request.min_query_count, request.min_duration_ms);
        tell(
            "max_query_count",
            request.max_query_count,
            "min_query_count",
            self.min_query_count,
            min_queries,
        );
        tell("max_duration_ms", request.max_duration_ms, "min_duration_ms", min_duration_ms, min_duration_ms);
        warnings
    }

    /// Returns a run that ends within the first period has another mean rate than the requested one.
    fn part_of_a_period(&self) -> Option<String> {
        let request = &self.request;
        let ArrivalProcess::Diurnal { period_s, .. } = request.arrivals else { return None };
        let for_queries_s = request.min_query_count as f64 / self.target_qps;
        let run_s = (request.min_duration_ms as f64 / 1e3).max(for_queries_s);
        (request.scenario == Scenario::Server && run_s < period_s).then(|| {
            format!(
                "arrivals_period_s = {period_s} is longer than the run of about {run_s:.1} s, whose mean rate is not \
                 server_target_qps then"
            )
        })
    }

    /// Warns about a long accuracy run of Server, which LoadGen paces, too.
    fn long_accuracy_run(&self) -> Option<String> {
        let sample_count = self.accuracy_sample_count.min(self.qsl_total_count);
        let duration_s = sample_count as f64 / self.target_qps;
        (self.request.scenario == Scenario::Server && duration_s > LONG_ACCURACY_RUN_S).then(|| {
            format!(
                "the accuracy run issues its {sample_count} samples at server_target_qps = {}, too: about {:.1} h",
                self.target_qps,
                duration_s / 3600.0
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_settings::TestSettings;

    fn warnings(request: TestSettings) -> Vec<String> {
        let (effective, errors) = EffectiveSettings::new(&request, 100, 50_000).unwrap();
        let warnings = effective.warnings();
        assert!(errors.iter().all(|error| warnings.contains(&error.to_string())));
        warnings
    }

    #[test]
    fn the_defaults_need_no_word() {
        for scenario in Scenario::ALL {
            for mode in [TestMode::PerformanceOnly, TestMode::AccuracyOnly] {
                let request = TestSettings {
                    scenario: *scenario,
                    mode,
                    server_target_qps: 100.0,
                    ..TestSettings::default()
                };
                assert_eq!(warnings(request), [""; 0], "{scenario} {mode}");
            }
        }
    }

    #[test]
    fn settings_without_effect_are_told() {
        let request = TestSettings {
            scenario: Scenario::MultiStream,
            arrivals: ArrivalProcess::Constant,
            server_coalesce_queries: true,
            server_max_async_queries: 5,
            infer_token_latencies: true,
            accuracy_log_probability: 0.5,
            accuracy_log_sampling_target: 5,
            performance_issue_same_index: 1,
            performance_sample_count_override: 60_000,
            ..TestSettings::default()
        };
        assert_eq!(
            warnings(request),
            [
                "arrivals has no effect in MultiStream",
                "server_coalesce_queries has no effect in MultiStream",
                "server_max_async_queries has no effect in MultiStream",
                "infer_token_latencies has no effect in MultiStream",
                "accuracy_log_probability has no effect: accuracy_log_sampling_target replaces it",
                "performance_issue_same_index has no effect without performance_issue_same",
                "performance_sample_count_override = 60000 is more than the library has: 50000 samples are used",
            ]
        );
    }

    #[test]
    fn more_issuing_threads_than_processors_are_told() {
        let settings = |scenario, server_num_issue_query_threads| {
            let request =
                TestSettings { scenario, server_num_issue_query_threads, ..TestSettings::default() };
            EffectiveSettings::new(&request, 100, 100).unwrap().0
        };
        let text = settings(Scenario::Server, 3).more_issuers_than(2).unwrap();
        assert!(
            text.starts_with("server_num_issue_query_threads = 3 is more than the 2 processors"),
            "{text}"
        );
        assert_eq!(settings(Scenario::Server, 2).more_issuers_than(2), None);
        assert_eq!(settings(Scenario::Server, 0).more_issuers_than(0), None);
        assert_eq!(settings(Scenario::Offline, 9).more_issuers_than(2), None);
    }

    #[test]
    fn limits_that_make_a_run_invalid_are_told() {
        let request = TestSettings {
            scenario: Scenario::Server,
            max_query_count: 99,
            max_duration_ms: 9_999,
            infer_token_latencies: true,
            ..TestSettings::default()
        };
        assert_eq!(
            warnings(request.clone()),
            [
                "infer_token_latencies makes 0 tokens per second of everything: set token_latency_scaling_factor",
                "max_query_count = 99 is below min_query_count = 100: the run ends early with an error, and is INVALID",
                "max_duration_ms = 9999 is below min_duration_ms = 10000: the run ends early with an error, and is \
                 INVALID",
            ]
        );
        let scenario = Scenario::Offline;
        assert_eq!(
            warnings(TestSettings { scenario, token_latency_scaling_factor: 1, ..request }),
            [
                "max_query_count has no effect in Offline, which has one query",
                "max_duration_ms has no effect in Offline, which has one query",
            ]
        );
    }

    #[test]
    fn a_count_that_was_raised_is_told_with_what_raised_it() {
        let request = TestSettings {
            scenario: Scenario::SingleStream,
            min_query_count: 100,
            max_query_count: 100,
            min_duration_ms: 0,
            sample_concatenate_permutation: true,
            ..TestSettings::default()
        };
        // The library of these tests loads 100 samples, and a full round is added to a multiple.
        assert_eq!(
            warnings(request),
            ["max_query_count = 100 is below min_query_count = 200, raised from 100 by \
              sample_concatenate_permutation: the run ends early with an error, and is INVALID"]
        );
        let request = TestSettings {
            scenario: Scenario::SingleStream,
            min_query_count: 100,
            max_query_count: 2000,
            min_duration_ms: 2000,
            sample_concatenate_permutation: true,
            ..TestSettings::default()
        };
        assert_eq!(
            warnings(request),
            ["max_query_count = 2000 is below min_query_count = 4100, raised from 100 by \
                 sample_concatenate_permutation to twice min_duration_ms at single_stream_expected_latency_ns = \
                 1000000: the run ends early with an error, and is INVALID"]
        );
    }

    #[test]
    fn a_run_shorter_than_a_day_of_its_arrivals_is_told() {
        let of = |scenario, min_query_count| {
            let arrivals = ArrivalProcess::Diurnal { period_s: 60.0, amplitude: 0.5 };
            warnings(TestSettings { scenario, arrivals, min_query_count, ..TestSettings::default() })
        };
        let text = "arrivals_period_s = 60 is longer than the run of about 10.0 s, whose mean rate is not \
                    server_target_qps then";
        assert_eq!(of(Scenario::Server, 1), [text]);
        assert_eq!(of(Scenario::Server, 60), [""; 0]);
        assert_eq!(of(Scenario::Offline, 1), ["arrivals has no effect in Offline"]);
    }

    #[test]
    fn contradictions_and_long_accuracy_runs_are_told() {
        let request = TestSettings {
            scenario: Scenario::Server,
            mode: TestMode::AccuracyOnly,
            performance_issue_unique: true,
            performance_issue_same: true,
            ..TestSettings::default()
        };
        let warnings = warnings(request);
        assert!(
            warnings[0].starts_with("Performance_issue_unique and performance_issue_same"),
            "{warnings:?}"
        );
        assert_eq!(
            warnings[1],
            "the accuracy run issues its 50000 samples at server_target_qps = 1, too: about 13.9 h"
        );
    }
}

//! The part of the detail log about settings: as requested and as they took effect.

use proctor_loadgen_settings::{EffectiveSettings, TestSettings};
use proctor_vocabulary::Scenario;

use super::detail::DetailLog;

/// Bounds of a run, as requested.
const BOUNDS: &[&str] = &["min_duration_ms", "max_duration_ms", "min_query_count", "max_query_count"];

/// Settings that take effect as requested.
const AS_REQUESTED: &[&str] = &[
    "qsl_rng_seed",
    "sample_index_rng_seed",
    "schedule_rng_seed",
    "accuracy_log_rng_seed",
    "accuracy_log_probability",
    "accuracy_log_sampling_target",
    "print_timestamps",
    "performance_issue_unique",
    "performance_issue_same",
    "performance_issue_same_index",
];

/// The last of the settings that every scenario logs, as requested.
const SETS: &[&str] = &[
    "performance_sample_count_override",
    "accuracy_sample_count_override",
    "sample_concatenate_permutation",
];

/// The further settings of a token run; Offline has only the first of them.
const REQUESTED_OF_TOKENS: &[&str] = &["use_token_latencies", "server_ttft_latency", "server_tpot_latency"];

/// Returns the scenario-specific settings that are logged.
fn requested_of(scenario: Scenario) -> &'static [&'static str] {
    match scenario {
        Scenario::SingleStream => {
            &["single_stream_expected_latency_ns", "single_stream_target_latency_percentile"]
        }
        Scenario::MultiStream => &[
            "multi_stream_expected_latency_ns",
            "multi_stream_target_latency_percentile",
            "multi_stream_samples_per_query",
        ],
        Scenario::Server => &[
            "server_target_qps",
            "server_target_latency_ns",
            "server_target_latency_percentile",
            "server_coalesce_queries",
            "server_find_peak_qps_decimals_of_precision",
            "server_find_peak_qps_boundary_step_size",
            "server_max_async_queries",
            "server_num_issue_query_threads",
        ],
        Scenario::Offline => &["offline_expected_qps"],
    }
}

impl DetailLog {
    /// Appends the request, after the changes by test 05.
    pub fn requested(&mut self, time_ns: u64, request: &TestSettings) {
        self.entry(time_ns, "requested_scenario", request.scenario);
        self.entry(time_ns, "requested_test_mode", request.mode);
        let of_tokens = match (request.use_token_latencies, request.scenario) {
            (false, _) => &[][..],
            (true, Scenario::Offline) => &REQUESTED_OF_TOKENS[..1],
            (true, _) => REQUESTED_OF_TOKENS,
        };
        let of_scenario = requested_of(request.scenario);
        self.named(time_ns, "requested", request, [of_scenario, BOUNDS, AS_REQUESTED, SETS, of_tokens]);
        self.requested_round(time_ns, request);
        self.arrivals(time_ns, "requested", request);
    }

    /// Appends settings of the request by their names.
    fn named<const N: usize>(
        &mut self,
        time_ns: u64,
        prefix: &str,
        request: &TestSettings,
        names: [&[&str]; N],
    ) {
        for name in names.into_iter().flatten() {
            let value = request.get(name).expect("the lists name fields of the settings");
            self.entry(time_ns, format!("{prefix}_{name}"), value);
        }
    }

    /// Appends the effective settings.
    pub fn effective(&mut self, time_ns: u64, settings: &EffectiveSettings) {
        let request = &settings.request;
        self.entry(time_ns, "effective_scenario", request.scenario);
        self.entry(time_ns, "effective_test_mode", request.mode);
        self.entry(time_ns, "effective_samples_per_query", settings.samples_per_query);
        self.entry(time_ns, "effective_target_qps", settings.target_qps);
        self.entry(time_ns, "effective_target_latency_ns", settings.target_latency_ns);
        self.entry(time_ns, "effective_target_latency_percentile", settings.target_latency_percentile);
        self.entry(time_ns, "effective_max_async_queries", settings.max_async_queries);
        self.entry(time_ns, "effective_target_duration_ms", settings.target_duration_ms);
        self.entry(time_ns, "effective_min_duration_ms", request.min_duration_ms);
        self.entry(time_ns, "effective_max_duration_ms", request.max_duration_ms);
        self.entry(time_ns, "effective_min_query_count", settings.min_query_count);
        self.entry(time_ns, "effective_max_query_count", request.max_query_count);
        self.entry(time_ns, "effective_min_sample_count", settings.min_sample_count);
        self.named(time_ns, "effective", request, [AS_REQUESTED]);
        self.entry(time_ns, "effective_performance_sample_count", settings.performance_sample_count);
        self.entry(time_ns, "effective_accuracy_sample_count", settings.accuracy_sample_count);
        self.named(time_ns, "effective", request, [&["sample_concatenate_permutation"]]);
        self.effective_round(time_ns, settings);
        self.arrivals(time_ns, "effective", request);
    }
}

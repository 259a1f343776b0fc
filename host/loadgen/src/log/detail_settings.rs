//! The part of the detail log about settings: as requested and as they took effect.

use proctor_vocabulary::Scenario;

use super::detail::DetailLog;
use crate::settings::{effective::EffectiveSettings, test_settings::TestSettings};

const REQUESTED_OF_ALL: &[&str] = &[
    "min_duration_ms",
    "max_duration_ms",
    "min_query_count",
    "max_query_count",
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
    "performance_sample_count_override",
    "accuracy_sample_count_override",
    "sample_concatenate_permutation",
];

/// The further settings of a token run; Offline has only the first of them.
const REQUESTED_OF_TOKENS: &[&str] = &["use_token_latencies", "server_ttft_latency", "server_tpot_latency"];

/// Which settings of its own a scenario logs.
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
    /// Appends the request, after what test 05 changes in it.
    pub fn requested(&mut self, time_ns: u64, request: &TestSettings) {
        self.entry(time_ns, "requested_scenario", request.scenario);
        self.entry(time_ns, "requested_test_mode", request.mode);
        let of_tokens = match (request.use_token_latencies, request.scenario) {
            (false, _) => &[],
            (true, Scenario::Offline) => &REQUESTED_OF_TOKENS[..1],
            (true, _) => REQUESTED_OF_TOKENS,
        };
        for name in requested_of(request.scenario).iter().chain(REQUESTED_OF_ALL).chain(of_tokens) {
            let value = request.get(name).expect("the lists above name fields of the settings");
            self.entry(time_ns, format!("requested_{name}"), value);
        }
        self.requested_round(time_ns, request);
    }

    /// Appends what took effect.
    pub fn effective(&mut self, time_ns: u64, settings: &EffectiveSettings) {
        macro_rules! entries {
            ($($key:literal => $field:ident,)+) => {
                $(self.entry(time_ns, concat!("effective_", $key), settings.$field);)+
            };
        }
        entries! {
            "scenario" => scenario,
            "test_mode" => mode,
            "samples_per_query" => samples_per_query,
            "target_qps" => target_qps,
            "target_latency_ns" => target_latency_ns,
            "target_latency_percentile" => target_latency_percentile,
            "max_async_queries" => max_async_queries,
            "target_duration_ms" => target_duration_ms,
            "min_duration_ms" => min_duration_ms,
            "max_duration_ms" => max_duration_ms,
            "min_query_count" => min_query_count,
            "max_query_count" => max_query_count,
            "min_sample_count" => min_sample_count,
            "qsl_rng_seed" => qsl_rng_seed,
            "sample_index_rng_seed" => sample_index_rng_seed,
            "schedule_rng_seed" => schedule_rng_seed,
            "accuracy_log_rng_seed" => accuracy_log_rng_seed,
            "accuracy_log_probability" => accuracy_log_probability,
            "accuracy_log_sampling_target" => accuracy_log_sampling_target,
            "print_timestamps" => print_timestamps,
            "performance_issue_unique" => performance_issue_unique,
            "performance_issue_same" => performance_issue_same,
            "performance_issue_same_index" => performance_issue_same_index,
            "performance_sample_count" => performance_sample_count,
            "accuracy_sample_count" => accuracy_sample_count,
            "sample_concatenate_permutation" => sample_concatenate_permutation,
        }
        self.effective_round(time_ns, settings);
    }
}

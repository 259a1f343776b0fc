//! `TestSettings`: an attribute for each setting, and LoadGen's configuration files.

use std::fs;

use proctor_loadgen::{
    TestSettings as Request,
    config_file::{BUILTIN, ConfigFileKind, LogError, apply_named},
};
use proctor_vocabulary::Scenario;
use pyo3::prelude::*;

use super::{
    arguments::{Float, Signed, Switch, Text, Unsigned},
    enums::{TestMode, TestScenario},
};

/// LoadGen's result of `FromConfig` for a file that cannot be opened: ENOENT.
const NOT_FOUND: i32 = -2;
/// LoadGen's result of `FromConfig` for a file with a line in error: EINVAL.
const INVALID: i32 = -22;

/// Default of `watchdog_ms`. Harnesses that ran for years without such a limit may take minutes for a batch.
const WATCHDOG_MS: u64 = 600_000;
/// Default of `response_arena_bytes`. LoadGen knows no limit, and harnesses log whole images.
const RESPONSE_ARENA_BYTES: u64 = 64 << 20;

macro_rules! settings {
    ($($attribute:ident = $field:ident: $type:ident;)+) => {
        /// Request of a test, with LoadGen's names and defaults, and two settings of this load generator.
        #[pyclass(module = "proctor.mlperf_loadgen")]
        #[derive(Debug)]
        pub(crate) struct TestSettings {
            #[pyo3(get, set)]
            scenario: TestScenario,
            #[pyo3(get, set)]
            mode: TestMode,
            /// Time without any completion after which a test is given up, in ms; 0 never gives up.
            #[pyo3(get, set)]
            watchdog_ms: Unsigned,
            /// Memory for the responses that a performance run logs.
            #[pyo3(get, set)]
            response_arena_bytes: Unsigned,
            $(#[pyo3(get, set)] $attribute: $type,)+
            /// Number of calls of `FromConfig` for a `user.conf`.
            user_file_count: u64,
            /// Errors of the configuration files, which open the detail log.
            config_errors: Vec<LogError>,
        }

        impl TestSettings {
            /// Returns the request as the load generator takes it.
            pub(super) fn request(&self) -> Request {
                Request {
                    scenario: self.scenario.into(),
                    mode: self.mode.into(),
                    $($field: self.$attribute.0,)+
                    ..Request::default()
                }
            }

            /// Takes what a configuration file may have changed.
            fn take(&mut self, request: &Request) {
                self.mode = request.mode.into();
                $(self.$attribute = $type(request.$field);)+
            }

            fn of(request: &Request) -> Self {
                Self {
                    scenario: TestScenario::SingleStream,
                    mode: request.mode.into(),
                    watchdog_ms: Unsigned(WATCHDOG_MS),
                    response_arena_bytes: Unsigned(RESPONSE_ARENA_BYTES),
                    $($attribute: $type(request.$field),)+
                    user_file_count: 0,
                    config_errors: Vec::new(),
                }
            }
        }
    };
}

settings! {
    single_stream_expected_latency_ns = single_stream_expected_latency_ns: Float;
    single_stream_target_latency_percentile = single_stream_target_latency_percentile: Float;
    multi_stream_expected_latency_ns = multi_stream_expected_latency_ns: Float;
    multi_stream_target_latency_percentile = multi_stream_target_latency_percentile: Float;
    multi_stream_samples_per_query = multi_stream_samples_per_query: Unsigned;
    server_target_qps = server_target_qps: Float;
    server_target_latency_ns = server_target_latency_ns: Unsigned;
    server_target_latency_percentile = server_target_latency_percentile: Float;
    server_coalesce_queries = server_coalesce_queries: Switch;
    server_find_peak_qps_decimals_of_precision = server_find_peak_qps_decimals_of_precision: Signed;
    server_find_peak_qps_boundary_step_size = server_find_peak_qps_boundary_step_size: Float;
    server_max_async_queries = server_max_async_queries: Unsigned;
    server_num_issue_query_threads = server_num_issue_query_threads: Unsigned;
    offline_expected_qps = offline_expected_qps: Float;
    sample_concatenate_permutation = sample_concatenate_permutation: Switch;
    min_duration_ms = min_duration_ms: Unsigned;
    max_duration_ms = max_duration_ms: Unsigned;
    min_query_count = min_query_count: Unsigned;
    max_query_count = max_query_count: Unsigned;
    qsl_rng_seed = qsl_rng_seed: Unsigned;
    sample_index_rng_seed = sample_index_rng_seed: Unsigned;
    schedule_rng_seed = schedule_rng_seed: Unsigned;
    accuracy_log_rng_seed = accuracy_log_rng_seed: Unsigned;
    accuracy_log_probability = accuracy_log_probability: Float;
    accuracy_log_sampling_target = accuracy_log_sampling_target: Unsigned;
    test05 = test05: Switch;
    test05_qsl_rng_seed = test05_qsl_rng_seed: Unsigned;
    test05_sample_index_rng_seed = test05_sample_index_rng_seed: Unsigned;
    test05_schedule_rng_seed = test05_schedule_rng_seed: Unsigned;
    print_timestamps = print_timestamps: Switch;
    performance_issue_unique = performance_issue_unique: Switch;
    performance_issue_same = performance_issue_same: Switch;
    performance_issue_same_index = performance_issue_same_index: Unsigned;
    performance_sample_count_override = performance_sample_count_override: Unsigned;
    accuracy_sample_count_override = accuracy_sample_count_override: Unsigned;
    use_token_latencies = use_token_latencies: Switch;
    ttft_latency = server_ttft_latency: Unsigned;
    tpot_latency = server_tpot_latency: Unsigned;
    infer_token_latencies = infer_token_latencies: Switch;
    token_latency_scaling_factor = token_latency_scaling_factor: Unsigned;
}

impl TestSettings {
    pub(super) fn watchdog_ms(&self) -> u64 {
        match self.watchdog_ms.0 {
            0 => u64::MAX,
            limit_ms => limit_ms,
        }
    }

    pub(super) fn response_arena_bytes(&self) -> u64 {
        self.response_arena_bytes.0
    }

    pub(super) fn config_errors(&self) -> Vec<LogError> {
        self.config_errors.clone()
    }

    /// Applies a text, and returns LoadGen's code.
    fn apply(&mut self, text: &str, kind: ConfigFileKind, model: &str, scenario: &str) -> i32 {
        let mut request = self.request();
        // Only LoadGen minds the case of a scenario's name.
        let scenario = scenario.parse::<Scenario>().map_or(scenario, |known| known.name());
        let result = apply_named(text, kind, model, scenario, &mut request);
        self.take(&request);
        self.config_errors.extend(LogError::of(&result));
        if result.is_ok() { 0 } else { INVALID }
    }
}

#[pymethods]
impl TestSettings {
    #[new]
    fn new() -> Self {
        Self::of(&Request::default())
    }

    /// FromConfig(path, model, scenario, conf_type=1) -> int
    ///
    /// Applies a configuration file: 0, or -2 if it cannot be opened, or -22 if a line is in error. The first
    /// user.conf (conf_type 1) of these settings is preceded by the built-in mlperf.conf; conf_type 0 is that alone.
    #[pyo3(name = "FromConfig", signature = (path, model, scenario, conf_type = Signed(1)))]
    fn configure(&mut self, path: Text, model: Text, scenario: Text, conf_type: Signed) -> i32 {
        let kind = match conf_type.0 {
            0 => return self.apply(BUILTIN, ConfigFileKind::Builtin, &model.0, &scenario.0),
            1 => ConfigFileKind::User,
            _ => ConfigFileKind::Other,
        };
        if kind == ConfigFileKind::User {
            self.user_file_count += 1;
            if self.user_file_count > 1 {
                self.config_errors.push(LogError::RepeatedUserFile);
            } else {
                self.apply(BUILTIN, ConfigFileKind::Builtin, &model.0, &scenario.0);
            }
        }
        // LoadGen compares bytes; what is not UTF-8 can be part of an unknown key at most.
        match fs::read(path.path()) {
            Ok(bytes) => self.apply(&String::from_utf8_lossy(&bytes), kind, &model.0, &scenario.0),
            Err(_) => {
                self.config_errors.push(LogError::Unreadable(path.path()));
                NOT_FOUND
            }
        }
    }
}

//! The request: every setting of a test, with LoadGen's names and defaults.
//!
//! One macro makes the struct, its defaults and its metadata from one table, so a field cannot exist without its
//! name, kind, unit and help being known to the configuration layer.

use proctor_vocabulary::{Scenario, TestMode, did_you_mean};

use crate::{
    arrivals::ArrivalProcess,
    rules::Rules,
    value::{Setting, SettingError, SettingKind, SettingValue},
};

/// Metadata of one field of [`TestSettings`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldInfo {
    /// The field's name, as LoadGen spells it.
    pub name: &'static str,
    /// The kind of its values.
    pub kind: SettingKind,
    /// Unit of the value, empty for counts, switches and names.
    pub unit: &'static str,
    /// Meaning of the field.
    pub help: &'static str,
}

macro_rules! test_settings {
    ($($(#[doc = $help:literal])+ $name:ident: $type:ident = $default:expr, $unit:literal;)+) => {
        /// Request: everything that a test is asked to do. Field names, units and defaults are LoadGen's,
        /// except for `arrivals`, and for `rules` and `multi_stream_interval_ms`, which it no longer has.
        ///
        /// A plain value: nothing is checked here. [`EffectiveSettings::new`](crate::EffectiveSettings::new) checks
        /// it and derives what really applies.
        ///
        /// Source: LoadGen 6.0.17, `test_settings.h`.
        #[derive(Debug, Clone, PartialEq)]
        pub struct TestSettings {
            $($(#[doc = $help])+ pub $name: $type,)+
            /// Server: how queries are spread over time. It has parameters, so it is not a field with a value, and
            /// neither in [`FIELDS`](Self::FIELDS) nor in LoadGen's files.
            pub arrivals: ArrivalProcess,
        }

        impl Default for TestSettings {
            fn default() -> Self {
                Self { $($name: $default,)+ arrivals: ArrivalProcess::Poisson }
            }
        }

        impl TestSettings {
            /// All fields that have their own value, in the order of their declaration.
            pub const FIELDS: &'static [FieldInfo] = &[$(FieldInfo {
                name: stringify!($name),
                kind: <$type as Setting>::KIND,
                unit: $unit,
                help: concat!($($help),+).trim_ascii(),
            }),+];

            /// Returns the value of the field called `name`, or `None` if there is no such field.
            #[must_use]
            pub fn get(&self, name: &str) -> Option<SettingValue> {
                match name {
                    $(stringify!($name) => Some(self.$name.into_value()),)+
                    _ => None,
                }
            }

            /// Gives the field called `name` a value. Integers are accepted for floats.
            ///
            /// # Errors
            /// [`SettingError::UnknownField`] if there is no such field, [`SettingError::WrongKind`] if it does not
            /// take such a value. The settings are unchanged then.
            pub fn set(&mut self, name: &str, value: SettingValue) -> Result<(), SettingError> {
                match name {
                    $(stringify!($name) => self.$name = Setting::from_value(stringify!($name), value)?,)+
                    _ => {
                        let hint = did_you_mean(name, Self::FIELDS.iter().map(|field| field.name));
                        return Err(SettingError::UnknownField { name: name.to_owned(), hint });
                    }
                }
                Ok(())
            }
        }
    };
}

test_settings! {
    /// How queries arrive and what is measured.
    scenario: Scenario = Scenario::SingleStream, "";
    /// Accuracy, performance, both, or the search for the highest rate.
    mode: TestMode = TestMode::PerformanceOnly, "";
    /// Round of the MLPerf rules to run and judge by.
    rules: Rules = Rules::default(), "";
    /// SingleStream: expected latency of a query; decides how many queries are generated.
    single_stream_expected_latency_ns: f64 = 1_000_000.0, "ns";
    /// SingleStream: quantile to report, which early stopping estimates.
    single_stream_target_latency_percentile: f64 = 0.90, "fraction";
    /// MultiStream: expected latency of a query; decides how many queries are generated.
    multi_stream_expected_latency_ns: f64 = 8_000_000.0, "ns";
    /// MultiStream: quantile of the query latency to report, which early stopping estimates.
    multi_stream_target_latency_percentile: f64 = 0.99, "fraction";
    /// MultiStream: samples in each query.
    multi_stream_samples_per_query: u64 = 8, "";
    /// MultiStream at fixed intervals: time from one query to the next, and the latency bound of each.
    multi_stream_interval_ms: f64 = 50.0, "ms";
    /// Server: mean rate of the arrivals; where the search for the peak starts.
    server_target_qps: f64 = 1.0, "1/s";
    /// Server: latency bound.
    server_target_latency_ns: u64 = 100_000_000, "ns";
    /// Server: share of the samples that must meet the latency bound.
    server_target_latency_percentile: f64 = 0.99, "fraction";
    /// Server: merge overdue queries into one issue call.
    server_coalesce_queries: bool = false, "";
    /// Server, peak search: decimals of the rate at which the search stops.
    server_find_peak_qps_decimals_of_precision: i32 = 1, "";
    /// Server, peak search: the upper bound grows by the factor 1 + step.
    server_find_peak_qps_boundary_step_size: f64 = 1.0, "";
    /// Server: outstanding queries at which the test ends early; 0 means no limit.
    server_max_async_queries: u64 = 0, "";
    /// Server: number of issuing threads, including the one that runs the test; 0 means that one alone.
    server_num_issue_query_threads: u64 = 0, "";
    /// Offline: expected throughput; decides the size of the one query.
    offline_expected_qps: f64 = 1.0, "1/s";
    /// Equal issue: draw samples from concatenated permutations of the loaded set.
    sample_concatenate_permutation: bool = false, "";
    /// Shortest valid duration; also decides how many queries are generated.
    min_duration_ms: u64 = 10_000, "ms";
    /// Duration at which issuing ends early; 0 means no limit.
    max_duration_ms: u64 = 0, "ms";
    /// Minimum number of queries of a valid run; for Offline, of samples.
    min_query_count: u64 = 100, "";
    /// Number of queries at which issuing ends early; 0 means no limit.
    max_query_count: u64 = 0, "";
    /// Seed of the order and partition of the library.
    qsl_rng_seed: u64 = 0, "";
    /// Seed of the choice of loaded samples for queries.
    sample_index_rng_seed: u64 = 0, "";
    /// Server: seed of the arrival times.
    schedule_rng_seed: u64 = 0, "";
    /// Seed of the offset that shifts which responses are logged in performance mode.
    accuracy_log_rng_seed: u64 = 0, "";
    /// Share of the responses that are logged in performance mode.
    accuracy_log_probability: f64 = 0.0, "fraction";
    /// Number of responses to log in performance mode; if not 0, it replaces the probability.
    accuracy_log_sampling_target: u64 = 0, "";
    /// Audit test 05: PerformanceOnly with the three test05 seeds.
    test05: bool = false, "";
    /// Replaces `qsl_rng_seed` in audit test 05.
    test05_qsl_rng_seed: u64 = 0, "";
    /// Replaces `sample_index_rng_seed` in audit test 05.
    test05_sample_index_rng_seed: u64 = 0, "";
    /// Replaces `schedule_rng_seed` in audit test 05.
    test05_schedule_rng_seed: u64 = 0, "";
    /// Print wall-clock times of the performance phase.
    print_timestamps: bool = false, "";
    /// Issue every loaded sample exactly once.
    performance_issue_unique: bool = false, "";
    /// Issue the same sample every time.
    performance_issue_same: bool = false, "";
    /// Position in the loaded set (not a library index) of the sample for `performance_issue_same`.
    performance_issue_same_index: u64 = 0, "";
    /// Samples in the performance set; 0 takes the number that the library reports.
    performance_sample_count_override: u64 = 0, "";
    /// Samples in the accuracy run; 0 takes the whole library.
    accuracy_sample_count_override: u64 = 0, "";
    /// Record token latencies: time to first token, time per output token.
    use_token_latencies: bool = false, "";
    /// Server: bound of the time to the first token.
    server_ttft_latency: u64 = 100_000_000, "ns";
    /// Server: bound of the time per output token.
    server_tpot_latency: u64 = 100_000_000, "ns";
    /// Server, Offline: report tokens per second as scaling factor times samples per second.
    infer_token_latencies: bool = false, "";
    /// Server, Offline: tokens per sample for `infer_token_latencies`. LoadGen leaves it uninitialised; 0 here.
    token_latency_scaling_factor: u64 = 0, "";
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(value: SettingValue) -> SettingKind {
        match value {
            SettingValue::Bool(_) => SettingKind::Bool,
            SettingValue::Unsigned(_) => SettingKind::Unsigned,
            SettingValue::Signed(_) => SettingKind::Signed,
            SettingValue::Float(_) => SettingKind::Float,
            SettingValue::Scenario(_) => SettingKind::Scenario,
            SettingValue::Mode(_) => SettingKind::Mode,
            SettingValue::Rules(_) => SettingKind::Rules,
        }
    }

    #[test]
    fn every_field_can_be_read_and_set_to_what_it_is() {
        let mut settings = TestSettings::default();
        for field in TestSettings::FIELDS {
            let value = settings.get(field.name).unwrap();
            assert_eq!(kind(value), field.kind, "{}", field.name);
            settings.set(field.name, value).unwrap();
            assert!(!field.help.is_empty() && !field.help.starts_with(' '), "{}", field.name);
        }
        assert_eq!(settings, TestSettings::default());
        assert_eq!(TestSettings::FIELDS.len(), 44);
    }

    #[test]
    fn values_convert_only_where_nothing_is_lost() {
        let mut settings = TestSettings::default();
        settings.set("server_target_qps", SettingValue::Unsigned(7)).unwrap();
        assert_eq!(settings.server_target_qps, 7.0);
        settings.set("scenario", SettingValue::Scenario(Scenario::Offline)).unwrap();
        assert_eq!(settings.scenario, Scenario::Offline);
        let error = settings.set("min_query_count", SettingValue::Float(1.5)).unwrap_err();
        assert_eq!(error.to_string(), "setting min_query_count takes a whole number from 0, not 1.5");
    }

    #[test]
    fn an_unknown_field_suggests_the_near_one() {
        let error = TestSettings::default().set("min_query_cout", SettingValue::Unsigned(1)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown setting \"min_query_cout\", did you mean \"min_query_count\"?"
        );
        assert_eq!(TestSettings::default().get("min_query_cout"), None);
    }
}

//! Lists every setting: the host's, and the load generator's with the ranges of sensible tests.

use std::sync::LazyLock;

use proctor_loadgen::{FieldInfo, Rules, SettingKind, TestSettings};
use proctor_vocabulary::Scenario::{MultiStream, Offline, Server, SingleStream};

use crate::{
    key::{
        DefaultValue, Key, Kind,
        When::{self, In, Intervals, NoIntervals, Search, With, WithoutTokens},
    },
    run_settings::RUN_KEYS,
};

/// Returns all settings in the order of their documentation: first the host's, then LoadGen's.
#[must_use]
pub fn keys() -> &'static [Key] {
    static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
        let of_test = test_fields().map(|field| Key {
            name: field.name,
            kind: kind_of_field(field),
            unit: field.unit,
            help: field.help,
            default: DefaultValue::OfTest,
            flag: None,
            only: conditions_of_field(field.name),
            in_scale: is_in_scale(field.name),
        });
        RUN_KEYS.iter().copied().chain(of_test).collect()
    });
    &KEYS
}

pub(crate) fn find(name: &str) -> Option<&'static Key> {
    keys().iter().find(|key| key.name == name)
}

/// Returns the fields of [`TestSettings`] that are settings of their own. Scenario, mode and rules are the host's,
/// which runs the accuracy and the performance of a benchmark in one go, by rules that decide more than the load
/// generator.
pub(crate) fn test_fields() -> impl Iterator<Item = &'static FieldInfo> {
    TestSettings::FIELDS.iter().filter(|field| !matches!(field.name, "scenario" | "mode" | "rules"))
}

const DAY_MS: u64 = 24 * 3600 * 1000;
/// Thirty days: longer than any test, short enough to catch a wrong unit.
const MAX_DURATION_MS: u64 = 30 * DAY_MS;
const MAX_LATENCY_NS: u64 = DAY_MS * 1_000_000;
/// Sample counts have 32 bits in the sample order, query counts 48 in response ids.
const MAX_SAMPLES: u64 = u32::MAX as u64;
const MAX_QUERIES: u64 = 1 << 48;

const FRACTION: Kind = Kind::Number { min: 0.0, max: 1.0, inclusive: false };
const EXPECTED_LATENCY_NS: Kind = Kind::Number { min: 1.0, max: MAX_LATENCY_NS as f64, inclusive: true };
/// Arrival gaps have to be whole, representable nanoseconds.
const RATE: Kind = Kind::Number { min: 1e-6, max: 1e9, inclusive: true };

/// Returns the values of a test-settings field that make a sensible test.
fn kind_of_field(field: &FieldInfo) -> Kind {
    match field.name {
        "server_target_qps" | "offline_expected_qps" => RATE,
        "server_find_peak_qps_decimals_of_precision" => Kind::integer(0, 9),
        "server_find_peak_qps_boundary_step_size" => Kind::Number { min: 1e-6, max: 1000.0, inclusive: true },
        "server_num_issue_query_threads" => Kind::integer(0, 1024),
        "multi_stream_samples_per_query" => Kind::integer(1, 1 << 20),
        "multi_stream_interval_ms" => Kind::Number { min: 0.001, max: 3_600_000.0, inclusive: true },
        "accuracy_log_probability" => Kind::Number { min: 0.0, max: 1.0, inclusive: true },
        "server_max_async_queries" => Kind::integer(0, u64::MAX),
        "server_target_latency_ns" | "server_ttft_latency" | "server_tpot_latency" => {
            Kind::integer(0, MAX_LATENCY_NS)
        }
        "performance_issue_same_index" => Kind::integer(0, MAX_SAMPLES),
        "token_latency_scaling_factor" => Kind::integer(0, MAX_SAMPLES),
        name if name.ends_with("_expected_latency_ns") => EXPECTED_LATENCY_NS,
        name if name.ends_with("_percentile") => FRACTION,
        name if name.ends_with("_duration_ms") => Kind::integer(0, MAX_DURATION_MS),
        name if name.ends_with("_query_count") || name.ends_with("_sampling_target") => {
            Kind::integer(0, MAX_QUERIES)
        }
        name if name.ends_with("_sample_count_override") => Kind::integer(0, MAX_SAMPLES),
        name if name.ends_with("_rng_seed") => Kind::integer(0, u64::MAX),
        _ => kind_of_type(field.kind),
    }
}

/// Returns the conditions without which a test-settings field has no effect in a run.
fn conditions_of_field(name: &str) -> &'static [When] {
    match name {
        "single_stream_expected_latency_ns" | "single_stream_target_latency_percentile" => {
            &[In(SingleStream)]
        }
        "multi_stream_target_latency_percentile" | "multi_stream_samples_per_query" => &[In(MultiStream)],
        "multi_stream_expected_latency_ns" => &[In(MultiStream), NoIntervals],
        "multi_stream_interval_ms" => &[In(MultiStream), Intervals],
        "server_target_qps" | "server_target_latency_percentile" => &[In(Server)],
        "server_target_latency_ns" => &[In(Server), WithoutTokens],
        "server_find_peak_qps_decimals_of_precision" | "server_find_peak_qps_boundary_step_size" => {
            &[In(Server), Search]
        }
        "server_ttft_latency" | "server_tpot_latency" => &[In(Server), With("use_token_latencies")],
        "offline_expected_qps" => &[In(Offline)],
        "test05_qsl_rng_seed" | "test05_sample_index_rng_seed" | "test05_schedule_rng_seed" => {
            &[With("test05")]
        }
        "token_latency_scaling_factor" => &[With("infer_token_latencies")],
        _ => &[],
    }
}

/// Returns whether a test-settings field has an effect in `host scale`, which makes none of LoadGen's tests: the rate
/// and the seed of its arrivals, and the samples that it loads.
fn is_in_scale(name: &str) -> bool {
    matches!(name, "server_target_qps" | "schedule_rng_seed" | "performance_sample_count_override")
}

fn kind_of_type(kind: SettingKind) -> Kind {
    match kind {
        SettingKind::Bool => Kind::Bool,
        SettingKind::Unsigned => Kind::integer(0, u64::MAX),
        SettingKind::Signed => Kind::integer(0, i32::MAX.unsigned_abs().into()),
        SettingKind::Float => Kind::Number { min: f64::MIN, max: f64::MAX, inclusive: true },
        SettingKind::Scenario => Kind::Scenario,
        SettingKind::Mode => Kind::Mode,
        SettingKind::Rules => Kind::Choice(Rules::NAMES),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_explained() {
        for (position, key) in keys().iter().enumerate() {
            assert!(keys()[..position].iter().all(|other| other.name != key.name), "{}", key.name);
            assert!(key.help.ends_with('.'), "{}", key.name);
            assert!(!key.name.contains('.'), "{}: dots are for plugin options", key.name);
        }
    }

    #[test]
    fn every_number_of_a_test_has_a_range_that_was_thought_of() {
        for field in test_fields() {
            let untouched = kind_of_field(field) == kind_of_type(field.kind);
            let seed_or_switch = field.kind == SettingKind::Bool
                || field.name.ends_with("_rng_seed")
                || field.name == "server_max_async_queries";
            assert!(!untouched || seed_or_switch, "{}", field.name);
        }
    }
}

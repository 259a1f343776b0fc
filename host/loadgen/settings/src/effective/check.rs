//! Refuses settings that make no valid run, before anything runs.

use std::{fmt, ops::RangeInclusive};

use proctor_vocabulary::{Scenario, TestMode};

use crate::{
    effective::EffectiveSettings,
    rules::Rules,
    test_settings::TestSettings,
    value::{Setting, SettingKind, SettingValue},
};

/// The largest library and the largest loaded set: the bounded draw of samples takes 32-bit numbers.
const MAX_SET_SAMPLES: u64 = u32::MAX as u64;
/// Maximum number of queries to ask for: the draws for equal issue are all made before the first query.
const MAX_MIN_QUERIES: u64 = 1 << 32;
/// Maximum number of samples of one phase: their sequence numbers have 48 bits.
const MAX_PHASE_SAMPLES: u64 = 1 << 48;
/// The longest duration, some 30 years, so that nanoseconds fit with room to spare.
const MAX_DURATION_MS: u64 = 1_000_000_000_000;
/// The largest latency bound, as long as the longest duration. LoadGen takes one from 2^63 ns on for a negative number,
/// which no latency keeps.
const MAX_BOUND_NS: u64 = MAX_DURATION_MS * 1_000_000;
/// The largest query that is not Offline's. The loaded set is padded by this many entries.
const MAX_SAMPLES_PER_QUERY: u64 = 1 << 20;
/// More threads than this share no work.
const MAX_ISSUERS: u64 = 1024;
/// Rates outside of this range make arrival gaps that are no longer whole, representable nanoseconds.
const QPS_RANGE: RangeInclusive<f64> = 1e-6..=MAX_QPS;
/// The highest rate.
pub const MAX_QPS: f64 = 1e9;
/// Range of the factor by which the search for the peak may widen its boundaries at a time.
const PEAK_STEP_RANGE: RangeInclusive<f64> = 0.001..=1000.0;
/// Maximum number of decimals in the search for the peak, which is also a rate's.
const PEAK_DECIMALS: RangeInclusive<i32> = 0..=9;
/// Shares of queries that a percentile can be of. Early stopping needs some queries below and some above it.
const QUANTILE_RANGE: RangeInclusive<f64> = 0.000_001..=0.999_999;
/// Expected latencies, a nanosecond to eleven days, for the same reason.
const LATENCY_NS_RANGE: RangeInclusive<f64> = 1.0..=1e15;

/// Intervals of MultiStream at fixed intervals, a microsecond to an hour, in ms.
const INTERVAL_MS_RANGE: RangeInclusive<f64> = 0.001..=3_600_000.0;
/// The longest phase of MultiStream at fixed intervals, in ns: as [`MAX_DURATION_MS`].
const MAX_INTERVALS_NS: u64 = MAX_DURATION_MS * 1_000_000;

/// Settings that make no valid run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum SettingsError {
    #[error("setting {key} = {value} is out of range: give {expected}")]
    OutOfRange { key: &'static str, value: SettingValue, expected: String },
    #[error("the query sample library reports {key} = {count}: it needs 1 to {MAX_SET_SAMPLES} samples")]
    Library { key: &'static str, count: u64 },
    #[error("the settings generate no query: {why}")]
    NoQueries { why: String },
    #[error(
        "setting performance_issue_same_index = {index} is outside of a loaded set of {set_len} samples: give a smaller index"
    )]
    IssueSameOutsideSet { index: u64, set_len: u64 },
    #[error("settings {first} and {second} cannot both be on{why}: turn one off")]
    Conflict {
        first: &'static str,
        second: &'static str,
        /// Condition of the check, or empty.
        why: &'static str,
    },
}

impl EffectiveSettings {
    /// Refuses sizes that could never be generated or numbered.
    pub(super) fn check_sizes(&self) -> Result<(), SettingsError> {
        let request = &self.request;
        let too_large = |key, value, expected: &str| {
            Err(SettingsError::OutOfRange { key, value, expected: expected.to_owned() })
        };
        let min_query_count = SettingValue::Unsigned(request.min_query_count);
        let min_duration_ms = SettingValue::Unsigned(request.min_duration_ms);
        if let Some(interval_ns) = self.interval_ns {
            let query_count = self.min_query_count.max(self.accuracy_sample_count.min(self.qsl_total_count));
            if query_count.saturating_mul(interval_ns) > MAX_INTERVALS_NS {
                let value = SettingValue::Float(request.multi_stream_interval_ms);
                return too_large("multi_stream_interval_ms", value, "a run of at most 30 years");
            }
        }
        match self.request.scenario {
            Scenario::Offline if self.request.performance_issue_unique => Ok(()),
            Scenario::Offline if request.min_query_count > MAX_PHASE_SAMPLES => {
                too_large("min_query_count", min_query_count, "at most 2^48 samples")
            }
            Scenario::Offline if self.samples_per_query > MAX_PHASE_SAMPLES => too_large(
                "min_duration_ms",
                min_duration_ms,
                "a shorter duration or a lower offline_expected_qps, for at most 2^48 samples",
            ),
            Scenario::SingleStream if self.min_query_count > MAX_MIN_QUERIES => too_large(
                "min_duration_ms",
                min_duration_ms,
                "a shorter duration or a longer single_stream_expected_latency_ns: with \
                 sample_concatenate_permutation all queries are drawn in advance, at most 2^32",
            ),
            Scenario::MultiStream if self.min_query_count * self.samples_per_query > MAX_PHASE_SAMPLES => {
                too_large("min_query_count", min_query_count, "fewer queries, for at most 2^48 samples")
            }
            _ => Ok(()),
        }
    }

    /// Refuses a performance phase without queries, or with more unique queries than the set has.
    pub(super) fn check_queries(&self) -> Result<(), SettingsError> {
        if self.request.mode == TestMode::AccuracyOnly {
            return Ok(());
        }
        let set_len = self.performance_sample_count.min(self.qsl_total_count);
        let no_queries = |why: String| Err(SettingsError::NoQueries { why });
        if self.request.scenario == Scenario::Offline && self.samples_per_query == 0 {
            return no_queries("raise min_query_count, min_duration_ms or offline_expected_qps".to_owned());
        }
        if self.request.performance_issue_unique {
            let (query_len, padding) = match self.request.scenario {
                Scenario::MultiStream => (self.samples_per_query, self.samples_per_query - 1),
                _ => (self.samples_per_query, 0),
            };
            if set_len + padding < query_len {
                return no_queries(format!(
                    "performance_issue_unique with a performance set of {} samples from a library of {}; lower performance_sample_count_override",
                    self.performance_sample_count, self.qsl_total_count
                ));
            }
            // The queries are rounded up to a multiple of the set's entries; each takes several of them.
            if self.request.scenario == Scenario::MultiStream
                && self.request.sample_concatenate_permutation
                && self.samples_per_query > 1
            {
                return Err(SettingsError::Conflict {
                    first: "performance_issue_unique",
                    second: "sample_concatenate_permutation",
                    why: " in MultiStream, where they ask for more unique queries than there are",
                });
            }
        } else if self.min_query_count == 0 && self.target_duration_ms == 0 {
            return no_queries("min_query_count and min_duration_ms are both 0; raise one".to_owned());
        } else if self.min_query_count == 0
            && self.request.sample_concatenate_permutation
            && self.request.scenario == Scenario::Server
            && !self.request.performance_issue_same
        {
            // The permutations are drawn for the fewest queries. MultiStream does not use them, and in SingleStream
            // there is at least one.
            return no_queries(
                "sample_concatenate_permutation needs a min_query_count of at least 1".to_owned(),
            );
        }
        Ok(())
    }

    /// Refuses to repeat a sample that is not in every loaded set of the test.
    pub(super) fn check_issue_same(&self) -> Result<(), SettingsError> {
        if !self.request.performance_issue_same
            || self.request.performance_issue_unique && self.request.scenario != Scenario::Offline
        {
            return Ok(());
        }
        let mut set_len = self.performance_sample_count.min(self.qsl_total_count);
        if matches!(self.request.mode, TestMode::AccuracyOnly | TestMode::SubmissionRun) {
            let total = self.accuracy_sample_count.min(self.qsl_total_count);
            let last = total % self.performance_sample_count;
            let smallest = if last == 0 { self.performance_sample_count } else { last };
            set_len =
                if self.request.mode == TestMode::AccuracyOnly { smallest } else { set_len.min(smallest) };
        }
        // In MultiStream the index is a query's start, and only the padding keeps the query inside of the set.
        if self.request.performance_issue_same_index >= set_len {
            return Err(SettingsError::IssueSameOutsideSet {
                index: self.request.performance_issue_same_index,
                set_len,
            });
        }
        Ok(())
    }
}

pub(super) fn check_library(
    request: &TestSettings,
    performance: u64,
    total: u64,
) -> Result<(), SettingsError> {
    if !(1..=MAX_SET_SAMPLES).contains(&total) {
        return Err(SettingsError::Library { key: "total_sample_count", count: total });
    }
    // An override replaces the library's count everywhere but in the round-up of equal issue.
    let needs_count = request.performance_sample_count_override == 0
        || request.scenario == Scenario::SingleStream && request.sample_concatenate_permutation;
    if needs_count && !(1..=MAX_SET_SAMPLES).contains(&performance) {
        return Err(SettingsError::Library { key: "performance_sample_count", count: performance });
    }
    Ok(())
}

/// Checks every setting of the scenario on its own.
pub(super) fn check_ranges(request: &TestSettings) -> Result<(), SettingsError> {
    let (floats, quantiles): (&[(&str, _)], &[&str]) = match request.scenario {
        Scenario::SingleStream => (
            &[("single_stream_expected_latency_ns", LATENCY_NS_RANGE)],
            &["single_stream_target_latency_percentile"],
        ),
        Scenario::MultiStream => (
            &[
                ("multi_stream_expected_latency_ns", LATENCY_NS_RANGE),
                ("multi_stream_interval_ms", INTERVAL_MS_RANGE),
            ],
            &["multi_stream_target_latency_percentile"],
        ),
        Scenario::Server => (&[("server_target_qps", QPS_RANGE)], &["server_target_latency_percentile"]),
        Scenario::Offline => (&[("offline_expected_qps", QPS_RANGE)], &[]),
    };
    for (key, range) in floats {
        check(request, key, range.clone())?;
    }
    for key in quantiles {
        check(request, key, QUANTILE_RANGE)?;
    }
    check(request, "accuracy_log_probability", 0.0..=1.0)?;
    check(request, "min_duration_ms", 0..=MAX_DURATION_MS)?;
    check(request, "max_duration_ms", 0..=MAX_DURATION_MS)?;
    if request.scenario == Scenario::MultiStream {
        check(request, "multi_stream_samples_per_query", 1..=MAX_SAMPLES_PER_QUERY)?;
    }
    if request.scenario == Scenario::Server {
        request.arrivals.check(request.server_target_qps)?;
        check(request, "server_num_issue_query_threads", 0..=MAX_ISSUERS)?;
        check(request, "server_target_latency_ns", 0..=MAX_BOUND_NS)?;
        if request.use_token_latencies {
            check(request, "server_ttft_latency", 0..=MAX_BOUND_NS)?;
            check(request, "server_tpot_latency", 0..=MAX_BOUND_NS)?;
        }
    }
    if request.scenario != Scenario::Offline {
        check(request, "min_query_count", 0..=MAX_MIN_QUERIES)?;
    }
    if request.use_token_latencies && !request.rules.has_tokens {
        let (key, value) = field(request, "rules");
        let (default, round) = (Rules::default(), request.rules);
        let expected = format!("{default}, or turn use_token_latencies off: {round} knows no tokens");
        return Err(SettingsError::OutOfRange { key, value, expected });
    }
    if request.mode == TestMode::FindPeakPerformance {
        check(request, "server_find_peak_qps_boundary_step_size", PEAK_STEP_RANGE)?;
        check(request, "server_find_peak_qps_decimals_of_precision", PEAK_DECIMALS)?;
    }
    Ok(())
}

/// Refuses a number out of the range, and with it NaN.
fn check<T: Setting + PartialOrd + fmt::Debug>(
    request: &TestSettings,
    key: &str,
    range: RangeInclusive<T>,
) -> Result<(), SettingsError> {
    let (key, value) = field(request, key);
    if T::convert(value).is_some_and(|number| range.contains(&number)) {
        return Ok(());
    }
    let number = if T::KIND == SettingKind::Float { "a number" } else { "a whole number" };
    let expected = format!("{number} from {:?} to {:?}", range.start(), range.end());
    Err(SettingsError::OutOfRange { key, value, expected })
}

fn field(request: &TestSettings, key: &str) -> (&'static str, SettingValue) {
    let field = TestSettings::FIELDS.iter().find(|field| field.name == key);
    let name = field.expect("the checks name fields of the settings").name;
    (name, request.get(name).expect("the field is listed"))
}

//! Additions to the logs in rounds that have them. In the others, v5.0 and later, the logs are LoadGen's to the byte.

use std::io::{self, Write};

use proctor_loadgen_settings::{EffectiveSettings, TestSettings};

use super::detail::DetailLog;
use crate::verdict::results::{PerformanceResult, interval::IntervalResult};

/// Ends the block "Additional Stats" of the summary.
pub(super) fn summary(result: &PerformanceResult, out: &mut impl Write) -> io::Result<()> {
    if !result.rules.extends_logs {
        return Ok(());
    }
    write!(out, "\nRules                           : {}\n", result.rules)?;
    for (name, _, value) in result.intervals.iter().flat_map(figures) {
        writeln!(out, "{name:<32}: {value}")?;
    }
    Ok(())
}

/// Returns the figures of fixed intervals: name in the summary, key in the detail log, which has the interval among the
/// settings, and value.
fn figures(result: &IntervalResult) -> [(&'static str, Option<&'static str>, u64); 8] {
    let record = result.record;
    [
        ("Samples per query", Some("result_samples_per_query"), result.stream_count),
        ("Interval (ns)", None, record.interval_ns),
        ("Intervals", Some("result_interval_count"), record.elapsed_interval_count),
        ("Skipped intervals", Some("result_skipped_interval_count"), record.skipped_interval_count),
        ("Most skipped in a row", Some("result_longest_skip_count"), record.longest_skip_count),
        ("Queries that caused skips", Some("result_skipping_query_count"), record.skipping_query_count),
        ("Queries over the interval", Some("result_late_query_count"), record.late_query_count),
        (
            "Queries that may be over",
            Some("result_allowed_late_query_count"),
            result.allowed_late_query_count,
        ),
    ]
}

impl DetailLog {
    pub(super) fn requested_round(&mut self, time_ns: u64, request: &TestSettings) {
        if request.rules.extends_logs {
            self.entry(time_ns, "requested_rules", request.rules);
            self.entry(time_ns, "requested_multi_stream_interval_ms", request.multi_stream_interval_ms);
        }
    }

    pub(super) fn effective_round(&mut self, time_ns: u64, settings: &EffectiveSettings) {
        if settings.request.rules.extends_logs {
            self.entry(time_ns, "effective_rules", settings.request.rules);
        }
        if let Some(interval_ns) = settings.interval_ns {
            self.entry(time_ns, "effective_multi_stream_interval_ns", interval_ns);
        }
    }

    pub(super) fn result_round(&mut self, time_ns: u64, result: &PerformanceResult) {
        if result.rules.extends_logs {
            self.entry(time_ns, "result_rules", result.rules);
        }
        for (_, key, value) in result.intervals.iter().flat_map(figures) {
            key.into_iter().for_each(|key| self.entry(time_ns, key, value));
        }
    }
}

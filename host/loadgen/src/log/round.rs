//! Additions to the logs in rounds that have them. In the others, such as v5.0, the logs are LoadGen's to the byte.

use std::io::{self, Write};

use super::detail::DetailLog;
use crate::{
    measure::interval_record::IntervalRecord,
    settings::{effective::EffectiveSettings, test_settings::TestSettings},
    verdict::results::PerformanceResult,
};

/// Ends the block "Additional Stats" of the summary.
pub(super) fn summary(result: &PerformanceResult, out: &mut impl Write) -> io::Result<()> {
    if !result.rules.extends_logs {
        return Ok(());
    }
    write!(out, "\nRules                           : {}\n", result.rules)?;
    let Some(intervals) = &result.intervals else { return Ok(()) };
    let record = &intervals.record;
    writeln!(out, "Samples per query               : {}", intervals.stream_count)?;
    writeln!(out, "Interval (ns)                   : {}", record.interval_ns)?;
    writeln!(out, "Intervals                       : {}", record.elapsed_interval_count)?;
    writeln!(out, "Skipped intervals               : {}", record.skipped_interval_count)?;
    writeln!(out, "Most skipped in a row           : {}", record.longest_skip_count)?;
    writeln!(out, "Queries that caused skips       : {}", record.skipping_query_count)?;
    writeln!(out, "Queries over the interval       : {}", record.late_query_count)?;
    writeln!(out, "Queries that may be over        : {}", intervals.allowed_late_query_count)
}

impl DetailLog {
    pub(super) fn requested_round(&mut self, time_ns: u64, request: &TestSettings) {
        if request.rules.extends_logs {
            self.entry(time_ns, "requested_rules", request.rules);
            self.entry(time_ns, "requested_multi_stream_interval_ms", request.multi_stream_interval_ms);
        }
    }

    pub(super) fn effective_round(&mut self, time_ns: u64, settings: &EffectiveSettings) {
        if settings.rules.extends_logs {
            self.entry(time_ns, "effective_rules", settings.rules);
        }
        if let Some(interval_ns) = settings.interval_ns {
            self.entry(time_ns, "effective_multi_stream_interval_ns", interval_ns);
        }
    }

    pub(super) fn result_round(&mut self, time_ns: u64, result: &PerformanceResult) {
        if result.rules.extends_logs {
            self.entry(time_ns, "result_rules", result.rules);
        }
        let Some(intervals) = &result.intervals else { return };
        let IntervalRecord { elapsed_interval_count, skipped_interval_count, longest_skip_count, .. } =
            intervals.record;
        self.entry(time_ns, "result_samples_per_query", intervals.stream_count);
        self.entry(time_ns, "result_interval_count", elapsed_interval_count);
        self.entry(time_ns, "result_skipped_interval_count", skipped_interval_count);
        self.entry(time_ns, "result_longest_skip_count", longest_skip_count);
        self.entry(time_ns, "result_skipping_query_count", intervals.record.skipping_query_count);
        self.entry(time_ns, "result_late_query_count", intervals.record.late_query_count);
        self.entry(time_ns, "result_allowed_late_query_count", intervals.allowed_late_query_count);
    }
}

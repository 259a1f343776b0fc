//! The part of a result that depends on the round, for programs and for people.

use proctor_loadgen::{IntervalResult, Rules};
use proctor_results::IntervalPart;
use proctor_words::text::{counted, counted_queries, duration};

use crate::result::RunResult;

/// Returns the fixed intervals of MultiStream in the form of the file.
pub(super) fn interval_part(result: &IntervalResult) -> IntervalPart {
    let record = result.record;
    IntervalPart {
        stream_count: result.stream_count,
        interval_ns: record.interval_ns,
        interval_count: record.elapsed_interval_count,
        skipped_interval_count: record.skipped_interval_count,
        longest_skip_count: record.longest_skip_count,
        skipping_query_count: record.skipping_query_count,
        late_query_count: record.late_query_count,
        allowed_late_query_count: result.allowed_late_query_count,
    }
}

/// Returns the lines of the verdict; empty for a single run under the default rules.
pub(crate) fn rows(result: &RunResult) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut row = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
    if !result.file.performance_runs.is_empty() {
        let valid_count = result.file.performance_runs.iter().filter(|test| test.valid).count();
        row("runs", format!("{} made, {valid_count} of them VALID", result.file.performance_runs.len()));
    }
    let figures = result.file.performance_run.as_ref().and_then(|test| test.figures.as_ref());
    if let Some(intervals) = figures.and_then(|figures| figures.intervals.as_ref()) {
        row(
            "intervals",
            format!(
                "{} of {} skipped; {} over it, {} may be",
                intervals.skipped_interval_count,
                counted_intervals(intervals),
                counted_queries(intervals.late_query_count),
                intervals.allowed_late_query_count
            ),
        );
    }
    if result.file.rules != Rules::default().name {
        row("rules", result.file.rules.clone());
    }
    if let Some(suite) = &result.file.suite {
        row("suite", suite.clone());
    }
    rows
}

fn counted_intervals(intervals: &IntervalPart) -> String {
    format!("{} of {}", counted(intervals.interval_count, "interval"), duration(intervals.interval_ns))
}

//! The fixed intervals of MultiStream in a phase.

use crate::record::slots::{Counted, SampleRecord};

/// Intervals with a query, and skipped intervals.
///
/// Each query starts an interval, and each interval from the start to the last query has one or is skipped:
/// `elapsed_interval_count` is `query_count + skipped_interval_count`.
///
/// Source: MLPerf Inference Benchmark, section 4.5; MLPerf Inference rules v0.7, FAQ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IntervalRecord {
    /// Time from one interval to the next, in ns. Also the latency bound of a query.
    pub interval_ns: u64,
    /// Number of queries that were issued.
    pub query_count: u64,
    /// Number of intervals up to and including the last query's.
    pub elapsed_interval_count: u64,
    /// Number of intervals that passed without a query, because the system was busy.
    pub skipped_interval_count: u64,
    /// Maximum number of them in a row.
    pub longest_skip_count: u64,
    /// Number of queries that caused one or more skipped intervals.
    pub skipping_query_count: u64,
    /// Number of queries that did not meet the bound: they caused a skipped interval or took longer than one,
    /// or never completed. The last query, which delays no other, is judged by its latency alone.
    pub late_query_count: u64,
}

impl IntervalRecord {
    /// Reads the intervals off the scheduled instants of all samples of a phase, in the order of their issue.
    /// Each query has `samples_per_query`, which are scheduled at the start of its interval; samples that do
    /// not count are late.
    pub(crate) fn new(
        samples: &[SampleRecord],
        samples_per_query: u64,
        interval_ns: u64,
        counted: Counted,
    ) -> Self {
        let mut record = Self { interval_ns, ..Self::default() };
        let mut queries = samples.chunks((samples_per_query as usize).max(1)).peekable();
        while let Some(query) = queries.next() {
            let interval = query[0].scheduled_ns / interval_ns;
            let skipped_count =
                queries.peek().map_or(0, |next| next[0].scheduled_ns / interval_ns - interval - 1);
            let in_time = |sample: &SampleRecord| {
                counted.latency_ns(*sample).is_some_and(|latency_ns| latency_ns <= interval_ns)
            };
            record.query_count += 1;
            record.elapsed_interval_count = interval + 1;
            record.skipped_interval_count += skipped_count;
            record.longest_skip_count = record.longest_skip_count.max(skipped_count);
            record.skipping_query_count += u64::from(skipped_count > 0);
            record.late_query_count += u64::from(skipped_count > 0 || !query.iter().all(in_time));
        }
        record
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_between_queries_are_skipped_intervals() {
        let sample = |scheduled_ns, latency_ns| SampleRecord { scheduled_ns, latency_ns };
        // Intervals of 10: queries in 0, 1, 4 and 6, each of two samples; the last takes longer than an interval.
        let samples = [
            [sample(0, 4), sample(0, 10)],
            [sample(10, 2), sample(10, 25)],
            [sample(40, 11), sample(40, 1)],
            [sample(60, 5), sample(60, 11)],
        ];
        let expected = IntervalRecord {
            interval_ns: 10,
            query_count: 4,
            elapsed_interval_count: 7,
            skipped_interval_count: 3,
            longest_skip_count: 2,
            skipping_query_count: 2,
            late_query_count: 3,
        };
        assert_eq!(IntervalRecord::new(samples.as_flattened(), 2, 10, Counted::Completed), expected);
    }

    #[test]
    fn a_query_that_never_completes_is_late_and_one_that_fails_is_none_that_counts() {
        let of = |latency_ns, counted| {
            let record = IntervalRecord::new(&[SampleRecord { scheduled_ns: 0, latency_ns }], 1, 10, counted);
            (record.late_query_count, record.skipping_query_count)
        };
        for counted in [Counted::Completed, Counted::Answered] {
            assert_eq!(of(SampleRecord::NOT_COMPLETED, counted), (1, 0));
            assert_eq!(of(7, counted), (0, 0));
            assert_eq!(IntervalRecord::new(&[], 1, 10, counted).elapsed_interval_count, 0);
        }
        assert_eq!(of(SampleRecord::FAILED_BIT | 7, Counted::Completed), (0, 0));
        assert_eq!(of(SampleRecord::FAILED_BIT | 7, Counted::Answered), (1, 0));
    }
}

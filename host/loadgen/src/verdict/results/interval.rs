//! The verdict on MultiStream at fixed intervals.

use proctor_loadgen_settings::EffectiveSettings;

use crate::measure::{interval_record::IntervalRecord, phase_record::PhaseRecord};

/// Returns whether a system keeps up with a number of streams.
///
/// The metric of MultiStream at fixed intervals is the largest number of streams with which a run is VALID; each run
/// is about one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntervalResult {
    /// Number of samples in each query.
    pub stream_count: u64,
    /// The measured intervals.
    pub record: IntervalRecord,
    /// Maximum number of queries that may miss the bound.
    pub allowed_late_query_count: u64,
}

impl IntervalResult {
    pub(super) fn new(record: &PhaseRecord, settings: &EffectiveSettings) -> Option<Self> {
        let record = record.intervals?;
        let share = 1.0 - settings.target_latency_percentile;
        // One minus a percentile leaves dust: 1 % of 100 queries has to be one of them.
        let allowed = record.query_count as f64 * share * (1.0 + 1e-9);
        Some(Self {
            stream_count: settings.samples_per_query,
            record,
            allowed_late_query_count: allowed as u64,
        })
    }

    /// Returns whether no more queries missed the bound than allowed.
    #[must_use]
    pub fn met(&self) -> bool {
        self.record.late_query_count <= self.allowed_late_query_count
    }

    /// Returns why the bound is not met, for the user.
    pub(crate) fn reason(&self) -> String {
        let IntervalRecord { interval_ns, query_count, late_query_count, .. } = self.record;
        format!(
            "{late_query_count} of {query_count} queries caused skipped intervals or took longer than the interval of {} ms, of at most {}",
            interval_ns as f64 / 1e6,
            self.allowed_late_query_count
        )
    }
}

#[cfg(test)]
mod tests {
    use proctor_loadgen_settings::TestSettings;
    use proctor_vocabulary::Scenario;

    use super::*;
    use crate::plan::{phases::PhaseMode, schedule::GeneratedTotals};

    fn allowed(query_count: u64, percentile: f64) -> u64 {
        let request = TestSettings {
            scenario: Scenario::MultiStream,
            rules: "v0.5".parse().expect("it is a round"),
            multi_stream_target_latency_percentile: percentile,
            ..TestSettings::default()
        };
        let settings = EffectiveSettings::new(&request, 4, 10).unwrap().0;
        let intervals = IntervalRecord { query_count, ..IntervalRecord::default() };
        let record = PhaseRecord {
            mode: PhaseMode::Performance,
            loaded_set: Vec::new(),
            generated: GeneratedTotals { query_count, samples_per_query: 1, duration_ns: 0 },
            issued_query_count: query_count,
            issued_sample_count: query_count,
            sample_latencies_ns: Vec::new().into(),
            query_latencies_ns: Vec::new(),
            intervals: Some(intervals),
            tokens: None,
            max_latency_ns: 0,
            final_query_scheduled_ns: 0,
            final_query_issued_ns: 0,
            final_query_all_samples_done_ns: 0,
        };
        IntervalResult::new(&record, &settings).unwrap().allowed_late_query_count
    }

    #[test]
    fn the_share_that_may_miss_is_exact() {
        for hundreds in 1..3000 {
            assert_eq!(allowed(hundreds * 100, 0.99), hundreds);
            assert_eq!(allowed(hundreds * 100 + 99, 0.99), hundreds);
            assert_eq!(allowed(hundreds * 100, 0.97), hundreds * 3);
        }
        // Count that the rules allow.
        assert_eq!((allowed(270_336, 0.99), allowed(90_112, 0.97)), (2703, 2703));
        assert_eq!(allowed(99, 0.99), 0);
    }
}

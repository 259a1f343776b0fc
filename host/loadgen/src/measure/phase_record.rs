//! The measurements of a phase that is over.

use proctor_vocabulary::SampleIndex;

use crate::{
    measure::{interval_record::IntervalRecord, latencies::SampleLatencies},
    plan::{phases::PhaseMode, schedule::GeneratedTotals},
    record::tokens::PhaseTokens,
};

/// Everything that was measured in one phase. Times are in ns from the start of issuing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhaseRecord {
    /// The purpose of the phase.
    pub mode: PhaseMode,
    /// Library indices that were loaded, in load order, with padding.
    pub loaded_set: Vec<SampleIndex>,
    /// Totals of everything that was generated, at least as much as was issued.
    pub generated: GeneratedTotals,
    /// Queries that were issued.
    pub issued_query_count: u64,
    /// Samples that were issued.
    pub issued_sample_count: u64,
    /// Latency of each completed sample, in the order of their issue. Counted from the scheduled instant for Server,
    /// from the start of the phase for Offline, from the start of the interval for MultiStream at fixed intervals,
    /// and from the issue for the others.
    pub sample_latencies_ns: SampleLatencies,
    /// MultiStream: latency of each completed query (of its last sample), in the order of their issue. Else empty.
    pub query_latencies_ns: Vec<u64>,
    /// MultiStream at fixed intervals: which intervals had a query.
    pub intervals: Option<IntervalRecord>,
    /// Measurements of tokens, in token runs.
    pub tokens: Option<PhaseTokens>,
    /// The largest sample latency, 0 without samples.
    pub max_latency_ns: u64,
    /// Scheduled instant of the last issued query.
    pub final_query_scheduled_ns: u64,
    /// Issue of the last issued query.
    pub final_query_issued_ns: u64,
    /// Completion of the last sample of the last issued query.
    pub final_query_all_samples_done_ns: u64,
}

//! Everything that a performance phase is judged by.

use proctor_loadgen_settings::EffectiveSettings;
use proctor_vocabulary::Scenario;

use crate::{
    issue::end::IssueEnd,
    measure::{phase_outcome::PhaseOutcome, phase_record::PhaseRecord},
    plan::{
        phases::{LoadedSet, PhaseMode, PhasePlan},
        schedule::Schedule,
    },
    record::slots::SampleRecord,
    verdict::results::PerformanceResult,
};

/// Maximum number of queries for computing a rate; more would only take time and memory.
const SAMPLES_MAX: usize = 1 << 18;

/// A performance phase with its result and settings.
pub(crate) struct Evidence<'a> {
    pub(crate) settings: &'a EffectiveSettings,
    pub(crate) result: &'a PerformanceResult,
    /// The record behind the result.
    pub(crate) record: &'a PhaseRecord,
    /// Reason why issuing ended.
    pub(crate) end: IssueEnd,
    /// Number of completed samples, including failed ones, which take their time, too.
    pub(crate) completed_count: u64,
    /// True if samples failed, are missing, or in a token run lack tokens, so that no bound counts as met.
    pub(crate) has_unmeasured: bool,
    /// Scheduled instant and latency of answered samples in the order of issue, in ns; without any, no rate can be
    /// advised.
    pub(crate) samples: Vec<(u64, u64)>,
}

impl<'a> Evidence<'a> {
    pub(crate) fn new(
        settings: &'a EffectiveSettings,
        result: &'a PerformanceResult,
        record: &'a PhaseRecord,
        phase: &PhaseOutcome,
        has_unmeasured: bool,
    ) -> Self {
        let answered = |sample: SampleRecord| Some((sample.scheduled_ns, sample.answered_latency_ns()?));
        let samples = phase.phase.samples(0).filter_map(answered).take(SAMPLES_MAX).collect();
        let completed_count = phase.record.sample_latencies_ns.len();
        Self { settings, result, record, end: phase.end, completed_count, has_unmeasured, samples }
    }

    /// Returns the queries per second of this run: the requested rate, or the achieved one of a system
    /// without. `None` if the run took no time, or was a stream of a single query.
    pub(super) fn qps(&self) -> Option<f64> {
        let record = self.record;
        let qps = match self.settings.request.scenario {
            Scenario::Server => self.settings.target_qps,
            Scenario::Offline => self.completed_count as f64 * 1e9 / record.max_latency_ns as f64,
            Scenario::SingleStream | Scenario::MultiStream if record.issued_query_count < 2 => return None,
            Scenario::SingleStream | Scenario::MultiStream => {
                // The last query may never have completed.
                let end_ns = record.final_query_all_samples_done_ns.max(record.final_query_issued_ns);
                record.issued_query_count as f64 * 1e9 / end_ns as f64
            }
        };
        (qps.is_finite() && qps > 0.0).then_some(qps)
    }

    /// Returns the due instants of the first queries of a run at this rate, in ns.
    pub(super) fn arrivals_ns(&self, qps: f64) -> impl Iterator<Item = u64> {
        let settings = EffectiveSettings { target_qps: qps, ..self.settings.clone() };
        // A Server query has no padding.
        let indices = self.record.loaded_set.clone();
        let set = LoadedSet { end: indices.len(), indices };
        Schedule::new(&settings, &PhasePlan { mode: PhaseMode::Performance, set }).take(SAMPLES_MAX)
    }

    /// Returns the time that this number of queries takes at a rate, in ns.
    pub(super) fn time_ns(query_count: u64, qps: f64) -> Option<u64> {
        let ns = query_count as f64 * 1e9 / qps;
        (ns.is_finite() && ns >= 0.0).then_some(ns as u64)
    }
}

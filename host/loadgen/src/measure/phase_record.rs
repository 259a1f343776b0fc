//! The measurements of a phase that is over.

use std::sync::Arc;

use proctor_loadgen_settings::EffectiveSettings;
use proctor_vocabulary::{SampleIndex, Scenario};

use crate::{
    issue::threads::PhaseIssue,
    measure::{interval_record::IntervalRecord, latencies::SampleLatencies},
    plan::{
        phases::{PhaseMode, PhasePlan},
        schedule::GeneratedTotals,
    },
    record::{
        phase::{Completions, Phase, done_ns},
        slots::Counted,
        tokens::PhaseTokens,
    },
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
    /// Number of queries that were issued.
    pub issued_query_count: u64,
    /// Number of samples that were issued.
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

impl PhaseRecord {
    /// Reads off a phase that is over.
    pub(crate) fn new(
        settings: &EffectiveSettings,
        plan: &PhasePlan,
        phase: &Arc<Phase>,
        issued: &PhaseIssue,
        completions: Completions,
    ) -> Self {
        let last = issued.last.unwrap_or_default();
        // The generator has drawn most of it by now, so this takes no time; before the start it would.
        let generated = issued.queries.totals();
        let counted = Counted::Completed;
        Self {
            mode: phase.mode,
            loaded_set: plan.set.indices.clone(),
            generated,
            issued_query_count: issued.query_count,
            issued_sample_count: phase.issued_count(),
            sample_latencies_ns: SampleLatencies::recorded(Arc::clone(phase), counted, completions.count),
            query_latencies_ns: query_latencies(settings, phase, generated, counted),
            intervals: intervals(settings, phase, generated, counted),
            tokens: phase.tokens(counted),
            max_latency_ns: completions.max_latency_ns,
            final_query_scheduled_ns: last.scheduled_ns,
            final_query_issued_ns: last.issued_ns,
            final_query_all_samples_done_ns: done_ns(
                phase.samples(last.first_sequence).take(last.sample_count as usize),
            ),
        }
    }

    /// Returns the same without failed samples, which have no latency, and in figures of tokens without samples that
    /// lack tokens; `None` if there are none. All durations stay: time in which samples failed was spent, too.
    pub(crate) fn answered(&self, settings: &EffectiveSettings, phase: &Arc<Phase>) -> Option<Self> {
        let counted = Counted::Answered;
        let mut count = 0;
        phase.for_each_sample(|sample| count += u64::from(counted.latency_ns(sample).is_some()));
        let tokens = phase.tokens(counted);
        let tokenless_count = tokens.as_ref().map_or(0, |tokens| tokens.left_out.count());
        (count < self.sample_latencies_ns.len() || tokenless_count > 0).then(|| Self {
            sample_latencies_ns: SampleLatencies::recorded(Arc::clone(phase), counted, count),
            query_latencies_ns: query_latencies(settings, phase, self.generated, counted),
            intervals: intervals(settings, phase, self.generated, counted),
            tokens,
            ..self.clone()
        })
    }
}

/// Returns the latencies of the queries in MultiStream, else none.
fn query_latencies(
    settings: &EffectiveSettings,
    phase: &Phase,
    generated: GeneratedTotals,
    counted: Counted,
) -> Vec<u64> {
    match settings.request.scenario {
        Scenario::MultiStream => {
            slowest(phase.samples(0).map(|sample| counted.latency_ns(sample)), generated.samples_per_query)
        }
        _ => Vec::new(),
    }
}

/// Returns the intervals of MultiStream at fixed intervals.
fn intervals(
    settings: &EffectiveSettings,
    phase: &Phase,
    generated: GeneratedTotals,
    counted: Counted,
) -> Option<IntervalRecord> {
    let interval_ns = settings.interval_ns?;
    let samples: Vec<_> = phase.samples(0).collect();
    Some(IntervalRecord::new(&samples, generated.samples_per_query, interval_ns, counted))
}

/// Returns the latency of each query whose samples all count, which is its slowest sample's.
fn slowest(latencies_ns: impl Iterator<Item = Option<u64>>, samples_per_query: u64) -> Vec<u64> {
    let mut queries_ns = Vec::new();
    let mut slowest_ns = Some(0);
    let mut position = 0_u64;
    for latency_ns in latencies_ns {
        position += 1;
        // One that does not count leaves the query without a latency.
        slowest_ns = slowest_ns.and_then(|slowest_ns| Some(latency_ns?.max(slowest_ns)));
        if position.is_multiple_of(samples_per_query) {
            queries_ns.extend(slowest_ns.replace(0));
        }
    }
    queries_ns
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::record::slots::SampleRecord;

    #[test]
    fn a_query_takes_as_long_as_its_slowest_sample() {
        let done = |latency_ns| SampleRecord { scheduled_ns: 5, latency_ns };
        let missing = done(SampleRecord::NOT_COMPLETED);
        let failed = done(2 | SampleRecord::FAILED_BIT);
        let samples = [done(3), done(9), done(1), missing, done(2), failed, done(4), done(5)];
        let of = |counted: Counted| slowest(samples.into_iter().map(|sample| counted.latency_ns(sample)), 2);
        assert_eq!(of(Counted::Completed), [9, 2, 5]);
        assert_eq!(of(Counted::Answered), [9, 5]);
    }
}

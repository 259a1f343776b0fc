//! One phase after its end: from slots to the record that results are computed from.

use std::{collections::HashMap, sync::Arc};

use proctor_vocabulary::Scenario;

use crate::{
    issue::{
        delay::IssueDelay,
        end::IssueEnd,
        issued_query::IssuedQuery,
        threads::{IssuerRecord, PhaseIssue},
    },
    measure::{
        accuracy_record::{AccuracyRecord, AccuracyTokens},
        clock_check::ClockCheck,
        interval_record::IntervalRecord,
        latencies::SampleLatencies,
        missing_samples::MissingSamples,
        phase_error::PhaseError,
        phase_record::PhaseRecord,
        phase_trace::PhaseTrace,
        unload_error::UnloadError,
    },
    plan::{
        library_indices::library_indices, phases::PhasePlan, query_generator::QueryGenerator,
        schedule::GeneratedTotals,
    },
    record::{
        phase::{Phase, done_ns},
        slots::SampleRecord,
        token_recorder::TokenRecorder,
    },
    settings::effective::EffectiveSettings,
};

/// How many missing samples are kept by name.
const MISSING_KEPT: usize = 8;

/// One phase of a test: what was measured, and how it ended.
#[derive(Debug, Clone)]
pub struct PhaseOutcome {
    /// The measurements.
    pub record: PhaseRecord,
    /// Start of issuing, in ns from the start of the test.
    pub start_ns: u64,
    /// From the start of issuing to the last completion, in ns.
    pub duration_ns: u64,
    /// Why issuing ended; of several threads, the end that tells most.
    pub end: IssueEnd,
    /// How late queries with a schedule were issued.
    pub issue_delay: IssueDelay,
    /// The issuing threads, by their numbers.
    pub issuers: Vec<IssuerRecord>,
    /// The wall clock at both ends of the phase, but in virtual time.
    pub clock_check: Option<ClockCheck>,
    /// Samples that were issued and never completed.
    pub missing: Option<MissingSamples>,
    /// Number of the phase's first sample in the logs.
    pub first_sample_id: u64,
    /// Why the library did not unload the samples, if it failed to.
    pub unload_error: Option<UnloadError>,
    /// Errors for the detail log that do not change the verdict.
    pub errors: Vec<PhaseError>,
    pub(crate) phase: Arc<Phase>,
    /// Data of the trace besides the samples, if the test is traced.
    pub(crate) trace: Option<PhaseTrace>,
}

/// Everything that a phase leaves behind when it is over.
pub(crate) struct FinishedPhase<'a> {
    pub settings: &'a EffectiveSettings,
    pub plan: PhasePlan,
    /// The generator as it was before the first query.
    pub queries: QueryGenerator,
    pub phase: Arc<Phase>,
    pub issued: PhaseIssue,
    /// Totals of everything that was generated, issued or not.
    pub generated: GeneratedTotals,
    pub clock_check: Option<ClockCheck>,
    pub trace: Option<PhaseTrace>,
    pub start_ns: u64,
    /// Sequence numbers of the samples that were given up.
    pub missing: Vec<u64>,
}

impl FinishedPhase<'_> {
    /// The measurements of the phase.
    pub(crate) fn into_outcome(self) -> PhaseOutcome {
        let missing = self.missing();
        let (mut completed_count, mut max_latency_ns, mut duration_ns) = (0, 0, 0);
        self.phase.for_each_sample(|sample| {
            if let Some(latency_ns) = sample.completed_latency_ns() {
                completed_count += 1;
                max_latency_ns = latency_ns.max(max_latency_ns);
                duration_ns = (sample.scheduled_ns + latency_ns).max(duration_ns);
            }
        });
        let last = self.issued.last.unwrap_or(IssuedQuery {
            first_sequence: 0,
            sample_count: 0,
            scheduled_ns: 0,
            issued_ns: 0,
        });
        let record = PhaseRecord {
            mode: self.phase.mode,
            generated: self.generated,
            issued_query_count: self.issued.query_count,
            issued_sample_count: self.phase.issued_count(),
            query_latencies_ns: match self.settings.scenario {
                Scenario::MultiStream => query_latencies(self.phase.samples(0), last.sample_count),
                _ => Vec::new(),
            },
            intervals: self.settings.interval_ns.map(|interval_ns| {
                let samples: Vec<_> = self.phase.samples(0).collect();
                IntervalRecord::new(&samples, last.sample_count, interval_ns)
            }),
            tokens: self.phase.tokens(),
            max_latency_ns,
            sample_latencies_ns: SampleLatencies::recorded(Arc::clone(&self.phase), completed_count),
            final_query_scheduled_ns: last.scheduled_ns,
            final_query_issued_ns: last.issued_ns,
            final_query_all_samples_done_ns: done_ns(
                self.phase.samples(last.first_sequence).take(last.sample_count as usize),
            ),
            loaded_set: self.plan.set.indices,
        };
        PhaseOutcome {
            record,
            start_ns: self.start_ns,
            duration_ns,
            end: self.issued.end,
            issuers: self.issued.issuers,
            issue_delay: self.issued.delay,
            clock_check: self.clock_check,
            missing,
            first_sample_id: self.phase.first_sample_id,
            unload_error: None,
            errors: Vec::new(),
            trace: self.trace,
            phase: self.phase,
        }
    }

    /// The logged responses of the phase, by sample number.
    pub(crate) fn accuracy_records(&self) -> Vec<AccuracyRecord> {
        let responses = self.phase.responses.take();
        let sequences = responses.iter().map(|response| response.sequence);
        let indices = library_indices(self.queries.clone(), sequences);
        let mut first_tokens: HashMap<_, _> = self.phase.tokens.iter().flat_map(first_token_data).collect();
        let records = responses.into_iter().zip(indices).map(|(response, index)| AccuracyRecord {
            sample_id: self.phase.first_sample_id + response.sequence,
            index,
            data: response.data,
            tokens: self.phase.tokens.as_ref().map(|tokens| AccuracyTokens {
                first_token_data: tokens
                    .has_first_tokens()
                    .then(|| first_tokens.remove(&response.sequence).unwrap_or_default()),
                token_count: tokens.token_count(response.sequence),
            }),
        });
        records.collect()
    }

    fn missing(&self) -> Option<MissingSamples> {
        let named = || self.missing.iter().copied().take(MISSING_KEPT);
        let ids = named().map(|sequence| self.phase.first_sample_id + sequence);
        let first = ids.zip(library_indices(self.queries.clone(), named())).collect();
        (!self.missing.is_empty()).then_some(MissingSamples { count: self.missing.len() as u64, first })
    }
}

fn first_token_data(tokens: &TokenRecorder) -> impl Iterator<Item = (u64, Vec<u8>)> + use<> {
    tokens.data.take().into_iter().map(|response| (response.sequence, response.data))
}

/// The latency of each query whose samples are all complete: that of its slowest.
fn query_latencies(samples: impl Iterator<Item = SampleRecord>, samples_per_query: u64) -> Vec<u64> {
    let mut latencies_ns = Vec::new();
    let mut slowest_ns = Some(0);
    let mut position = 0_u64;
    for sample in samples {
        position += 1;
        // One that is missing leaves the query without a latency.
        slowest_ns = slowest_ns.and_then(|slowest_ns| Some(sample.completed_latency_ns()?.max(slowest_ns)));
        if position.is_multiple_of(samples_per_query) {
            latencies_ns.extend(slowest_ns.replace(0));
        }
    }
    latencies_ns
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_query_takes_as_long_as_its_slowest_sample() {
        let done = |latency_ns| SampleRecord { scheduled_ns: 5, latency_ns };
        let missing = done(SampleRecord::NOT_COMPLETED);
        let samples = [done(3), done(9), done(1), missing, done(2), done(2 | SampleRecord::FAILED_BIT)];
        assert_eq!(query_latencies(samples.into_iter(), 2), [9, 2]);
    }
}

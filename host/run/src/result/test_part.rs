//! The part of `result.json` about one test.

use std::collections::BTreeMap;

use proctor_loadgen::{
    EarlyStopping, IssueDelay, PerformanceResult, PhaseOutcome, ScenarioFigures, ViolationKind,
};
use proctor_noise::Noise;
use proctor_scheduler::Statistics;
use serde::Serialize;

use super::{
    energy::{EnergyPart, ProcessorEnergyPart},
    finding::FindingPart,
    scaling::ScalingPart,
    tokens::{SearchPart, TokenPart},
};
use crate::{
    bed::{busy::BusyCounts, test::Test},
    figures::{Latencies, query_latencies},
    result::round::IntervalPart,
};

/// One test; of a search for the peak, its reported run.
#[derive(Debug, Serialize)]
pub(crate) struct TestPart {
    pub(crate) mode: &'static str,
    pub(crate) valid: bool,
    pub(crate) reasons: Vec<String>,
    /// Findings that the verdict rests on, with remedies for those that are broken.
    pub(crate) findings: Vec<FindingPart>,
    /// From the start of issuing to the last completion: of the performance phase, or over all accuracy phases.
    pub(crate) duration_ns: u64,
    pub(crate) issued_query_count: u64,
    pub(crate) issued_sample_count: u64,
    /// Samples that completed as failed, those that never completed, and responses that came after the end of their
    /// test or once more for a sample. They are in no latency and no throughput.
    pub(crate) failed_sample_count: u64,
    pub(crate) missing_sample_count: u64,
    pub(crate) late_response_count: u64,
    pub(crate) repeated_response_count: u64,
    /// Lateness of the queries that have a schedule.
    pub(crate) issue_delay_max_ns: u64,
    pub(crate) issue_delay_mean_ns: u64,
    pub(crate) issue_delay_p50_ns: u64,
    pub(crate) issue_delay_p99_ns: u64,
    pub(crate) issue_delay_p99_9_ns: u64,
    pub(crate) figures: Option<FiguresPart>,
    /// Energy of a performance test in real time, where the plugin counts it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) energy: Option<EnergyPart>,
    /// Energy of the processor in a performance test in real time, or why it was not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) processor_energy: Option<ProcessorEnergyPart>,
    /// How quiet the machine was in a performance test in real time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) noise: Option<Noise>,
    /// Steps of the search for the peak, if this is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) search: Option<SearchPart>,
    /// Batches; null in a test of accuracy and performance in one, whose batches are not counted apart.
    pub(crate) scheduler: Option<SchedulerPart>,
    /// The policy that turned batch size and instances, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) scaling: Option<ScalingPart>,
    /// Queries that the plugin was BUSY for, where it takes whole queries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) busy: Option<BusyPart>,
    /// The accuracy phases of a test of accuracy and performance in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) accuracy_phases: Option<AccuracyPhasesPart>,
}

/// The accuracy phases of a test of accuracy and performance in one. They are in no other count of it but those of late
/// and repeated responses.
#[derive(Debug, Serialize)]
pub(crate) struct AccuracyPhasesPart {
    pub(crate) duration_ns: u64,
    pub(crate) issued_query_count: u64,
    pub(crate) issued_sample_count: u64,
    pub(crate) failed_sample_count: u64,
    pub(crate) missing_sample_count: u64,
}

/// Queries that the plugin refused with BUSY, and that were issued again.
#[derive(Debug, Serialize)]
pub(crate) struct BusyPart {
    pub(crate) refused_query_count: u64,
    pub(crate) refusal_count: u64,
    /// Time that issuing threads waited; the latency of the queries has it, too.
    pub(crate) wait_ns: u64,
}

/// Figures of a performance run.
#[derive(Debug, Serialize)]
pub(crate) struct FiguresPart {
    pub(crate) query_latency: Latencies,
    pub(crate) sample_latency: Latencies,
    /// SingleStream: queries over the time until the last was issued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) queries_per_second: Option<f64>,
    /// Server: samples over the time until the last was scheduled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) scheduled_samples_per_second: Option<f64>,
    /// Server: samples over the time until the last was completed. Offline: over the time of the slowest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) completed_samples_per_second: Option<f64>,
    /// Server: samples over the latency bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) over_latency_count: Option<u64>,
    pub(crate) min_duration_met: bool,
    pub(crate) min_queries_met: bool,
    pub(crate) latency_bound_met: bool,
    pub(crate) early_stopping_met: bool,
    pub(crate) early_stopping_estimate_ns: Option<u64>,
    /// SingleStream: the estimate of the 99th percentile, from which MultiStream is inferred.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) early_stopping_estimate_ns_p99: Option<u64>,
    pub(crate) recommendations: Vec<String>,
    /// Token runs, and runs that infer tokens from samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tokens: Option<TokenPart>,
    /// MultiStream at fixed intervals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) intervals: Option<IntervalPart>,
}

#[derive(Debug, Serialize)]
pub(crate) struct SchedulerPart {
    pub(crate) batch_count: u64,
    pub(crate) batch_size_mean: f64,
    pub(crate) batch_sizes: BTreeMap<usize, u64>,
    pub(crate) rejected_sample_count: u64,
    pub(crate) queue_depth_max: usize,
    pub(crate) queue_capacity: usize,
    /// Time that each instance spent on batches.
    pub(crate) instance_busy_ns: Vec<u64>,
    pub(crate) failed_batch_count: u64,
}

impl TestPart {
    pub(crate) fn new(test: &Test) -> Self {
        let outcome = &test.outcome;
        let sum = |part: fn(&PhaseOutcome) -> u64| outcome.reported_phases().map(part).sum();
        let accuracy_phases = AccuracyPhasesPart::of(&outcome.accuracy_phases_beside().collect::<Vec<_>>());
        // What the system counts, it counts over all phases.
        let is_of_one_kind = accuracy_phases.is_none();
        // Of several phases, the worst.
        let delay = |part: fn(&IssueDelay) -> u64| {
            outcome.reported_phases().map(|phase| part(&phase.issue_delay)).max().unwrap_or(0)
        };
        Self {
            mode: outcome.effective.request.mode.name(),
            valid: outcome.is_valid(),
            reasons: outcome.reasons(),
            findings: outcome.findings.iter().map(FindingPart::from).collect(),
            duration_ns: sum(|phase| phase.duration_ns),
            issued_query_count: sum(|phase| phase.record.issued_query_count),
            issued_sample_count: sum(|phase| phase.record.issued_sample_count),
            failed_sample_count: failed_count(test),
            missing_sample_count: sum(missing_count),
            late_response_count: outcome.violation_count(ViolationKind::Late),
            repeated_response_count: outcome.violation_count(ViolationKind::Duplicate),
            issue_delay_max_ns: delay(|delay| delay.max_ns),
            issue_delay_mean_ns: delay(|delay| delay.mean_ns),
            issue_delay_p50_ns: delay(|delay| delay.p50_ns),
            issue_delay_p99_ns: delay(|delay| delay.p99_ns),
            issue_delay_p99_9_ns: delay(|delay| delay.p99_9_ns),
            figures: outcome
                .figures()
                .map(|figures| FiguresPart::new(figures, test.has_unanswered() || test.has_tokenless())),
            energy: outcome.performance.as_ref().and_then(|_| EnergyPart::of_plugin(test)),
            processor_energy: test
                .package_energy
                .as_ref()
                .map(|energy| ProcessorEnergyPart::new(energy, test)),
            noise: test.noise.clone(),
            search: outcome.peak_search.as_ref().map(SearchPart::from),
            scheduler: test.system.statistics.as_ref().filter(|_| is_of_one_kind).map(SchedulerPart::new),
            scaling: test.system.scaling.as_ref().map(ScalingPart::new),
            busy: test.system.busy.filter(|_| is_of_one_kind).map(BusyPart::from),
            accuracy_phases,
        }
    }
}

impl AccuracyPhasesPart {
    fn of(phases: &[&PhaseOutcome]) -> Option<Self> {
        let sum = |part: fn(&PhaseOutcome) -> u64| phases.iter().map(|phase| part(phase)).sum();
        (!phases.is_empty()).then(|| Self {
            duration_ns: sum(|phase| phase.duration_ns),
            issued_query_count: sum(|phase| phase.record.issued_query_count),
            issued_sample_count: sum(|phase| phase.record.issued_sample_count),
            failed_sample_count: sum(PhaseOutcome::failed_sample_count),
            missing_sample_count: sum(missing_count),
        })
    }
}

fn missing_count(phase: &PhaseOutcome) -> u64 {
    phase.missing.as_ref().map_or(0, |missing| missing.count)
}

/// Samples of the reported phases that failed; they are looked at only if any of the test did.
fn failed_count(test: &Test) -> u64 {
    match test.outcome.violation_count(ViolationKind::Failed) {
        0 => 0,
        _ => test.outcome.reported_phases().map(PhaseOutcome::failed_sample_count).sum(),
    }
}

impl From<BusyCounts> for BusyPart {
    fn from(counts: BusyCounts) -> Self {
        let BusyCounts { query_count, refusal_count, waited } = counts;
        let wait_ns = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
        Self { refused_query_count: query_count, refusal_count, wait_ns }
    }
}

impl FiguresPart {
    /// Takes the figures of a result. If it is partial, because samples were not answered or lack tokens, no bound is
    /// met, and there is no estimate. Nor is there one in token runs of SingleStream, where early stopping estimates
    /// the time to the first token.
    fn new(result: &PerformanceResult, is_partial: bool) -> Self {
        let EarlyStopping { met: early_stopping_met, estimate_ns, estimate_ns_p99, .. } =
            result.early_stopping;
        let is_of_first_tokens = result.token_latencies().is_some()
            && matches!(result.figures, ScenarioFigures::SingleStream { .. });
        let estimated = |estimate_ns: Option<u64>| estimate_ns.filter(|_| !is_partial && !is_of_first_tokens);
        let mut part = Self {
            query_latency: query_latencies(result).into(),
            sample_latency: (&result.sample_latencies).into(),
            queries_per_second: None,
            scheduled_samples_per_second: None,
            completed_samples_per_second: None,
            over_latency_count: None,
            min_duration_met: result.min_duration_met,
            min_queries_met: result.min_queries_met,
            latency_bound_met: result.perf_constraints_met && !is_partial,
            early_stopping_met: early_stopping_met && !is_partial,
            early_stopping_estimate_ns: estimated(estimate_ns),
            early_stopping_estimate_ns_p99: estimated(estimate_ns_p99),
            recommendations: result.recommendations.iter().map(ToString::to_string).collect(),
            tokens: TokenPart::of(result, is_partial),
            intervals: result.intervals.as_ref().map(IntervalPart::from),
        };
        match &result.figures {
            ScenarioFigures::SingleStream { qps_with_loadgen_overhead, .. } => {
                part.queries_per_second = Some(*qps_with_loadgen_overhead);
            }
            ScenarioFigures::MultiStream { .. } => {}
            ScenarioFigures::Server {
                scheduled_samples_per_second,
                completed_samples_per_second,
                over_latency_count,
                ..
            } => {
                part.scheduled_samples_per_second = Some(*scheduled_samples_per_second);
                part.completed_samples_per_second = Some(*completed_samples_per_second);
                part.over_latency_count = Some(*over_latency_count);
            }
            ScenarioFigures::Offline { samples_per_second, .. } => {
                part.completed_samples_per_second = Some(*samples_per_second);
            }
        }
        part
    }
}

impl SchedulerPart {
    fn new(statistics: &Statistics) -> Self {
        let sizes = statistics.batch_size_histogram.iter().copied().enumerate();
        Self {
            batch_count: statistics.batches,
            batch_size_mean: statistics.batch_size_mean(),
            batch_sizes: sizes.filter(|(_, count)| *count > 0).collect(),
            rejected_sample_count: statistics.samples_rejected,
            queue_depth_max: statistics.queue_depth_max,
            queue_capacity: statistics.queue_capacity,
            instance_busy_ns: statistics.busy_ns.clone(),
            failed_batch_count: statistics.failures.batches,
        }
    }
}

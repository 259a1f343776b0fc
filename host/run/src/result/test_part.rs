//! The part of `result.json` about one test.

use proctor_bed::{BusyCounts, Test, figures::query_latencies};
use proctor_loadgen::{
    EarlyStopping, IssueDelay, PerformanceResult, PhaseOutcome, ScenarioFigures, ViolationKind,
};
use proctor_results::{AccuracyPhasesPart, BusyPart, FiguresPart, SchedulerPart, TestPart};
use proctor_scheduler::Statistics;

use super::{
    energy::{energy_of_plugin, processor_energy},
    finding::finding_part,
    round::interval_part,
    tokens::{search_part, token_part},
};

/// Returns a test in the form of the file.
pub(super) fn test_part(test: &Test) -> TestPart {
    let outcome = &test.outcome;
    let sum = |part: fn(&PhaseOutcome) -> u64| outcome.reported_phases().map(part).sum();
    let accuracy_phases = accuracy_phases_part(&outcome.accuracy_phases_beside().collect::<Vec<_>>());
    // The system counts over all phases.
    let is_of_one_kind = accuracy_phases.is_none();
    // Of several phases, the worst.
    let delay = |part: fn(&IssueDelay) -> u64| {
        outcome.reported_phases().map(|phase| part(&phase.issue_delay)).max().unwrap_or(0)
    };
    TestPart {
        mode: outcome.effective.request.mode.name().to_owned(),
        valid: outcome.is_valid(),
        reasons: outcome.reasons(),
        findings: outcome.findings.iter().map(finding_part).collect(),
        duration_ns: sum(|phase| phase.duration_ns),
        issued_query_count: sum(|phase| phase.record.issued_query_count),
        issued_sample_count: sum(|phase| phase.record.issued_sample_count),
        failed_sample_count: Some(failed_count(test)),
        missing_sample_count: Some(sum(missing_count)),
        sample_failures: test.sample_failures.iter().map(ToString::to_string).collect(),
        late_response_count: outcome.violation_count(ViolationKind::Late),
        repeated_response_count: outcome.violation_count(ViolationKind::Duplicate),
        issue_delay_max_ns: delay(|delay| delay.max_ns),
        issue_delay_mean_ns: delay(|delay| delay.mean_ns),
        issue_delay_p50_ns: delay(|delay| delay.p50_ns),
        issue_delay_p99_ns: delay(|delay| delay.p99_ns),
        issue_delay_p99_9_ns: delay(|delay| delay.p99_9_ns),
        figures: outcome
            .figures()
            .map(|figures| figures_part(figures, test.has_unanswered() || test.has_tokenless())),
        energy: outcome.performance.as_ref().and_then(|_| energy_of_plugin(test)),
        processor_energy: test.package_energy.as_ref().map(|energy| processor_energy(energy, test)),
        noise: test.noise.clone(),
        search: outcome.peak_search.as_ref().map(search_part),
        scheduler: test.system.statistics.as_ref().filter(|_| is_of_one_kind).map(scheduler_part),
        scaling: test.system.scaling.clone(),
        busy: test.system.busy.filter(|_| is_of_one_kind).map(busy_part),
        accuracy_phases,
    }
}

fn accuracy_phases_part(phases: &[&PhaseOutcome]) -> Option<AccuracyPhasesPart> {
    let sum = |part: fn(&PhaseOutcome) -> u64| phases.iter().map(|phase| part(phase)).sum();
    (!phases.is_empty()).then(|| AccuracyPhasesPart {
        duration_ns: sum(|phase| phase.duration_ns),
        issued_query_count: sum(|phase| phase.record.issued_query_count),
        issued_sample_count: sum(|phase| phase.record.issued_sample_count),
        failed_sample_count: sum(PhaseOutcome::failed_sample_count),
        missing_sample_count: sum(missing_count),
    })
}

fn missing_count(phase: &PhaseOutcome) -> u64 {
    phase.missing.as_ref().map_or(0, |missing| missing.count)
}

/// Returns the samples of the reported phases that failed; they are examined only if any of the test did.
fn failed_count(test: &Test) -> u64 {
    match test.outcome.violation_count(ViolationKind::Failed) {
        0 => 0,
        _ => test.outcome.reported_phases().map(PhaseOutcome::failed_sample_count).sum(),
    }
}

fn busy_part(counts: BusyCounts) -> BusyPart {
    let BusyCounts { query_count, refusal_count, waited } = counts;
    let wait_ns = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
    BusyPart { refused_query_count: query_count, refusal_count, wait_ns }
}

/// Converts the figures of a result. If it is partial, because samples were not answered or lack tokens, no bound is
/// met, and there is no estimate. Nor is there one in token runs of SingleStream, where early stopping estimates the
/// time to the first token.
fn figures_part(result: &PerformanceResult, is_partial: bool) -> FiguresPart {
    let EarlyStopping { met: early_stopping_met, estimate_ns, estimate_ns_p99, .. } = result.early_stopping;
    let is_of_first_tokens =
        result.token_latencies().is_some() && matches!(result.figures, ScenarioFigures::SingleStream { .. });
    let estimated = |estimate_ns: Option<u64>| estimate_ns.filter(|_| !is_partial && !is_of_first_tokens);
    let mut part = FiguresPart {
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
        tokens: token_part(result, is_partial),
        intervals: result.intervals.as_ref().map(interval_part),
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

fn scheduler_part(statistics: &Statistics) -> SchedulerPart {
    let sizes = (0..).zip(statistics.batch_size_histogram.iter().copied());
    SchedulerPart {
        batch_count: statistics.batches,
        batch_size_mean: statistics.batch_size_mean(),
        batch_sizes: sizes.filter(|(_, count)| *count > 0).collect(),
        rejected_sample_count: statistics.samples_rejected,
        queue_depth_max: statistics.queue_depth_max as u64,
        queue_capacity: statistics.queue_capacity as u64,
        instance_busy_ns: statistics.busy_ns.clone(),
        failed_batch_count: statistics.failures.batches,
    }
}

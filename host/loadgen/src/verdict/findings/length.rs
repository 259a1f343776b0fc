//! The required length of a run, and the reason why it was not reached.

use proctor_loadgen_settings::RaisedBy;
use proctor_vocabulary::Scenario;

use super::{
    evidence::Evidence,
    finding::{Finding, Remedy, Rule, Unit},
    limits::{EXPECTED_LATENCY, RESERVE, reached},
};
use crate::{issue::end::IssueEnd, verdict::results::deciding_duration_ns};

const NS_PER_MS: u64 = 1_000_000;

/// Advice if a run needs more queries than the set has samples for.
pub(super) const UNIQUE: Remedy = Remedy::Do(
    "performance_issue_unique issues each sample of the performance set once, which is not enough: turn it off",
);

/// Returns the findings about duration, queries and samples.
pub(super) fn lengths(evidence: &Evidence<'_>) -> Vec<Finding> {
    let Evidence { settings, result, record, .. } = evidence;
    let duration_ns = deciding_duration_ns(record, settings) as f64;
    let min_duration_ns = (settings.request.min_duration_ms * NS_PER_MS) as f64;
    let is_long = result.min_duration_met;
    let duration = Finding::compared(Rule::MinDuration, is_long, duration_ns, min_duration_ns, Unit::Ns);
    let (count, min_count) = (record.issued_query_count, settings.min_query_count);
    let is_counted = count >= min_count;
    let queries =
        Finding::compared(Rule::MinQueryCount, is_counted, count as f64, min_count as f64, Unit::Queries);
    let advised = |finding: Finding| match finding.is_broken() {
        true => Finding { ended_by: reached(evidence), ..finding.with(remedy(evidence)) },
        false => finding,
    };
    let queries = match by_expected_latency(evidence) {
        Some(advice) => advised(queries).with(Some(advice)),
        None => advised(queries),
    };
    let mut findings = vec![advised(duration), queries];

    if is_counted && !result.min_queries_met {
        let (measured, bound) = (evidence.completed_count as f64, settings.min_sample_count as f64);
        let samples = Finding::compared(Rule::MinSampleCount, false, measured, bound, Unit::Samples);
        let remedy = Remedy::Do("every sample that is issued has to be completed");
        findings.push(samples.with(Some((remedy, None))));
    }
    findings
}

/// Returns the expected latency for which equal issue wants fewer queries, and how many, if a run has too few
/// because that latency is shorter than its queries': the minimum count and a limit are not considered.
fn longer_latency(evidence: &Evidence<'_>) -> Option<(u64, u64)> {
    let Evidence { settings, record, .. } = evidence;
    let is_short = record.issued_query_count < settings.min_query_count;
    let raised = settings.raised_by_permutations().filter(|_| is_short);
    let Some(RaisedBy::ExpectedLatency { ns }) = raised else { return None };
    let latency_ns = 1e9 / evidence.qps()?;
    let value = latency_ns.ceil() as u64;
    let count = settings.fewest_queries(settings.request.min_query_count, value as f64);
    (latency_ns > ns && count < settings.min_query_count).then_some((value, count))
}

/// Returns the change with which equal issue requires no more queries than there is time for.
fn by_expected_latency(evidence: &Evidence<'_>) -> Option<(Remedy, Option<u64>)> {
    let (value, count) = longer_latency(evidence)?;
    let remedy = Remedy::Set { setting: EXPECTED_LATENCY, value };
    Some((remedy, run_ns(evidence, count, evidence.qps()?)))
}

/// Returns the minimum number of queries of the next run, if it follows the advice about the length.
pub(super) fn least_query_count(evidence: &Evidence<'_>) -> u64 {
    longer_latency(evidence).map_or(evidence.settings.min_query_count, |(_, count)| count)
}

/// Returns the time of a run at this rate that has at least this many queries, or samples of Offline, in ns.
fn run_ns(evidence: &Evidence<'_>, least_count: u64, qps: f64) -> Option<u64> {
    let for_duration = qps * evidence.settings.request.min_duration_ms as f64 / 1e3;
    let needed_ns = (least_count as f64).max(for_duration) * 1e9 / qps;
    needed_ns.is_finite().then_some(needed_ns as u64)
}

/// Returns the samples of Offline's query at this expected rate.
fn offline_samples(evidence: &Evidence<'_>, expected_qps: f64) -> u64 {
    let count = evidence.settings.offline_sample_count(expected_qps);
    match evidence.settings.request.sample_concatenate_permutation {
        true => count.next_multiple_of((evidence.record.loaded_set.len() as u64).max(1)),
        false => count,
    }
}

/// Returns the change that would make the run long enough, from the reason why it was not.
pub(super) fn remedy(evidence: &Evidence<'_>) -> Option<(Remedy, Option<u64>)> {
    let settings = evidence.settings;
    match evidence.end {
        IssueEnd::TimeStandsStill { .. } => Some((Remedy::Do(without_time(evidence)), None)),
        // What stopped the test is a finding of its own; too many outstanding queries have one advice for all rules.
        IssueEnd::Stopped | IssueEnd::Stalled | IssueEnd::TooManyOutstanding { .. } => None,
        IssueEnd::Naturally | IssueEnd::AllIssued | IssueEnd::RanOut
            if settings.request.performance_issue_unique =>
        {
            Some((UNIQUE, None))
        }
        IssueEnd::MaxQueryCount { .. }
        | IssueEnd::MaxDuration { .. }
        | IssueEnd::Naturally
        | IssueEnd::AllIssued
        | IssueEnd::RanOut => match evidence.qps() {
            Some(qps) => by_rate(evidence, qps),
            // The one query was complete at the instant of its issue.
            None if is_timeless(evidence) => Some((Remedy::Do(without_time(evidence)), None)),
            None => None,
        },
    }
}

/// Returns whether samples of Offline were completed, and none took any time, which only is so in virtual time.
fn is_timeless(evidence: &Evidence<'_>) -> bool {
    let record = evidence.record;
    let has_samples = !record.sample_latencies_ns.is_empty();
    evidence.settings.request.scenario == Scenario::Offline && has_samples && record.max_latency_ns == 0
}

/// Returns advice to a system that takes no virtual time: from the beginning, or from where its samples began to fail.
fn without_time(evidence: &Evidence<'_>) -> &'static str {
    if evidence.record.sample_latencies_ns.len() < evidence.record.issued_sample_count {
        "samples that fail take no virtual time, so find out why they fail; until then no run is long enough"
    } else {
        "the system under test has to take some virtual time, or no run is long enough"
    }
}

/// Returns the change that would make a run at this rate long enough.
fn by_rate(evidence: &Evidence<'_>, qps: f64) -> Option<(Remedy, Option<u64>)> {
    let settings = evidence.settings;
    // A limit has ended the run before a number of queries that need not be so high.
    if reached(evidence).is_some()
        && let Some(advice) = by_expected_latency(evidence)
    {
        return Some(advice);
    }
    let for_duration = qps * settings.request.min_duration_ms as f64 / 1e3;
    let needed_count = (settings.min_query_count as f64).max(for_duration);
    let needed_ns = needed_count * 1e9 / qps;
    let with_reserve = |value: f64| (value * RESERVE).ceil() as u64;
    let set_with = |setting, value, least_count| {
        Some((Remedy::Set { setting, value }, run_ns(evidence, least_count, qps)))
    };
    let set = |setting, value| set_with(setting, value, settings.min_query_count);
    // Less than a nanosecond would be no latency to expect.
    let expected_ns = ((1e9 / qps) as u64).max(1);
    match evidence.end {
        IssueEnd::MaxQueryCount { .. } => set("max_query_count", with_reserve(needed_count)),
        IssueEnd::MaxDuration { .. } => set("max_duration_ms", with_reserve(needed_ns / 1e6)),
        _ => match settings.request.scenario {
            Scenario::SingleStream => {
                let least = settings.fewest_queries(settings.request.min_query_count, expected_ns as f64);
                set_with(EXPECTED_LATENCY, expected_ns, least)
            }
            // With fixed intervals the expected latency has no say.
            Scenario::MultiStream if settings.request.rules.has_intervals => {
                set("min_query_count", with_reserve(needed_count))
            }
            Scenario::MultiStream => set("multi_stream_expected_latency_ns", expected_ns),
            Scenario::Offline => {
                let expected_qps = qps.ceil();
                set_with("offline_expected_qps", expected_qps as u64, offline_samples(evidence, expected_qps))
            }
            // The schedule lasts as long as it should, so there is nothing to change about its rate.
            Scenario::Server => None,
        },
    }
}

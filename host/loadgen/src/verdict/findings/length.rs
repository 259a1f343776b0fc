//! How long a run has to be, and what kept it from being so.

use proctor_vocabulary::Scenario;

use super::{
    bounds::{lower_rate, outstanding_within_bound},
    evidence::Evidence,
    finding::{Finding, Measure, Remedy, Rule, Unit},
    limits::{RESERVE, reached},
};
use crate::{issue::end::IssueEnd, verdict::results::deciding_duration_ns};

const NS_PER_MS: u64 = 1_000_000;

/// Duration, queries and samples.
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
    let mut findings = vec![advised(duration), advised(queries)];

    let sample_count = result.sample_latencies.count;
    if is_counted && !result.min_queries_met {
        let (measured, bound) = (sample_count as f64, settings.min_sample_count as f64);
        let samples = Finding::compared(Rule::MinSampleCount, false, measured, bound, Unit::Samples);
        let remedy = Remedy::Do("every sample that is issued has to be completed");
        findings.push(samples.with(Some((remedy, None))));
    }
    findings
}

/// The change that would make the run long enough, from why it was not.
fn remedy(evidence: &Evidence<'_>) -> Option<(Remedy, Option<u64>)> {
    let settings = evidence.settings;
    let unique = Remedy::Do(
        "performance_issue_unique issues each sample of the performance set once, which is not enough: turn it off",
    );
    match evidence.end {
        IssueEnd::TooManyOutstanding { .. } => too_many_outstanding(evidence),
        IssueEnd::TimeStandsStill { .. } => {
            Some((Remedy::Do("the system under test has to take some time, or no run is long enough"), None))
        }
        // What stopped the test is a finding of its own.
        IssueEnd::Stopped | IssueEnd::Stalled => None,
        IssueEnd::Naturally | IssueEnd::AllIssued | IssueEnd::RanOut
            if settings.request.performance_issue_unique =>
        {
            Some((unique, None))
        }
        IssueEnd::MaxQueryCount { .. }
        | IssueEnd::MaxDuration { .. }
        | IssueEnd::Naturally
        | IssueEnd::AllIssued
        | IssueEnd::RanOut => by_rate(evidence, evidence.qps()?),
    }
}

/// The change that would make a run at this rate long enough.
fn by_rate(evidence: &Evidence<'_>, qps: f64) -> Option<(Remedy, Option<u64>)> {
    let settings = evidence.settings;
    let for_duration = qps * settings.request.min_duration_ms as f64 / 1e3;
    let needed_count = (settings.min_query_count as f64).max(for_duration);
    let needed_ns = needed_count * 1e9 / qps;
    let time_ns = needed_ns.is_finite().then_some(needed_ns as u64);
    let with_reserve = |value: f64| (value * RESERVE).ceil() as u64;
    let set = |setting, value| Some((Remedy::Set { setting, value }, time_ns));
    let per_second = |setting| set(setting, qps.ceil() as u64);
    // Less than a nanosecond would be no latency to expect.
    let expected_ns = ((1e9 / qps) as u64).max(1);
    match evidence.end {
        IssueEnd::MaxQueryCount { .. } => set("max_query_count", with_reserve(needed_count)),
        IssueEnd::MaxDuration { .. } => set("max_duration_ms", with_reserve(needed_ns / 1e6)),
        _ => match settings.request.scenario {
            Scenario::SingleStream => set("single_stream_expected_latency_ns", expected_ns),
            // With fixed intervals the expected latency has no say.
            Scenario::MultiStream if settings.request.rules.has_intervals => {
                set("min_query_count", with_reserve(needed_count))
            }
            Scenario::MultiStream => set("multi_stream_expected_latency_ns", expected_ns),
            Scenario::Offline => per_second("offline_expected_qps"),
            Scenario::Server => per_second("server_target_qps"),
        },
    }
}

/// A higher limit, if the system keeps the bound at this rate; else a lower rate, since a queue grew. The bound is that
/// of the test, or none.
fn too_many_outstanding(evidence: &Evidence<'_>) -> Option<(Remedy, Option<u64>)> {
    let settings = evidence.settings;
    if let Some(outstanding_max) = outstanding_within_bound(evidence) {
        let value = (outstanding_max as f64 * RESERVE).ceil() as u64 + 1;
        return Some((Remedy::Set { setting: "server_max_async_queries", value }, None));
    }
    match evidence.result.token_latencies() {
        Some(_) => lower_rate(evidence, Measure::FirstToken, settings.request.server_ttft_latency),
        None => lower_rate(evidence, Measure::Latency, settings.target_latency_ns),
    }
}

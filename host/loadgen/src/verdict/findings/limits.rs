//! Limits that end a run early: which one did, and which would end the next run if it followed the advice alone.

use proctor_vocabulary::Scenario;

use super::{
    evidence::Evidence,
    finding::{Limit, Remedy},
    replay::Replay,
};
use crate::issue::end::IssueEnd;

/// Setting from which SingleStream derives the number of queries that it plans and, with equal issue, wants.
pub(super) const EXPECTED_LATENCY: &str = "single_stream_expected_latency_ns";
/// Factor by which limits exceed the expected need.
pub(super) const RESERVE: f64 = 1.1;

const MS_PER_S: f64 = 1e3;

const QUERY_COUNT: &str = "max_query_count";
const DURATION: &str = "max_duration_ms";
/// Limit on the outstanding queries of a Server.
pub(super) const OUTSTANDING: &str = "server_max_async_queries";

/// Returns the limit that ended the run, if one did.
pub(super) fn reached(evidence: &Evidence<'_>) -> Option<Limit> {
    let request = &evidence.settings.request;
    let (setting, value) = match evidence.end {
        IssueEnd::MaxQueryCount { .. } => (QUERY_COUNT, request.max_query_count),
        IssueEnd::MaxDuration { .. } => (DURATION, request.max_duration_ms),
        IssueEnd::TooManyOutstanding { .. } => (OUTSTANDING, evidence.settings.max_async_queries),
        IssueEnd::Naturally
        | IssueEnd::AllIssued
        | IssueEnd::RanOut
        | IssueEnd::TimeStandsStill { .. }
        | IssueEnd::Stopped
        | IssueEnd::Stalled => return None,
    };
    Some(Limit { setting, value })
}

/// Returns the limits that a run with this remedy reaches before it has all queries and the whole duration.
pub(super) fn in_the_way(evidence: &Evidence<'_>, remedy: &Remedy) -> Vec<&'static str> {
    let settings = evidence.settings;
    let request = &settings.request;
    // Offline has one query, and reads neither limit.
    if request.scenario == Scenario::Offline {
        return Vec::new();
    }
    // Equal issue raises the number of queries by both of these settings.
    let expected_ns = request.single_stream_expected_latency_ns;
    let (least_count, qps) = match *remedy {
        Remedy::LowerRate { qps } => (settings.min_query_count, Some(qps)),
        Remedy::MoreQueries { total, .. } => (settings.fewest_queries(total, expected_ns), evidence.qps()),
        Remedy::Set { setting: "min_query_count", value } => {
            (settings.fewest_queries(value, expected_ns), evidence.qps())
        }
        Remedy::Set { setting: EXPECTED_LATENCY, value } => {
            (settings.fewest_queries(request.min_query_count, value as f64), evidence.qps())
        }
        Remedy::Set { .. } => (settings.min_query_count, evidence.qps()),
        Remedy::FasterSystem { .. } | Remedy::MeetBoundFirst | Remedy::SetOr { .. } | Remedy::Do(_) => {
            return Vec::new();
        }
    };
    // Without a rate nothing is known of how far the next run gets.
    let Some(qps) = qps else { return Vec::new() };
    let least_s = request.min_duration_ms as f64 / MS_PER_S;
    let query_count = (least_count as f64).max(qps * least_s * RESERVE);
    let duration_ms = (least_count as f64 / qps).max(least_s) * RESERVE * MS_PER_S;
    let mut limits = vec![
        (QUERY_COUNT, request.max_query_count, query_count),
        (DURATION, request.max_duration_ms, duration_ms),
    ];
    if request.scenario == Scenario::Server && settings.max_async_queries != 0 {
        let outstanding_count = most_outstanding(evidence, qps).unwrap_or(0) as f64 * RESERVE;
        limits.push((OUTSTANDING, settings.max_async_queries, outstanding_count));
    }
    let is_set = |setting: &str| matches!(*remedy, Remedy::Set { setting: other, .. } if other == setting);
    let is_over = |&(setting, limit, needed): &(&'static str, u64, f64)| {
        limit != 0 && !is_set(setting) && needed > limit as f64
    };
    limits.into_iter().filter(is_over).map(|(setting, ..)| setting).collect()
}

/// Returns the maximum outstanding queries at a rate, without a limit on them. `None` if none was answered.
fn most_outstanding(evidence: &Evidence<'_>, qps: f64) -> Option<u64> {
    let replay = Replay::new(&evidence.samples)?;
    Some(replay.run(evidence.arrivals_ns(qps), 0).outstanding_max)
}

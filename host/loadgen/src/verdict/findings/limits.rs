//! Limits that end a run early: which one did, and which would end the next run if it followed the advice alone.

use proctor_vocabulary::Scenario;

use super::{
    evidence::Evidence,
    finding::{Limit, Remedy},
};
use crate::issue::end::IssueEnd;

/// Factor by which limits are set higher than is expected to be needed.
pub(super) const RESERVE: f64 = 1.1;

const MS_PER_S: f64 = 1e3;

const QUERY_COUNT: &str = "max_query_count";
const DURATION: &str = "max_duration_ms";

/// The limit that ended the run, if one did.
pub(super) fn reached(evidence: &Evidence<'_>) -> Option<Limit> {
    let request = &evidence.settings.request;
    let (setting, value) = match evidence.end {
        IssueEnd::MaxQueryCount { .. } => (QUERY_COUNT, request.max_query_count),
        IssueEnd::MaxDuration { .. } => (DURATION, request.max_duration_ms),
        IssueEnd::TooManyOutstanding { .. } => {
            ("server_max_async_queries", evidence.settings.max_async_queries)
        }
        IssueEnd::Naturally
        | IssueEnd::AllIssued
        | IssueEnd::RanOut
        | IssueEnd::TimeStandsStill { .. }
        | IssueEnd::Stopped
        | IssueEnd::Stalled => return None,
    };
    Some(Limit { setting, value })
}

/// The limits that a run with this remedy reaches before it has all queries and the whole duration.
pub(super) fn in_the_way(evidence: &Evidence<'_>, remedy: &Remedy) -> &'static [&'static str] {
    let settings = evidence.settings;
    let request = &settings.request;
    // Offline has one query, and reads neither limit.
    if request.scenario == Scenario::Offline {
        return &[];
    }
    let (least_count, qps) = match *remedy {
        Remedy::LowerRate { qps } => (settings.min_query_count, Some(qps)),
        Remedy::MoreQueries { total, .. } => (total, evidence.qps()),
        Remedy::Set { setting: "min_query_count", value } => (value, evidence.qps()),
        Remedy::Set { setting: "server_target_qps", value } => (settings.min_query_count, Some(value as f64)),
        Remedy::Set { .. } => (settings.min_query_count, evidence.qps()),
        Remedy::FasterSystem { .. } | Remedy::MeetBoundFirst | Remedy::Do(_) => return &[],
    };
    // Without a rate nothing is known of how far the next run gets.
    let Some(qps) = qps else { return &[] };
    let least_s = request.min_duration_ms as f64 / MS_PER_S;
    let query_count = (least_count as f64).max(qps * least_s * RESERVE);
    let duration_ms = (least_count as f64 / qps).max(least_s) * RESERVE * MS_PER_S;
    let is_over = |setting: &str, limit: u64, needed: f64| {
        let is_set = matches!(*remedy, Remedy::Set { setting: other, .. } if other == setting);
        limit != 0 && !is_set && needed > limit as f64
    };
    match (
        is_over(QUERY_COUNT, request.max_query_count, query_count),
        is_over(DURATION, request.max_duration_ms, duration_ms),
    ) {
        (true, true) => &[QUERY_COUNT, DURATION],
        (true, false) => &[QUERY_COUNT],
        (false, true) => &[DURATION],
        (false, false) => &[],
    }
}

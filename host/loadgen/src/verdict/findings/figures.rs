//! The findings about the figures of a performance phase.

use proctor_loadgen_settings::EffectiveSettings;
use proctor_vocabulary::Scenario;

use super::{
    bounds::{self, lower_rate_if_broken, time_at},
    evidence::Evidence,
    finding::{Cause, Finding, Remedy, Rule, Scope, Status, Unit},
    length,
    limits::{OUTSTANDING, in_the_way, reached},
};
use crate::{
    issue::end::IssueEnd,
    verdict::{
        early_stopping::min_under_latency_queries,
        peak_search::{PeakSearch, RateNotMet},
    },
};

/// Returns one finding for each rule about figures, in the order of the summary: bounds, duration, queries, early
/// stopping.
pub(crate) fn of_figures(evidence: &Evidence<'_>, number: usize) -> Vec<Finding> {
    let mut findings = bounds::bounds(evidence);
    findings.extend(bounds::intervals(evidence));
    findings.extend(length::lengths(evidence));
    findings.extend(bounds::early_stopping(evidence));
    if matches!(evidence.end, IssueEnd::TooManyOutstanding { .. }) {
        name_outstanding(&mut findings, evidence);
    }
    for finding in &mut findings {
        if let Some(remedy) = &finding.remedy {
            finding.lift = in_the_way(evidence, remedy);
        }
    }
    lift_everywhere(&mut findings);
    if !evidence.has_unmeasured {
        mark_limits(&mut findings, evidence.settings);
    }
    findings.iter_mut().for_each(|finding| finding.scope = Scope::Phase(number));
    findings
}

/// Lifts a limit in all findings that set it if one of them lifts it: a limit cannot have two values.
fn lift_everywhere(findings: &mut [Finding]) {
    let lifted: Vec<_> = findings.iter().flat_map(|finding| finding.lift.clone()).collect();
    for finding in findings {
        if let Some(Remedy::Set { setting, value }) = &mut finding.remedy
            && lifted.contains(setting)
        {
            *value = 0;
        }
    }
}

/// Minimum number of answered queries that show how long the queue would have grown, or at which rate it would not.
const QUERIES_TO_TELL: usize = 64;

/// Names the limit on outstanding queries, which ended the run, with each rule that the run broke: it was over before
/// it could keep them. The advice is a lower rate if whole runs with such queries break a bound, else no limit.
fn name_outstanding(findings: &mut [Finding], evidence: &Evidence<'_>) {
    let limit = reached(evidence);
    let is_told = evidence.samples.len() >= QUERIES_TO_TELL;
    let lower = is_told.then(|| lower_rate_if_broken(evidence)).flatten();
    let no_limit =
        || (Remedy::Set { setting: OUTSTANDING, value: 0 }, time_at(evidence, evidence.settings.target_qps));
    let (remedy, time_ns) = lower.unwrap_or_else(no_limit);
    let is_about_it = |it: &&mut Finding| it.is_broken() && it.rule != Rule::MinSampleCount;
    for finding in findings.iter_mut().filter(is_about_it) {
        finding.ended_by = limit;
        if finding.remedy != Some(Remedy::MeetBoundFirst) {
            (finding.remedy, finding.time_ns) = (Some(remedy.clone()), time_ns);
        }
    }
}

/// Share of a bound above which the bound limits a Server.
const NEAR_BOUND: f64 = 0.8;

/// Marks the limits of the result and of the length, if nothing is broken.
fn mark_limits(findings: &mut Vec<Finding>, settings: &EffectiveSettings) {
    if findings.iter().any(|finding| finding.status == Status::Broken) {
        return;
    }
    let mark = |findings: &mut [Finding], is_about_length: bool, least: f64| {
        let chosen = findings.iter_mut().filter(|finding| finding.rule.is_about_length() == is_about_length);
        let tightest = chosen.max_by(|a, b| a.use_of_bound().total_cmp(&b.use_of_bound()));
        tightest.filter(|it| it.use_of_bound() > least).map(|it| it.status = Status::Limiting).is_some()
    };
    let is_bounded = mark(findings, false, NEAR_BOUND);
    mark(findings, true, 0.0);
    if settings.request.scenario == Scenario::Server && !is_bounded {
        let qps = settings.target_qps;
        let mut rate = Finding::compared(Rule::TargetRate, true, qps, qps, Unit::QueriesPerSecond);
        rate.status = Status::Limiting;
        findings.insert(0, rate);
    }
}

/// The advice at a peak that is not VALID: neither a longer search nor one that begins lower ends elsewhere.
const BELOW_PEAK: &str = "the peak is where the bound is only just kept, so make a run at a rate below it with \
                          --mode performance, or search with host find-max";

/// Adds the knowledge of the search to the findings about the run at a peak: that it would end at the same rate again,
/// and why it did not continue to the next one.
pub(crate) fn of_peak(findings: &mut Vec<Finding>, search: &PeakSearch, settings: &EffectiveSettings) {
    let Some((above_qps, not_met)) = search.above_peak() else { return };
    send_below_peak(findings, min_under_latency_queries(0, settings.target_latency_percentile));
    name_next_rate(findings, search.peak_qps().unwrap_or(above_qps), above_qps, not_met);
}

/// Replaces the remedies of broken rules that would lead back to the peak. `fewest` is the number of queries without
/// which early stopping is never met: if the run at the peak has fewer, one at a lower rate has fewer still.
fn send_below_peak(findings: &mut [Finding], fewest: u64) {
    for finding in findings.iter_mut().filter(|finding| finding.is_broken()) {
        let is_shorter = |count: f64| count < fewest as f64;
        if matches!(finding.rule, Rule::EarlyStopping { .. }) && finding.measured.is_some_and(is_shorter) {
            continue;
        }
        // A shortfall caused by a limit or the sample set has its own remedy.
        let leads_back = matches!(
            finding.remedy,
            None | Some(
                Remedy::LowerRate { .. }
                    | Remedy::MoreQueries { .. }
                    | Remedy::MeetBoundFirst
                    | Remedy::Set { setting: "min_query_count", .. }
            )
        );
        if leads_back {
            (finding.remedy, finding.time_ns, finding.lift) =
                (Some(Remedy::Do(BELOW_PEAK)), None, Vec::new());
        }
    }
}

/// Names the constraint missed at the next rate as the limit.
fn name_next_rate(findings: &mut Vec<Finding>, peak_qps: f64, above_qps: f64, not_met: &RateNotMet) {
    // A bound that is nearly used up is no limit where something else was missed.
    let is_by_bound = matches!(not_met, RateNotMet::OverBound { .. });
    let limits = |it: &Finding| it.status == Status::Limiting && !it.rule.is_about_length();
    let Some(position) = findings.iter().position(limits) else { return };
    if is_by_bound && findings[position].rule != Rule::TargetRate {
        return;
    }
    let rate = Finding {
        status: Status::Limiting,
        scope: findings[position].scope,
        cause: Some(Cause::NextRate { qps: above_qps, reason: not_met.clone() }),
        ..Finding::compared(Rule::NextRate, true, peak_qps, above_qps, Unit::QueriesPerSecond)
    };
    if findings[position].rule == Rule::TargetRate {
        findings[position] = rate;
    } else {
        findings[position].status = Status::Met;
        findings.insert(0, rate);
    }
}

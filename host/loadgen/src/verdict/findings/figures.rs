//! The findings about the figures of a performance phase.

use proctor_vocabulary::Scenario;

use super::{
    bounds,
    evidence::Evidence,
    finding::{Finding, Rule, Scope, Standing, Unit},
    length,
    limits::in_the_way,
};
use crate::settings::effective::EffectiveSettings;

/// One finding for each rule about figures, in the order of the summary: bounds, duration, queries, early stopping.
pub(crate) fn of_figures(evidence: &Evidence<'_>, number: usize) -> Vec<Finding> {
    let mut findings = bounds::bounds(evidence);
    findings.extend(bounds::intervals(evidence));
    findings.extend(length::lengths(evidence));
    findings.extend(bounds::early_stopping(evidence));
    for finding in &mut findings {
        if let Some(remedy) = &finding.remedy {
            finding.lift = in_the_way(evidence, remedy);
        }
    }
    if !evidence.has_unanswered {
        mark_limits(&mut findings, evidence.settings);
    }
    findings.iter_mut().for_each(|finding| finding.scope = Scope::Phase(number));
    findings
}

/// Share of a bound from which on it is what limits a Server.
const NEAR_BOUND: f64 = 0.8;

/// Marks what limits the result and what limits the length, if nothing is broken.
fn mark_limits(findings: &mut Vec<Finding>, settings: &EffectiveSettings) {
    if findings.iter().any(|finding| finding.standing == Standing::Broken) {
        return;
    }
    let mark = |findings: &mut [Finding], is_about_length: bool, least: f64| {
        let chosen = findings.iter_mut().filter(|finding| finding.rule.is_about_length() == is_about_length);
        let tightest = chosen.max_by(|a, b| a.use_of_bound().total_cmp(&b.use_of_bound()));
        tightest.filter(|it| it.use_of_bound() > least).map(|it| it.standing = Standing::Limiting).is_some()
    };
    let is_bounded = mark(findings, false, NEAR_BOUND);
    mark(findings, true, 0.0);
    if settings.request.scenario == Scenario::Server && !is_bounded {
        let qps = settings.target_qps;
        let mut rate = Finding::compared(Rule::TargetRate, true, qps, qps, Unit::QueriesPerSecond);
        rate.standing = Standing::Limiting;
        findings.insert(0, rate);
    }
}

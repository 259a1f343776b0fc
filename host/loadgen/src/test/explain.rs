//! The findings of a test.

use super::PeakSearch;
use crate::{
    EffectiveSettings, Finding, PerformanceResult, Violation, findings::objections,
    phase_outcome::PhaseOutcome,
};

/// Those of the figures, which become the reasons of the result.
pub(super) fn explain(
    result: &mut PerformanceResult,
    phase: &PhaseOutcome,
    search: Option<&PeakSearch>,
    settings: &EffectiveSettings,
) -> Vec<Finding> {
    let qps = search.and_then(PeakSearch::reported_qps);
    let settings = EffectiveSettings { target_qps: qps.unwrap_or(settings.target_qps), ..settings.clone() };
    let findings = phase.findings(result, &settings);
    result.explain(&findings);
    findings
}

/// Those of how the test went: one for each of `reasons`, which are about other phases than that of the result, and of
/// the result's violations.
pub(super) fn object(
    reasons: &[String],
    result: Option<&PerformanceResult>,
    phases: &[PhaseOutcome],
    violations: &[Violation],
) -> Vec<Finding> {
    let missing: Vec<_> = phases.iter().filter_map(|phase| phase.missing.as_ref()).collect();
    let of_result = result.into_iter().flat_map(|result| &result.violations);
    let sentences: Vec<_> = reasons.iter().chain(of_result).cloned().collect();
    objections(&sentences, &missing, violations)
}

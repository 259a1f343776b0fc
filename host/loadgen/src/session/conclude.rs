//! The outcome of a test.

use crate::{
    measure::{accuracy_record::AccuracyRecord, phase_outcome::PhaseOutcome},
    outcome::{Audit, TestOutcome, Verdict},
    plan::phases::PhaseMode,
    record::violations::{Violation, ViolationKind},
    settings::{effective::EffectiveSettings, test_settings::TestSettings},
    verdict::{
        findings::{Finding, objections},
        judge::findings_of,
        peak_search::{PeakEnd, PeakSearch},
        results::PerformanceResult,
    },
};

/// Everything that a test leaves, from which its outcome is made.
pub(super) struct Made {
    pub requested: TestSettings,
    pub audit: Option<Audit>,
    pub effective: EffectiveSettings,
    pub setting_errors: Vec<String>,
    pub config_errors: Vec<String>,
    pub sut_name: String,
    pub sut_name_duration_ns: u64,
    pub qsl_name: String,
    pub qsl_performance_count: u64,
    pub phases: Vec<PhaseOutcome>,
    pub accuracy: Vec<AccuracyRecord>,
    pub peak_search: Option<PeakSearch>,
    pub violations: Vec<Violation>,
    pub interrupted: Option<String>,
}

impl Made {
    /// Turns phases into an outcome. What cannot be ascribed to a phase is told at the last one.
    pub(super) fn conclude(self) -> TestOutcome {
        let Self { effective, mut phases, peak_search, violations, interrupted, .. } = self;
        let peak_found = peak_search.as_ref().is_some_and(|search| search.peak_qps().is_some());
        // Samples that fail above the peak are what the search looks for, and errors of their runs.
        let counted = violations.iter().filter(|it| !(peak_found && it.kind == ViolationKind::Failed));
        let mut general: Vec<_> = counted.map(ToString::to_string).collect();
        general.extend(interrupted.iter().map(|reason| format!("interrupted: {reason}")));
        let mut reasons = Vec::new();
        match phases.last_mut() {
            Some(last) => last.record.violations.extend(general),
            None => reasons = general,
        }
        let timed = match &peak_search {
            Some(search) => search.reported_step,
            None => phases.iter().position(|phase| phase.record.mode == PhaseMode::Performance),
        };
        let others = phases.iter().enumerate().filter(|(number, _)| Some(*number) != timed);
        let mut of_others: Vec<_> =
            others.flat_map(|(_, phase)| phase.record.violations.iter().cloned()).collect();
        let mut performance = timed.map(|number| PerformanceResult::new(&phases[number].record, &effective));
        let mut findings = Vec::new();
        if let (Some(number), Some(result)) = (timed, &mut performance) {
            findings = explain(result, &phases[number], peak_search.as_ref(), &effective);
        }
        if let (Some(search), Some(result)) = (&peak_search, &mut performance) {
            // The runs of a search make one result.
            result.violations.extend(of_others.iter().cloned());
            if !peak_found {
                let end = search.end.to_string();
                // A first rate that misses the bound is INVALID by its figures, and LoadGen's summary says no more.
                if result.perf_constraints_met || !matches!(search.end, PeakEnd::BaseNotMet { .. }) {
                    result.violations.push(end.clone());
                }
                of_others.push(end);
            }
            result.reasons.append(&mut of_others);
            result.valid = result.reasons.is_empty();
        }
        reasons.extend(of_others);
        findings.extend(object(&reasons, performance.as_ref(), &phases, &violations));
        reasons.extend(performance.iter().flat_map(|result| result.reasons.clone()));
        TestOutcome {
            requested: self.requested,
            audit: self.audit,
            effective,
            sut_name: self.sut_name,
            sut_name_duration_ns: self.sut_name_duration_ns,
            qsl_name: self.qsl_name,
            qsl_performance_count: self.qsl_performance_count,
            phases,
            performance,
            peak_search,
            verdict: Verdict { valid: reasons.is_empty(), reasons },
            findings,
            config_errors: self.config_errors,
            setting_errors: self.setting_errors,
            violations,
            interrupted,
            accuracy: self.accuracy,
        }
    }
}

/// Those of the figures, which become the reasons of the result.
fn explain(
    result: &mut PerformanceResult,
    phase: &PhaseOutcome,
    search: Option<&PeakSearch>,
    settings: &EffectiveSettings,
) -> Vec<Finding> {
    let qps = search.and_then(PeakSearch::reported_qps);
    let settings = EffectiveSettings { target_qps: qps.unwrap_or(settings.target_qps), ..settings.clone() };
    let findings = findings_of(phase, result, &settings);
    result.explain(&findings);
    findings
}

/// Those of how the test went: one for each of `reasons`, which are about other phases than that of the result, and of
/// the result's violations.
fn object(
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

//! The judgement of a test: the figures of its result, and one list of findings.

use crate::{
    measure::phase_outcome::PhaseOutcome,
    record::violations::Violation,
    settings::effective::EffectiveSettings,
    verdict::{
        findings::{
            figures::of_figures,
            finding::Finding,
            objections::{of_phase, of_search, of_test},
        },
        peak_search::PeakSearch,
        results::PerformanceResult,
    },
};

/// Everything that a test is judged by.
pub(crate) struct Case<'a> {
    /// With the rate of the reported run, in a search for the peak.
    pub settings: &'a EffectiveSettings,
    pub phases: &'a [PhaseOutcome],
    /// Position of the phase that the result is about.
    pub reported: Option<usize>,
    pub search: Option<&'a PeakSearch>,
    pub violations: &'a [Violation],
    /// Why the test was stopped, if it was.
    pub interrupted: Option<&'a str>,
}

impl Case<'_> {
    /// The result, if there is a phase for one, and the findings: about its figures first, then about the phases in
    /// order, of a search the reported one before the others. What belongs to no phase follows the last one.
    pub(crate) fn judge(&self) -> (Option<PerformanceResult>, Vec<Finding>) {
        let mut findings = Vec::new();
        let result = self.reported.map(|number| {
            let phase = &self.phases[number];
            let result = PerformanceResult::new(&phase.record, self.settings);
            findings.extend(of_figures(self.settings, &result, phase, number));
            result
        });
        let of_test = || of_test(self.violations, self.interrupted, self.search);
        let mut numbers: Vec<_> = (0..self.phases.len()).collect();
        if self.search.is_some() {
            numbers.sort_by_key(|number| Some(*number) != self.reported);
        }
        for number in numbers {
            findings.extend(of_phase(&self.phases[number], number));
            if number + 1 == self.phases.len() {
                findings.extend(of_test());
            }
        }
        if self.phases.is_empty() {
            findings.extend(of_test());
        }
        findings.extend(self.search.and_then(of_search));
        (result, findings)
    }
}

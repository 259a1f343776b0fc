//! The judgement of a test: the figures of its result, and one list of findings.

use crate::verdict::outcome::TestOutcome;
use crate::verdict::{
    findings::{
        figures::of_figures,
        finding::Scope,
        objections::{of_phase, of_search, of_test},
    },
    results::PerformanceResult,
};

impl TestOutcome {
    /// Makes the result and the findings from everything else. Findings of the caller stay.
    ///
    /// Findings about the figures come first, then those about the phases in order, of a search the reported one before
    /// the others. What belongs to no phase follows the last one.
    pub fn judge(&mut self) {
        let settings = self.reported_settings();
        let (reported, search) = (self.reported_phase(), self.peak_search.as_ref());
        let mut findings = Vec::new();
        let performance = reported.map(|number| {
            let phase = &self.phases[number];
            let result = PerformanceResult::new(&phase.record, &settings);
            findings.extend(of_figures(&settings, &result, phase, number));
            result
        });
        let of_test = || of_test(&self.violations, self.interrupted.as_deref(), search);
        let mut numbers: Vec<_> = (0..self.phases.len()).collect();
        if search.is_some() {
            numbers.sort_by_key(|number| Some(*number) != reported);
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
        findings.extend(search.and_then(of_search));
        findings.extend(self.findings.drain(..).filter(|finding| finding.scope == Scope::Caller));
        self.findings = findings;
        self.performance = performance;
    }
}

//! The judgement of a test: the figures of its result, and one list of findings.

use crate::{
    record::violations::ViolationKind,
    verdict::{
        findings::{
            evidence::Evidence,
            figures::{of_figures, of_peak},
            finding::Scope,
            objections::{of_phase, of_search, of_test},
        },
        outcome::TestOutcome,
        results::PerformanceResult,
    },
};

impl TestOutcome {
    /// Derives the result and the findings from all other data. Findings of the caller stay.
    ///
    /// Findings about the figures come first, then those about the phases in order, of a search the reported one before
    /// the others. What belongs to no phase follows the last one.
    pub fn judge(&mut self) {
        let settings = self.reported_settings();
        let (reported, search) = (self.reported_phase(), self.peak_search.as_ref());
        let mut findings = Vec::new();
        let have_failed = self.violations.iter().any(|violation| violation.kind == ViolationKind::Failed);
        let are_tokenless = self.violations.iter().any(|violation| violation.kind.is_of_tokenless());
        // What fails above the peak of a search is no fault of the reported run.
        let peak_found = search.is_some_and(|search| search.peak_qps().is_some());
        let has_missing = self.phases.iter().any(|phase| phase.missing.is_some());
        let has_unanswered = has_missing || have_failed && !peak_found;
        let results = reported.map(|number| {
            let phase = &self.phases[number];
            let result = PerformanceResult::new(&phase.record, &settings);
            let is_partial = have_failed || are_tokenless;
            let record = is_partial.then(|| phase.record.answered(&settings, &phase.phase)).flatten();
            let answered = record.as_ref().map(|record| result.answered(record, &settings));
            let shown = answered.as_ref().unwrap_or(&result);
            let shown_record = record.as_ref().unwrap_or(&phase.record);
            let has_tokenless = shown.tokens.as_ref().is_some_and(|tokens| tokens.left_out.count() > 0);
            findings.extend(of_figures(
                &Evidence::new(&settings, shown, shown_record, phase, has_unanswered || has_tokenless),
                number,
            ));
            if let Some(search) = search {
                of_peak(&mut findings, search, &settings);
            }
            (result, answered)
        });
        let (performance, answered) = results.unzip();
        let scenario = settings.request.scenario;
        let is_given_up = self.is_given_up();
        let of_test =
            || of_test(&self.violations, self.interrupted.as_deref(), is_given_up, search, scenario);
        let mut numbers: Vec<_> = (0..self.phases.len()).collect();
        if search.is_some() {
            numbers.sort_by_key(|number| Some(*number) != reported);
        }
        for number in numbers {
            findings.extend(of_phase(&self.phases[number], number, self.interrupted.is_some()));
            if number + 1 == self.phases.len() {
                findings.extend(of_test());
            }
        }
        if self.phases.is_empty() {
            findings.extend(of_test());
        }
        findings.extend(search.and_then(of_search));
        findings.extend(self.findings.drain(..).filter(|it| matches!(it.scope, Scope::Caller | Scope::Run)));
        self.findings = findings;
        self.performance = performance;
        self.answered = answered.flatten();
    }
}

//! The results of a test.
//!
//! # The samples file
//! [`TestOutcome::write_samples`] writes 16 bytes a sample, in the order of their issue, without a header. Sample `k`
//! stands at byte `16 * k`; both numbers are unsigned 64-bit, little-endian:
//!
//! | bytes | content |
//! |---|---|
//! | 0 to 7 | the instant from which the latency counts, in ns from the start of issuing |
//! | 8 to 15 | the latency in ns; bit 63 is set if the sample failed; all ones: never completed |

use std::io;

use proctor_loadgen_settings::{
    Contradiction, EffectiveSettings,
    config_file::{ConfigFileError, ConfigFileReport, LogError},
};
use proctor_vocabulary::TestMode;

use crate::{
    measure::{accuracy_record::AccuracyRecord, phase_outcome::PhaseOutcome},
    plan::phases::PhaseMode,
    record::{
        slots::SampleRecord,
        violations::{Violation, ViolationKind},
    },
    verdict::{
        findings::{
            finding::{Finding, Rule, Scope},
            objections::is_given_up,
        },
        peak_search::PeakSearch,
        results::PerformanceResult,
    },
};

/// The effect of an audit file: the settings it changed, or its lines in error, with which it changes nothing.
pub type Audit = Result<ConfigFileReport, Vec<ConfigFileError>>;

/// The outcome of a test, complete or not. An INVALID test has one, too, with everything that was recorded.
///
/// The verdict is stricter than the official one, which leaves violations of the completion rules to the reader of the
/// log: here a sample that failed, is missing, or was completed twice, late or unasked makes the test INVALID.
#[derive(Debug, Clone)]
pub struct TestOutcome {
    /// The effect of the audit file, if there was one; or its lines in error.
    pub audit: Option<Audit>,
    /// The effective settings, after the audit file.
    pub effective: EffectiveSettings,
    /// Name of the system under test.
    pub sut_name: String,
    /// Time that it took to ask the system for its name, in ns; 0 in virtual time.
    pub sut_name_duration_ns: u64,
    /// Name of the query sample library.
    pub qsl_name: String,
    /// The library's own performance sample count.
    pub qsl_performance_count: u64,
    /// The phases that took place, in order.
    pub phases: Vec<PhaseOutcome>,
    /// Result of the performance phase, if there was one, as in LoadGen's logs; for a peak search, the reported run's.
    pub performance: Option<PerformanceResult>,
    /// Same result without failed samples, and in figures of tokens without samples that lack them; `None` if
    /// there are no such samples.
    pub answered: Option<PerformanceResult>,
    /// The search for the peak, if that was the mode.
    pub peak_search: Option<PeakSearch>,
    /// Basis of the verdict: broken rules with their remedies, and kept ones. The test is VALID if none is broken.
    /// Findings about the figures come first, in the order of the summary; the caller may add its own.
    pub findings: Vec<Finding>,
    /// Errors of configuration files before the test.
    pub config_errors: Vec<LogError>,
    /// Contradictions in the settings, which do not end a test.
    pub setting_errors: Vec<Contradiction>,
    /// Everything that the system under test did against the rules of completion.
    pub violations: Vec<Violation>,
    /// Reason why the test was stopped from outside, if it was.
    pub interrupted: Option<String>,
    /// True if an engine was left behind, so that its logs may not be whole.
    pub is_left_behind: bool,
    /// The logged responses: all in accuracy phases, a chosen few in a performance phase. By sample number.
    pub accuracy: Vec<AccuracyRecord>,
}

impl TestOutcome {
    /// Returns the figures to show. Samples that failed, are missing or were completed late are in no latency
    /// and no throughput, figures of tokens leave out samples that lack tokens, and one that was completed
    /// twice is there once; LoadGen's logs count samples that failed or lack tokens.
    #[must_use]
    pub fn figures(&self) -> Option<&PerformanceResult> {
        self.answered.as_ref().or(self.performance.as_ref())
    }

    /// Returns how often the system broke this rule of completion.
    #[must_use]
    pub fn violation_count(&self, kind: ViolationKind) -> u64 {
        self.violations
            .iter()
            .filter(|violation| violation.kind == kind)
            .map(|violation| violation.count)
            .sum()
    }

    /// Returns the verdict: whether no rule is broken.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        !self.findings.iter().any(Finding::is_broken)
    }

    /// Returns whether a second stop from outside gave up samples that were outstanding.
    #[must_use]
    pub fn is_given_up(&self) -> bool {
        self.phases.iter().any(|phase| is_given_up(phase, self.interrupted.is_some()))
    }

    /// Returns the broken rules, in the order in which reasons are listed: events in other phases than the
    /// reported one come before the figures. Empty if the test is VALID.
    #[must_use]
    pub fn broken(&self) -> Vec<&Finding> {
        let mut broken: Vec<_> = self.findings.iter().filter(|finding| finding.is_broken()).collect();
        broken.sort_by_key(|finding| !self.is_of_another_phase(finding));
        broken
    }

    /// Returns why the test is INVALID, one sentence for each broken rule; empty if it is VALID.
    #[must_use]
    pub fn reasons(&self) -> Vec<String> {
        self.broken().into_iter().map(Finding::reason).collect()
    }

    /// Returns the broken rules that are not about figures.
    pub fn objections(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.is_broken() && !finding.rule.is_about_figures())
    }

    /// Returns the objections that the detail log has at the end of this phase: objections without a phase are at the
    /// last one, and the end of a search for the peak is on its own.
    pub(crate) fn objections_of(&self, number: usize) -> impl Iterator<Item = &Finding> {
        let is_last = number + 1 == self.phases.len();
        self.objections().filter(move |finding| match finding.scope {
            Scope::Phase(phase) => phase == number,
            Scope::Test | Scope::Caller | Scope::Run => is_last && finding.rule != Rule::PeakFound,
        })
    }

    /// Returns the broken rules that make the result INVALID. The runs of a search for the peak make one result.
    pub(crate) fn against_result(&self) -> Vec<&Finding> {
        self.broken().into_iter().filter(|finding| !self.is_of_another_phase(finding)).collect()
    }

    /// Returns whether the finding is about a phase that the result is not about.
    fn is_of_another_phase(&self, finding: &Finding) -> bool {
        match finding.scope {
            Scope::Phase(number) => self.peak_search.is_none() && self.reported_phase() != Some(number),
            Scope::Test | Scope::Caller | Scope::Run => false,
        }
    }

    /// Returns the position of the phase that the result is about.
    pub(crate) fn reported_phase(&self) -> Option<usize> {
        match &self.peak_search {
            Some(search) => search.reported_step,
            None => self.phases.iter().position(|phase| phase.record.mode == PhaseMode::Performance),
        }
    }

    /// Returns all errors: those that made the test INVALID beyond its figures, and those that only ended it early or
    /// lost data.
    #[must_use]
    pub fn errors(&self) -> Vec<String> {
        let phases = self.phases.iter().enumerate().flat_map(|(number, phase)| {
            let errors = phase.errors.iter().map(ToString::to_string);
            self.objections_of(number).map(Finding::what).chain(errors)
        });
        let clocks = self.phases.iter().filter_map(|phase| phase.clock_check?.finding());
        let clocks = clocks.filter(|finding| finding.is_error).map(|finding| finding.text);
        let files = self.config_errors.iter().map(ToString::to_string);
        let settings = self.setting_errors.iter().map(ToString::to_string);
        files.chain(settings).chain(phases).chain(clocks).collect()
    }

    /// Returns the phases that the figures are about: the performance phase, if the test came to it, or the reported
    /// run of a search for the peak; in mode AccuracyOnly, all accuracy phases.
    pub fn reported_phases(&self) -> impl Iterator<Item = &PhaseOutcome> {
        let chosen = self.peak_search.as_ref().map(|search| search.reported_step);
        let wanted = self.reported_mode();
        let phases = self.phases.iter().enumerate();
        let is_reported = move |number| chosen.is_none_or(|step| step == Some(number));
        let phases =
            phases.filter(move |(number, phase)| phase.record.mode == wanted && is_reported(*number));
        phases.map(|(_, phase)| phase)
    }

    /// Returns the accuracy phases of a test of accuracy and performance in one, which its figures do not cover.
    pub fn accuracy_phases_beside(&self) -> impl Iterator<Item = &PhaseOutcome> {
        let reported = self.reported_mode();
        self.phases.iter().filter(move |phase| phase.record.mode != reported)
    }

    /// Returns the only phase of the test, if the figures are about it.
    #[must_use]
    pub fn only_phase(&self) -> Option<&PhaseOutcome> {
        match &self.phases[..] {
            [phase] if phase.record.mode == self.reported_mode() => Some(phase),
            _ => None,
        }
    }

    /// Returns whether a test of accuracy and performance in one ended before its performance phase.
    #[must_use]
    pub fn ended_before_performance(&self) -> bool {
        self.effective.request.mode == TestMode::SubmissionRun && self.reported_phase().is_none()
    }

    /// Returns the kind of the phases that the figures are about, whether the test came to them or not.
    fn reported_mode(&self) -> PhaseMode {
        PhaseMode::reported_of(self.effective.request.mode)
    }

    /// Returns the settings that the figures are about: the test's, with the rate of the reported run of a search.
    #[must_use]
    pub fn reported_settings(&self) -> EffectiveSettings {
        let mut settings = self.effective.clone();
        if let Some(qps) = self.peak_search.as_ref().and_then(PeakSearch::reported_qps) {
            settings.target_qps = qps;
        }
        settings
    }

    /// Returns the samples of the performance phase, none if the test did not reach it; in mode AccuracyOnly, of all
    /// accuracy phases; for a peak search, of the reported run. If an issuing thread ended before another, its share is
    /// filled with [`SampleRecord::NOT_ISSUED`], so that each sample stands at its number.
    pub fn samples(&self) -> impl Iterator<Item = SampleRecord> {
        self.reported_phases().flat_map(|phase| phase.phase.records(0))
    }

    /// Writes [`samples`](Self::samples), 16 bytes each: two little-endian `u64`, the instant from which latency is
    /// measured and the latency, both in ns. See [`SampleRecord`] for the special values of the latency.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write_samples(&self, out: &mut impl io::Write) -> io::Result<()> {
        self.samples().try_for_each(|sample| out.write_all(&sample.to_bytes()))
    }
}

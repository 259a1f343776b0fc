//! One test: its request, and its outcome.

pub(crate) mod watch;

use std::path::Path;

use proctor_config::MetricKind;
use proctor_loadgen::{Finding, Progress, Rule, TestOutcome, TestSettings, ViolationKind};
use proctor_noise::Noise;
use proctor_plugin_host::SampleFailure;
use proctor_results::{Batches, EnginePart, MetricPart, file_names::BATCHES};
use proctor_vocabulary::TestMode;
use proctor_words::{HostError, Observer, write_json};

use crate::{
    clock::HostClock,
    engine::EngineReport,
    fault::Fault,
    files::logs::Logs,
    measure::{
        energy::{NoEnergy, PackageEnergy},
        figures::{is_of_tokens, metric, peak_metric, withheld},
    },
    system::SystemReport,
    test::watch::Watch,
};

/// One test to be made.
pub struct TestRequest<'a> {
    /// Settings of the load generator.
    pub settings: TestSettings,
    /// Folder for the logs, which exists; without it the test leaves nothing on the disk.
    pub folder: Option<&'a Path>,
    /// Observer that may end the test early.
    pub watch: Option<&'a dyn Watch>,
    /// Gets the progress of the test before it starts.
    pub follow: Option<&'a dyn Fn(Progress)>,
    /// True if instances run some batches before it.
    pub warms_up: bool,
    /// True if the noise guard runs during the test, provided that it is a performance test in real time.
    pub is_guarded: bool,
}

impl<'a> TestRequest<'a> {
    /// Creates a test that leaves nothing on the disk or the screen, only its outcome.
    pub fn new(settings: TestSettings) -> Self {
        Self { settings, folder: None, watch: None, follow: None, warms_up: true, is_guarded: false }
    }

    /// Creates a test that leaves its logs in a folder, which exists.
    pub fn in_folder(settings: TestSettings, folder: &'a Path) -> Self {
        Self { folder: Some(folder), ..Self::new(settings) }
    }

    /// Returns whether the energy of the processor is of interest: in performance tests of a run in real time.
    pub(super) fn is_metered(&self, clock: &HostClock) -> bool {
        self.folder.is_some() && self.is_timed(clock)
    }

    /// Returns whether time passes in it, and counts.
    pub(super) fn is_timed(&self, clock: &HostClock) -> bool {
        matches!(clock, HostClock::Real(_)) && self.settings.mode != TestMode::AccuracyOnly
    }

    /// Returns whether the user sees the progress.
    pub(super) fn is_shown(&self) -> bool {
        self.folder.is_some() || self.watch.is_some()
    }
}

/// A test that has been made.
pub struct Test {
    /// Measurements and findings of the load generator.
    pub outcome: TestOutcome,
    /// The figure that it reports.
    pub metric_kind: MetricKind,
    /// Logs, if it leaves any.
    pub logs: Option<Logs>,
    /// Report of the system under test.
    pub system: SystemReport,
    /// Slowest batches and some others, if they are kept.
    pub batches: Option<Batches>,
    /// True if the plugin is left alone: it hangs, or has not completed its samples.
    pub is_abandoned: bool,
    /// The plugin's own words about some of the samples that failed.
    pub sample_failures: Vec<SampleFailure>,
    /// Energy from the start to the stop of a performance test in real time, in joules, if the plugin counts it.
    pub energy_joules: Option<f64>,
    /// Energy of the processor over the timed part; `None` if it was not requested.
    pub package_energy: Option<Result<PackageEnergy, NoEnergy>>,
    /// Noise of the machine; `None` if there was no guard, or the test has several phases.
    pub noise: Option<Noise>,
    /// Report of the engine that drove it, if one did.
    pub engine: Option<EngineReport>,
    /// Error of the logs that could not be written.
    pub write_error: Option<HostError>,
    /// True if the plugin has finished its part.
    pub is_settled: bool,
}

impl Test {
    /// Returns the figure that it reports; `None` if no performance was measured. For a search, the peak rate.
    pub fn metric(&self) -> Option<MetricPart> {
        match &self.outcome.peak_search {
            Some(search) => search.peak_qps().map(peak_metric),
            None => self.figure(self.metric_kind),
        }
    }

    /// Returns the figure of this kind; `None` if no performance was measured, and for a search.
    pub fn figure(&self, kind: MetricKind) -> Option<MetricPart> {
        let measured = self.outcome.figures().filter(|_| self.outcome.peak_search.is_none());
        let metric = measured.map(|result| metric(kind, result, &self.outcome.effective));
        let metric =
            metric.map(|own| self.by_engine(kind).map_or(own.clone(), |value| MetricPart { value, ..own }));
        if self.has_unanswered() {
            metric.map(|metric| withheld(metric, "not every sample was answered"))
        } else if self.has_tokenless() && is_of_tokens(kind) {
            metric.map(|metric| withheld(metric, "not every sample has its tokens"))
        } else {
            metric
        }
    }

    /// Returns the figure of this kind by the engine that drove the test; NaN if that has none.
    fn by_engine(&self, kind: MetricKind) -> Option<f64> {
        let engine = self.engine.as_ref()?;
        Some(engine.log.as_ref().and_then(|log| log.figure(kind)).unwrap_or(f64::NAN))
    }

    /// Returns the part of the result about the engine that drove the test, with the figure that the host measured
    /// beside it.
    pub fn engine_part(&self) -> Option<EnginePart> {
        let engine = self.engine.as_ref()?;
        let own =
            self.outcome.figures().map(|result| metric(self.metric_kind, result, &self.outcome.effective));
        Some(EnginePart { own_metric: own.filter(|own| own.value.is_finite()), ..engine.part.clone() })
    }

    /// Returns whether the answers are in a log that is whole: an engine that was left behind leaves none.
    pub fn has_whole_answers(&self) -> bool {
        self.engine.as_ref().is_none_or(|engine| engine.is_whole)
    }

    /// Returns whether samples failed or are missing: a response that comes at once, or never, is not an answer, and
    /// its time is not a latency.
    pub fn has_unanswered(&self) -> bool {
        let is_unanswered = |rule| matches!(rule, Rule::Missing | Rule::Completion(ViolationKind::Failed));
        self.outcome.broken().into_iter().any(|finding| is_unanswered(finding.rule))
    }

    /// Returns whether samples of a token run were answered without their tokens, so that figures leave them out.
    pub fn has_tokenless(&self) -> bool {
        let tokens = self.outcome.figures().and_then(|figures| figures.tokens.as_ref());
        tokens.is_some_and(|tokens| tokens.left_out.count() > 0)
    }

    /// Returns whether another test makes sense.
    pub fn may_go_on(&self) -> bool {
        self.outcome.interrupted.is_none() && !self.is_abandoned && self.write_error.is_none()
    }

    /// Returns whether the plugin has only to end for the test to be VALID.
    pub fn is_valid_so_far(&self) -> bool {
        self.outcome.broken().into_iter().all(is_not_ended)
    }

    /// Takes note of how the plugin came to the end of its part, and says so in the logs.
    pub fn settle(&mut self, faults: Vec<Fault>, energy_joules: Option<f64>, observer: &dyn Observer) {
        self.is_settled = true;
        // For a search or several phases, it would only cover the last one.
        self.energy_joules = energy_joules.filter(|_| self.outcome.only_phase().is_some());
        self.outcome.findings.retain(|finding| !is_not_ended(finding));
        Fault::add_all(blamed(faults, &self.outcome), &mut self.outcome.findings);
        if let Some(logs) = &self.logs {
            // Tried after an earlier error, too: files that exist should not contradict the displayed verdict.
            let written = logs.write_verdict(&self.outcome, observer);
            self.write_error = self.write_error.take().or(written.err());
        }
    }

    /// Writes the trace and the kept batches, if there are logs.
    pub fn write_trace(&self) -> Result<(), HostError> {
        let Some(logs) = &self.logs else { return Ok(()) };
        if let Some(batches) = &self.batches {
            write_json(&logs.folder().join(BATCHES), batches)?;
        }
        logs.write_trace(&self.outcome)
    }
}

/// Returns the faults of the plugin, without answers to samples that the user had abandoned.
pub(super) fn blamed(mut faults: Vec<Fault>, outcome: &TestOutcome) -> Vec<Fault> {
    if outcome.is_given_up() {
        faults.retain(|fault| !fault.is_belated_answer());
    }
    faults
}

fn is_not_ended(finding: &Finding) -> bool {
    matches!(finding.caller_fault(), Some(Fault::NotEnded { .. }))
}

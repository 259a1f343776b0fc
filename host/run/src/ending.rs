//! The end of a run: results first.
//!
//! After the last completion the result no longer depends on the plugin, but the plugin has still to stop, to
//! release the samples, to unload the model and to close; drivers hang and crash there. So:
//!
//! 1. Logs and result are written as they stand, INVALID because the plugin has not come to its end. They are right if
//!    the process ends in the plugin.
//! 2. The plugin comes to its end. If it hangs there, the watchdog concludes the result with the call that hangs.
//! 3. The outcome, such as the last metrics, replaces the earlier files. The traces follow, which are large.
//!
//! The user sees the verdict once, in 3, even if the disk fails, or from the report of a crash. If the result
//! is not on the disk, it says so. A flush or the end of an instance's thread that crashes, which may be
//! before 1, waits for it.
//!
//! Between an accuracy run and the performance run after it, 1 and 2 are the same; then the written files are removed.

use std::{fs, sync::Arc};

use parking_lot::Mutex;
use proctor_accuracy::AccuracyResult;
use proctor_bed::{Fault, Test, TestBed};
use proctor_config::{QslCounts, Settings};
use proctor_loadgen::Finding;
use proctor_plugin_host::{HostSide, drop_last_words, expect_no_last_words, set_last_words};
use proctor_results::{
    FloorPart, MachinePart, PluginPart, SamplesPart,
    file_names::{RESULT, WRONG_SAMPLES},
};
use proctor_vocabulary::TestMode;
use proctor_words::{HostError, Observer, RunFolder, enter, write_json};

use crate::{
    accuracy::{score, wrong::wrong_samples},
    performance_runs::PerformanceRuns,
    result::{RunResult, Tests, breach::RunFault, metric_parts, plugin_part, sample_memory, stage_parts},
};

/// Everything that determines the result of a run.
pub(crate) struct UnfinishedResult {
    settings: Settings,
    counts: QslCounts,
    folder: RunFolder,
    observer: Arc<dyn Observer>,
    host_side: HostSide,
    plugin: PluginPart,
    machine: MachinePart,
    pub(crate) accuracy_run: Option<Test>,
    pub(crate) performance_runs: PerformanceRuns,
    pub(crate) floor: Option<FloorPart>,
    /// Samples that the tests have loaded so far.
    pub(crate) samples: Option<SamplesPart>,
    accuracy: Option<AccuracyResult>,
    /// Findings of the run that belong to none of its tests.
    of_run: Vec<Finding>,
    /// The first reason why the run is not whole.
    error: Option<HostError>,
}

impl UnfinishedResult {
    /// Creates a result without any test.
    pub(crate) fn new(
        settings: &Settings,
        folder: &RunFolder,
        observer: &Arc<dyn Observer>,
        bed: &TestBed<'_>,
    ) -> Self {
        Self {
            settings: settings.clone(),
            counts: bed.library.counts(),
            folder: folder.clone(),
            observer: Arc::clone(observer),
            host_side: bed.plugin.backend.host_side(),
            plugin: plugin_part(bed),
            machine: bed.machine.clone(),
            accuracy_run: None,
            performance_runs: PerformanceRuns::default(),
            floor: None,
            samples: None,
            accuracy: None,
            of_run: Vec::new(),
            error: None,
        }
    }

    /// Returns whether a performance run makes sense after the accuracy run, if there was one.
    pub(crate) fn may_go_on(&self) -> bool {
        self.accuracy_run.as_ref().is_none_or(Test::may_go_on)
    }

    /// Scores a test's answers. Without them on the disk there is no score, and the run is not VALID.
    pub(crate) fn score(&mut self, test: &Test, bed: &TestBed<'_>) {
        let Some(logs) = test.logs.as_ref().filter(|_| test.has_whole_answers()) else { return };
        let _span = enter!("score");
        if let Some(error) = &test.write_error {
            self.of_run.push(Finding::of_run(RunFault::NotScored(error.to_string())));
            return;
        }
        match score(&self.settings, &test.outcome, logs.folder(), bed, self.observer.as_ref()) {
            Ok(accuracy) => {
                let dataset = &self.settings.benchmark.dataset;
                let wrong = wrong_samples(&accuracy, dataset, bed);
                let path = self.folder.path(WRONG_SAMPLES);
                // The result is whole without them.
                if let Some(Err(error)) = wrong.map(|wrong| write_json(&path, &wrong)) {
                    self.observer.message(&format!("warning: {}", error.messages().join(": ")));
                }
                self.accuracy = Some(accuracy);
            }
            Err(error) => {
                self.of_run.push(Finding::of_run(RunFault::Failed(error.messages())));
                self.fail(error);
            }
        }
    }

    /// Scores the answers of the first performance run, if it is one of accuracy: an audit may set another mode.
    pub(crate) fn score_performance(&mut self, bed: &TestBed<'_>) {
        let runs = std::mem::take(&mut self.performance_runs);
        let has_accuracy = |test: &&Test| {
            matches!(test.outcome.effective.request.mode, TestMode::SubmissionRun | TestMode::AccuracyOnly)
        };
        if let Some(test) = runs.tests.first().filter(has_accuracy) {
            self.score(test, bed);
        }
        self.performance_runs = runs;
    }

    /// Takes note of a test that could not begin, because the process of the plugin has ended each time.
    pub(crate) fn note_lost_test(&mut self, error: &HostError) {
        self.of_run.push(Finding::of_run(RunFault::Failed(error.messages())));
        // The error says how it has ended. No test that was made has to do with it.
        Fault::noticed(self.host_side).for_each(drop);
    }

    /// Ends the plugin's part of the accuracy run, if there was one, and protects the measurements meanwhile.
    pub(crate) fn settle_accuracy(&mut self, bed: &TestBed<'_>) {
        if self.accuracy_run.is_none() {
            return;
        }
        self.samples = bed.library.content();
        self.keep();
        self.accuracy_run.iter_mut().for_each(|test| bed.settle(test));
        drop_last_words();
        // It says that the plugin did not come back. Without it there is nothing to remove.
        let _ = fs::remove_file(self.folder.path(RESULT));
    }

    /// Writes the result as it stands, and has the verdict shown if the plugin crashes.
    pub(crate) fn keep(&mut self) {
        let _span = enter!("write result");
        let result = self.result();
        let written = self.folder.write_result(RESULT, &result);
        // For the next time. Without it there may still be room.
        let _ = self.folder.keep_room();
        match self.observer.answer_file() {
            Some(file) => {
                let forms = result.rendered_verdict(&self.folder.partial_name(), written.as_ref().err());
                set_last_words(&self.observer.verdict(forms), file);
            }
            None => expect_no_last_words(),
        }
    }

    /// Adds the outcome of the plugin's end to the last test, writes everything again and gives the folder its name.
    /// Shows the verdict in any case.
    ///
    /// # Errors
    /// Returns the first reason why the run is not whole: what could not be written or scored.
    pub(crate) fn conclude(mut self, faults: Vec<Fault>) -> Result<RunResult, HostError> {
        let _span = enter!("write result");
        // For the logs, too, which are small here.
        self.folder.give_room();
        let mut faults = faults;
        faults.extend(Fault::noticed(self.host_side));
        let metrics = || metric_parts(self.host_side.metrics(), self.tested_until_ns());
        self.plugin.metrics = self.plugin.metrics.as_ref().map(|_| metrics());
        let stages = self.plugin.stages.as_ref().map(|_| stage_parts(self.host_side.stages()));
        self.plugin.stages = stages;
        let observer = Arc::clone(&self.observer);
        let last = self.performance_runs.tests.last_mut().or(self.accuracy_run.as_mut());
        if let Some(test) = last.filter(|test| !test.is_settled) {
            let energy_joules = self.host_side.take_energy_joules();
            let energy_joules = energy_joules.filter(|_| !self.settings.run.virtual_time);
            test.settle(faults, energy_joules, observer.as_ref());
        } else {
            self.of_run.extend(faults.into_iter().map(Finding::of_run));
        }
        let result = self.result();
        let unwritten = self.folder.write_result(RESULT, &result).err();
        let mut tests: Vec<_> = self.accuracy_run.into_iter().chain(self.performance_runs.tests).collect();
        let incomplete = tests.iter_mut().find_map(|test| test.write_error.take());
        let error = self.error.or(incomplete);
        let traced = || tests.iter().try_for_each(Test::write_trace);
        let is_whole = error.is_none() && unwritten.is_none();
        let unnamed = is_whole.then(|| traced().and_then(|()| self.folder.finish()).err()).flatten();
        let place = match &unnamed {
            None if is_whole => self.folder.name().to_owned(),
            _ => self.folder.partial_name(),
        };
        drop_last_words();
        observer.conclude(&observer.verdict(result.rendered_verdict(&place, unwritten.as_ref())));
        error.or(unwritten).or(unnamed).map_or(Ok(result), Err)
    }

    /// Returns the end of the last test on the clock that plugins read; 0 without a test.
    fn tested_until_ns(&self) -> u64 {
        let last = self.performance_runs.tests.last().or(self.accuracy_run.as_ref());
        let phase = last.and_then(|test| test.outcome.phases.last());
        phase.and_then(|phase| Some(phase.begun_ns()? + phase.duration_ns)).unwrap_or(0)
    }

    fn result(&self) -> RunResult {
        let tests = Tests {
            accuracy_run: self.accuracy_run.as_ref(),
            performance_runs: &self.performance_runs,
            accuracy: self.accuracy.clone(),
            of_run: self.of_run.clone(),
        };
        let plugin = PluginPart { sample_memory: sample_memory(self.host_side), ..self.plugin.clone() };
        let machine = self.machine.clone();
        RunResult::new(&self.settings, self.counts, plugin, machine, tests)
            .with_floor(self.floor.clone())
            .with_samples(self.samples.clone())
    }

    fn fail(&mut self, error: HostError) {
        self.error.get_or_insert(error);
    }
}

/// Result of a run while its plugin shuts down. Whichever side takes it must conclude it. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Pending(Arc<Mutex<Option<UnfinishedResult>>>);

impl Pending {
    pub(crate) fn put(&self, result: UnfinishedResult) {
        *self.0.lock() = Some(result);
    }

    /// Returns the result, unless there is none or it has been taken already.
    pub(crate) fn take(&self) -> Option<UnfinishedResult> {
        self.0.lock().take()
    }
}
